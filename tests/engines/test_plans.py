import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from eigenveil.engines import Coins, DisjointPlan, FullPlan, PoissonPlan, RangePlan, batches
from eigenveil.engines.plans import EmptySlots, StreamBatches
from eigenveil.errors import InvalidInputError
from eigenveil.privacy import Budget, Ledger


@given(st.lists(st.integers(1, 9000), min_size=1, max_size=8), st.integers(0, 3))
def test_coins_do_not_depend_on_chunking(sizes, partition):
    coins = Coins(b"key")
    whole = coins.toss(3, partition, 0, sum(sizes))
    starts = np.cumsum([0, *sizes[:-1]])
    pieces = [coins.toss(3, partition, int(start), size) for start, size in zip(starts, sizes, strict=True)]
    np.testing.assert_array_equal(np.concatenate(pieces), whole)


def test_coins_are_fresh_uniform_and_differ_by_round_and_key():
    coins = Coins()
    tossed = coins.toss(0, 0, 0, 100_000)
    assert stats.kstest(tossed / 2.0**64, "uniform").pvalue > 1e-6
    for other in (coins.toss(1, 0, 0, 100_000), Coins().toss(0, 0, 0, 100_000)):
        assert abs(np.corrcoef(tossed.astype(float), other.astype(float))[0, 1]) < 0.02
    assert Coins().key != Coins().key
    assert coins.key.hex() not in repr(coins)
    assert coins.key not in repr(coins).encode()


def test_no_two_units_share_a_coin():
    """For any round, partition and place, including numbers whose labels could be confused."""
    coins = Coins(b"key")
    several = [
        coins.toss(round_, partition, 0, 50_000) for round_ in (0, 1, 11) for partition in (0, 1, 2, 11, 12)
    ]
    assert len(np.unique(np.concatenate(several))) == 15 * 50_000  # 64 bits each: no collision by chance


def test_coins_of_the_first_partition_are_those_of_one_pass():
    """Seeded runs give the same results as before partitions were introduced."""
    stream = b"".join(hashlib.shake_256(b"keycoins:7:%d" % block).digest(8 * 4096) for block in range(3))
    np.testing.assert_array_equal(
        Coins(b"key").toss(7, 0, 100, 9000), np.frombuffer(stream, "<u8")[100 : 100 + 9000]
    )


@pytest.mark.parametrize("kind", ["part", "poisson"])
def test_coins_of_a_partition_are_uniform_and_independent_of_the_others(kind):
    """The share of included units is right, and does not depend on units at the same place in other partitions."""
    plan = DisjointPlan(2).part(0) if kind == "part" else PoissonPlan(0.5)
    first, second, third = (~plan.skip(partition, 0, 100_000) for partition in (0, 1, 7))
    for one, other in ((first, second), (second, third), (first, third)):
        assert stats.binomtest(int(other.sum()), 100_000, 0.5).pvalue > 1e-6
        assert stats.binomtest(int((one & other).sum()), 100_000, 0.25).pvalue > 1e-6


@given(st.lists(st.integers(0, 20), min_size=1, max_size=5), st.integers(0, 40), st.integers(0, 40))
def test_ranges_count_places_over_all_partitions(sizes, first, last):
    ends = np.cumsum(sizes).tolist()
    plan = RangePlan(first, last, starts=(0, *ends[:-1]))
    skips = [plan.skip(partition, 0, size) for partition, size in enumerate(sizes)]
    places = np.arange(sum(sizes))
    np.testing.assert_array_equal(~np.concatenate(skips), (places >= first) & (places < last))


def test_slots_are_those_of_one_partition():
    with pytest.raises(AssertionError):
        EmptySlots(np.zeros(5, dtype=bool)).skip(1, 0, 5)


@pytest.mark.parametrize("partition", [0, 1, 3])
@pytest.mark.parametrize("parts", [1, 2, 7])
def test_each_unit_is_in_exactly_one_part(parts, partition):
    plan = DisjointPlan(parts)
    present = np.array([~plan.part(index).skip(partition, 100, 50_000) for index in range(parts)])
    np.testing.assert_array_equal(present.sum(axis=0), 1)
    assert stats.chisquare(present.sum(axis=1)).pvalue > 1e-6 if parts > 1 else True


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_a_ledger_accepts_the_parts(relation):
    ledger = Ledger(Budget.from_mu(1.0), relation=relation)
    for part in ledger.parallel(DisjointPlan(3)):
        part.charge_gaussian("x", mu=0.8, sensitivity=1.0, scale=1.25)
    assert ledger.mu == pytest.approx(0.8)


def test_poisson_rate():
    plan = PoissonPlan(0.3)
    taken = int((~plan.skip(0, 0, 100_000)).sum())
    assert stats.binomtest(taken, 100_000, 0.3).pvalue > 1e-6
    assert PoissonPlan(1.0).skip(0, 0, 10) is None
    assert FullPlan().skip(0, 0, 10) is None
    np.testing.assert_array_equal(plan.skip(0, 0, 50), plan.skip(0, 0, 50))


@given(st.lists(st.integers(0, 12), max_size=10), st.integers(1, 9))
def test_batches_do_not_depend_on_blocks(sizes, slots):
    rows = np.arange(sum(sizes) * 2.0).reshape(-1, 2)
    cuts = np.cumsum(sizes)
    blocks = np.split(rows, cuts[:-1]) if sizes else []
    got = list(batches(blocks, slots))
    assert all(len(batch) == slots for batch in got)
    full = len(rows) // slots
    np.testing.assert_array_equal(np.array(got).reshape(-1, 2), rows[: full * slots])


def test_batches_of_a_stream_do_not_overlap():
    stream = StreamBatches("each row is a unit")
    stream.claim(0, 5)
    stream.claim(5, 6)
    for first, last in ((0, 5), (5, 7), (8, 8)):
        with pytest.raises(AssertionError):
            stream.claim(first, last)
    assert "removal" not in stream.stable_under
    assert {"emptying", "replacement"} <= set(stream.stable_under)


@given(st.lists(st.booleans(), max_size=30), st.integers(0, 30))
def test_empty_slots_are_left_out_by_their_place(empty, cut):
    plan = EmptySlots(np.array(empty, dtype=bool))
    cut = min(cut, len(empty))
    pieces = [plan.skip(0, 0, cut), plan.skip(0, cut, len(empty) - cut)]
    np.testing.assert_array_equal(np.concatenate(pieces), empty)
    parts = [~plan.split(3, b"key").part(index).skip(0, 0, len(empty)) for index in range(3)]
    np.testing.assert_array_equal(np.sum(parts, axis=0), ~np.array(empty, dtype=bool))


def test_bad_arguments():
    for kind, wrong in ((DisjointPlan, 0), (PoissonPlan, 0.0), (PoissonPlan, 1.5), (DisjointPlan(2).part, 2)):
        with pytest.raises(InvalidInputError):
            kind(wrong)
    with pytest.raises(InvalidInputError, match="slots"):
        list(batches([], 0))


def test_ranges_survive_a_replacement_only_where_places_are_fixed():
    """mutant: parts by place claim to be stable under replacement if people are in the order of their ids."""
    assert RangePlan(0, 10).split(2, b"").stable_under == ()
    fixed = RangePlan(0, 10, fixed_places=True).split(2, b"")
    assert fixed.stable_under == ("replacement", "emptying")
    assert fixed.part(1) == RangePlan(5, 10, fixed_places=True)
    assert fixed.part(1).split(5, b"").stable_under == ("replacement", "emptying")
