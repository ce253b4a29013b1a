import copy
import json
import os
import pickle
import shutil
import stat

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from eigenveil.algorithms.stream.checkpoint import RAW_SUFFIX, Checkpoint
from eigenveil.algorithms.stream.round import PILOT_ROUNDS, default_batch_size
from eigenveil.algorithms.stream.tracked_stream import TrackedStream
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms import no_noise
from eigenveil.privacy import Ledger, Relation
from support.forks import forking, in_a_fork
from support.veils import WatchedVeil, worst_ratio

D, B = 6, 300
PEOPLE_RETURN = pytest.mark.filterwarnings("ignore:by a noisy count")  # and so do slots without a person
LOUD = {"epsilon": 4.0, "delta": 1e-2, "batch_size": B}


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(7 * B + 50, D)) * [4, 2, 1, 1, 1, 1]


def stream_of(k=2, **options):
    return TrackedStream(k, **{**LOUD, "random_state": 3, **options})


def feed(stream, rows, size, *, ids=None, start=0):
    for first in range(start, rows.shape[0], size):
        part = slice(first, min(first + size, rows.shape[0]))
        stream.add(rows[part], **({} if ids is None else {"units": ids[part]}))
    return stream


def everything(stream):
    """Return everything that a stream holds, except rows and the random mark of its file."""
    return json.dumps({**stream._public(closing=False), "mark": ""}, sort_keys=True)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_blocks_of_any_size_give_the_same_bits(rows, size):
    whole = stream_of()
    whole.add(rows)
    assert whole.batches == 7
    assert everything(feed(stream_of(), rows, size)) == everything(whole)


@PEOPLE_RETURN
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_blocks_of_people_of_any_size_give_the_same_bits(rows, size):
    ids = np.random.default_rng(1).integers(0, 1500, size=len(rows))
    whole = stream_of(units="people")
    whole.add(rows, units=ids)
    parts = feed(stream_of(units="people"), rows, size, ids=ids)
    assert everything(parts) == everything(whole)


@PEOPLE_RETURN
def test_finds_the_components_and_releases_after_every_batch(rows):
    stream = stream_of()
    with pytest.raises(InvalidInputError, match="at least one closed batch"):
        stream.release()
    stream.add(rows[: B - 1])
    with pytest.raises(InvalidInputError, match="at least one closed batch"):
        stream.release()
    assert stream.ledger.mu == 0
    for first in range(B - 1, len(rows), B):
        stream.partial_fit(rows[first : first + B])
        release = stream.release()
        np.testing.assert_allclose(release.components @ release.components.T, np.eye(2), atol=1e-10)
    assert abs(release.components[0, 0]) > 0.98
    assert abs(release.components[1, 1]) > 0.95
    assert release.diagnostics["batches"] == 7
    assert stream.arrivals == len(rows)
    assert "NOT PRIVATE" in repr(release)


def test_ledger_is_right_at_every_point_and_does_not_grow(rows):
    stream = stream_of()
    mu = stream.budget.mu
    lengths = []
    for first in range(0, len(rows), 100):
        stream.add(rows[first : first + 100])
        closed = (first + 100) // B
        assert stream.batches == closed
        assert stream.ledger.mu == pytest.approx(mu if closed else 0.0, rel=1e-9)
        assert stream.ledger.mu <= mu * (1 + 1e-10)
        assert stream.ledger.epsilon(1e-2) <= 4.0
        lengths.append(len(stream.ledger.entries))
    assert max(lengths) == 2
    assert "7 finished batches (at most mu = " in str(stream.ledger)
    assert "number of arrivals" in str(stream.ledger)
    assert stream.ledger.relation is Relation.EMPTY_SLOT
    assert Ledger.from_json(stream.ledger.to_json()).to_json() == stream.ledger.to_json()


def test_without_a_seed_it_is_private(rows):
    stream = stream_of(random_state=None)
    stream.add(rows)
    assert stream.release().private
    assert "NOT" not in repr(stream)


class Watched(TrackedStream):
    """Records the values before noise. A second stream gets the outputs of the first."""

    transcript = None
    source = None

    def _open_veil(self, ledger, source):
        self.watched = WatchedVeil(ledger, source=self.source or source, transcript=self.transcript)
        return self.watched


@pytest.mark.parametrize("quiet", [True, False])
@pytest.mark.parametrize("place", [0, 10, B - 1, B, 5 * B + 7])
@pytest.mark.parametrize("huge", [1.0, 1e3, 1e200])
def test_emptying_a_slot_moves_no_more_than_stated(rows, quiet, place, huge):
    rows = rows * 1.0
    rows[place] *= huge
    neighbour = rows.copy()
    neighbour[place] = np.nan
    _compare(rows, neighbour, quiet=quiet, touched=place // B)


@PEOPLE_RETURN
@pytest.mark.parametrize("quiet", [True, False])
@pytest.mark.parametrize("person", [3, 250, 700])
def test_emptying_a_person_moves_no_more_than_stated(rows, quiet, person):
    ids = np.random.default_rng(1).integers(0, 900, size=len(rows)).astype(float)
    ids[[5, 20, B + 3, 4 * B]] = person
    neighbour, others = rows.copy(), ids.copy()
    neighbour[ids == person] = np.nan
    others[ids == person] = np.nan
    first = int(np.flatnonzero(ids == person)[0])
    _compare(rows, neighbour, quiet=quiet, touched=first // B, ids=(ids, others))


def _compare(rows, neighbour, *, quiet, touched, ids=(None, None)):
    """Check that values before noise differ by at most the stated sensitivity, and only in the unit's batch."""
    people = ids[0] is not None

    class First(Watched):
        source = staticmethod(no_noise) if quiet else None

    options = {"units": "people"} if people else {}
    first = feed(First(2, **LOUD, random_state=3, **options), rows, 1000, ids=ids[0])

    class Second(First):
        transcript = first.watched.seen

    second = feed(Second(2, **LOUD, random_state=3, **options), neighbour, 1000, ids=ids[1])
    assert worst_ratio(first.watched.seen, second.watched.seen) <= 1
    moved = [
        index
        for index, (a, b) in enumerate(zip(first.watched.seen, second.watched.seen, strict=True))
        if any(not np.array_equal(x, y) for x, y in zip(a.steps, b.steps, strict=True))
    ]
    batches = np.cumsum([seen.releases == 1 and seen.steps[0].size == 1 for seen in first.watched.seen]) - 1
    assert {int(batches[index]) for index in moved} <= {touched}


def test_the_check_for_neighbours_can_fail(rows):
    neighbour = rows.copy()
    neighbour[[10, 11, 12]] = np.nan  # three units, not one
    with pytest.raises(AssertionError):
        _compare(rows, neighbour, quiet=True, touched=0)


def test_rows_of_an_id_that_was_seen_are_ignored(rows):
    ids = np.arange(len(rows))
    returning = np.insert(rows, B + 5, 1e6 * np.ones(D), axis=0)
    again = np.insert(ids, B + 5, 7)
    one = feed(stream_of(units="people"), returning, 64, ids=again)
    hole = returning.copy()
    hole[B + 5] = np.nan
    missing = again.astype(float)
    missing[B + 5] = np.nan
    other = feed(stream_of(units="people"), hole, 64, ids=missing)
    assert everything(one) == everything(other)


def test_ids_are_recognised_in_other_types(rows):
    stream = stream_of(units="people")
    stream.add(rows[:2], units=[1, 2])
    stream.add(rows[:2], units=np.array([1.0, 3.0]))
    stream.add(rows[:1], units=[None])
    assert stream._open.empty.tolist() == [False, False, True, False, True]
    stream.add(rows[:4], units=["1", "02", (1, 2), "x"])
    assert stream._open.empty.tolist()[5:] == [True, False, True, False]
    with pytest.raises(InvalidInputError, match="whole numbers or text"):
        stream.add(rows[:1], units=np.array(["2020-01-01"], "datetime64[D]"))
    with pytest.raises(InvalidInputError, match="3 ids for 2 rows"):
        stream.add(rows[:2], units=[1, 2, 3])
    assert stream.arrivals == 9


def test_ids_are_declared_never_to_return(rows):
    stream = stream_of(units="people", ids_never_return=True)
    feed(stream, rows, 100, ids=np.arange(len(rows)))
    assert stream._seen.hashes == set()
    assert "never lie in two batches (declared by the caller)" in str(stream.ledger)


def test_nan_rows_keep_their_slots(rows):
    rows = rows.copy()
    rows[::40] = np.nan
    rows[3] = np.inf
    stream = stream_of()
    stream.add(rows)
    assert stream.arrivals == len(rows)
    assert stream.batches == 7
    assert abs(stream.release().components[0, 0]) > 0.98


def test_many_invalid_rows_are_reported_from_a_release(rows):
    rows = rows.copy()
    rows[::3] = np.nan
    stream = stream_of()
    with pytest.warns(UserWarning, match="noisy count"):
        stream.add(rows)
    assert abs(stream.release().components[0, 0]) > 0.95


@pytest.mark.parametrize("why", ["missing", "unusable", "return"])
def test_many_slots_without_a_person_are_reported_from_a_release(rows, why):
    """The batch is complete even if Python raises the warning."""
    stream = stream_of(units="people")
    stream.add(rows[:B], units=np.arange(B))
    assert stream.release().warnings == ()
    ids = {"missing": [None] * B, "unusable": [0.5] * B, "return": np.arange(B)}[why]
    with pytest.raises(UserWarning, match=r"noisy count.*an id is missing or .*people who return explain it"):
        stream.add(rows[:B], units=ids)
    assert [one.code for one in stream.release().warnings] == ["empty-slots"]
    assert (stream.batches, stream.arrivals) == (2, 2 * B)
    assert stream.release().diagnostics["n_hat"] < B / 2


@pytest.mark.filterwarnings("ignore:by a noisy count")
def test_empty_batches_are_no_error_and_are_ignored(rows):
    stream = stream_of()
    stream.add(np.full((2 * B, D), np.nan))
    assert stream.release().components.shape == (2, D)
    assert stream.release().diagnostics["rounds"] == 0
    stream.add(rows)
    assert abs(stream.release().components[0, 0]) > 0.95
    before = stream.release().components
    stream.add(np.full((2 * B, D), np.nan))
    assert abs(stream.release().components[0] @ before[0]) > 0.95


@pytest.mark.parametrize("scale", [0.0, 1e-30, 1e30])
def test_extreme_scales(rows, scale):
    stream = stream_of()
    stream.add(rows * scale)
    V = stream.release().components
    np.testing.assert_allclose(V @ V.T, np.eye(2), atol=1e-8)


@pytest.mark.parametrize(("k", "d"), [(1, 1), (3, 3), (2, 4)])
def test_small_dimensions(k, d):
    X = np.random.default_rng(0).normal(size=(6 * B, d))
    stream = stream_of(k)
    stream.add(X)
    V = stream.release().components
    np.testing.assert_allclose(V @ V.T, np.eye(k), atol=1e-8)


def test_files_and_iterables_are_blocks_too(rows, tmp_path):
    import pandas as pd

    pd.DataFrame(rows, columns=list("abcdef")).to_parquet(tmp_path / "rows.parquet")
    whole, file, parts = stream_of(), stream_of(), stream_of()
    whole.add(rows)
    file.add(tmp_path / "rows.parquet")
    parts.add(rows[first : first + 90] for first in range(0, len(rows), 90))
    np.testing.assert_array_equal(file.release().components, whole.release().components)
    assert everything(parts) == everything(whole)


def test_frames_and_sparse_rows(rows):
    import pandas as pd

    names = list("abcdef")
    frame = stream_of()
    frame.add(pd.DataFrame(rows, columns=names))
    plain = stream_of()
    plain.add(rows)
    np.testing.assert_array_equal(frame.release().components, plain.release().components)
    with pytest.raises(InvalidInputError, match="other names"):
        frame.add(pd.DataFrame(rows, columns=names[::-1]))
    few = stream_of()
    feed(few, sparse.csr_array(rows), 200)
    assert abs(few.release().components[0, 0]) > 0.98
    people = stream_of(units="people", columns=["a", "b", "c"])
    people.add(pd.DataFrame(rows, columns=names).assign(who=np.arange(len(rows))), units="who")
    assert people.release().components.shape == (2, 3)


# -- checkpoints -------------------------------------------------------------------------------------


@PEOPLE_RETURN
@pytest.mark.parametrize("people", [False, True])
@pytest.mark.parametrize("stop", [0, 10, B - 1, B, 2 * B + 17, 6 * B])
def test_resumed_equals_uninterrupted(rows, tmp_path, stop, people):
    ids = np.random.default_rng(1).integers(0, 1500, size=len(rows)) if people else None
    options = {"units": "people"} if people else {}
    whole = feed(stream_of(**options), rows, 50, ids=ids)
    first = feed(stream_of(**options), rows[:stop], 50, ids=ids)
    first.save(tmp_path / "stream.json")
    second = TrackedStream.load(tmp_path / "stream.json")
    assert everything(second) == everything(first)
    assert second.arrivals == stop
    feed(second, rows, 50, ids=ids, start=stop)
    assert everything(second) == everything(whole)


def test_sparse_rows_are_kept_too(rows, tmp_path):
    X = sparse.csr_array(np.where(np.abs(rows) > 1, rows, 0))
    whole = stream_of()
    whole.add(X)
    first = stream_of()
    first.add(X[: B + 20])
    first.save(tmp_path / "s")
    second = TrackedStream.load(tmp_path / "s")
    second.add(X[B + 20 :])
    assert everything(second) == everything(whole)


def test_raw_data_are_in_a_separate_file_for_the_owner_only(rows, tmp_path):
    rows = rows.copy()
    rows[B + 3] = 12345.678910111
    stream = stream_of(units="people", random_state=None)
    ids = np.array([f"canary-{i}" for i in range(len(rows))])
    old = os.umask(0o022)
    try:
        feed(stream, rows[: B + 20], 50, ids=ids)
        stream.save(tmp_path / "stream.json")
    finally:
        os.umask(old)
    public = (tmp_path / "stream.json").read_text()
    raw = tmp_path / ("stream.json" + RAW_SUFFIX)
    assert sorted(tmp_path.iterdir()) == [tmp_path / ".stream.json.lock", tmp_path / "stream.json", raw]
    assert stat.S_IMODE(raw.stat().st_mode) == 0o600
    assert "RAW DATA" in raw.read_text()
    assert "canary" not in public + raw.read_text()
    assert stream._seen.key.hex() not in public
    assert "12345.67" not in public + repr(stream) + str(stream.ledger)
    assert not {"rows", "empty", "key", "ids"} & set(json.loads(public))


def test_raw_data_do_not_follow_a_link(rows, tmp_path):
    stream = stream_of(units="people", random_state=None)
    stream.save(tmp_path / "s")
    raw, elsewhere = tmp_path / ("s" + RAW_SUFFIX), tmp_path / "elsewhere"
    elsewhere.write_bytes(raw.read_bytes())
    raw.unlink()
    raw.symlink_to(elsewhere)
    before = elsewhere.read_bytes()
    with pytest.raises(InvalidInputError, match="could not be written"):
        stream.add(rows[:B], units=np.arange(B))
    assert elsewhere.read_bytes() == before


class Crash(BaseException):
    pass


@pytest.mark.parametrize("people", [False, True])
def test_a_batch_charged_but_not_released_is_dropped(rows, tmp_path, monkeypatch, people):
    ids = np.arange(len(rows)) if people else None
    stream = feed(stream_of(**({"units": "people"} if people else {})), rows[: B + 20], 50, ids=ids)
    stream.save(tmp_path / "s")
    before = stream.release().components

    def crash(*_args, **_options):
        raise Crash

    monkeypatch.setattr("eigenveil.algorithms.stream.round.Question.buy_answer", crash)
    with pytest.raises(Crash):
        feed(stream, rows, 50, ids=ids, start=B + 20)
    assert stream.batches == 2
    assert stream.arrivals == 2 * B
    monkeypatch.undo()
    for suffix in ("", RAW_SUFFIX):  # a copy on another machine cannot be detected
        shutil.copy(tmp_path / f"s{suffix}", tmp_path / f"copy{suffix}")

    back = TrackedStream.load(tmp_path / "copy")
    assert back.arrivals == 2 * B
    assert back.batches == 2
    assert back._open.filled == 0
    assert back.ledger.mu == pytest.approx(back.budget.mu)
    np.testing.assert_array_equal(back.release().components, before)
    if people:  # anyone in the dropped batch has been charged and is not used again
        assert len(back._seen.hashes) == 2 * B
    feed(back, rows, 50, ids=ids, start=2 * B)
    assert back.batches == 7
    # if the process survives, the stream itself continues in the same way
    feed(stream, rows, 50, ids=ids, start=2 * B)
    assert stream.batches == 7


@pytest.mark.parametrize("closed", [0, 1])
def test_a_batch_dropped_on_resume_is_charged_also_if_it_was_the_first(rows, tmp_path, monkeypatch, closed):
    """mutant: `charge_dropped_batch` charges nothing. With a batch closed before, mu is the budget either way."""
    stream = stream_of(random_state=None)
    stream.add(rows[: closed * B + 20])
    stream.save(tmp_path / "s")
    assert (stream.ledger.mu > 0) == bool(closed)

    def crash(*_args, **_options):
        raise Crash

    monkeypatch.setattr("eigenveil.algorithms.stream.round.noisy_count", crash)
    with pytest.raises(Crash):
        stream.add(rows[closed * B + 20 : (closed + 1) * B])
    monkeypatch.undo()
    back = TrackedStream.load(tmp_path / "s")
    assert back.batches == closed + 1
    assert back.ledger.mu == pytest.approx(back.budget.mu, rel=1e-12)
    assert back.ledger.epsilon(1e-2) == pytest.approx(4.0, rel=1e-6)
    assert back.ledger.private


def test_the_checkpoint_is_updated_with_the_stream(rows, tmp_path):
    """A process that ends without saving again loses the open batch, and nothing is spent twice."""
    ids = np.arange(len(rows))
    stream = feed(stream_of(units="people"), rows[:100], 50, ids=ids)
    stream.save(tmp_path / "s")
    feed(stream, rows, 70, ids=ids, start=100)
    back = TrackedStream.load(tmp_path / "s")
    assert back.arrivals == 7 * B
    assert back._seen.hashes == stream._seen.hashes
    np.testing.assert_array_equal(back.release().components, stream.release().components)


def test_damaged_or_missing_checkpoints(rows, tmp_path):
    with pytest.raises(InvalidInputError, match="found none"):
        TrackedStream.load(tmp_path / "s")
    stream = stream_of()
    stream.add(rows[:400])
    stream.save(tmp_path / "s")
    text = (tmp_path / "s").read_text()
    for damage in (text[:100], "[]", "{}", text.replace('"schema": 7', '"schema": 9'), text.replace('"V"', '"W"')):
        (tmp_path / "s").write_text(damage)
        with pytest.raises(InvalidInputError):
            TrackedStream.load(tmp_path / "s")
    (tmp_path / "s").write_text(text)
    (tmp_path / ("s" + RAW_SUFFIX)).unlink()
    with pytest.raises(InvalidInputError, match="raw data"):
        TrackedStream.load(tmp_path / "s")


# -- copies ------------------------------------------------------------------------------------------


COPIES = [copy.copy, copy.deepcopy, pickle.dumps]


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("filled", [0, B - 1, B, 2 * B + 7])
def test_a_stream_is_not_copied(rows, copied, filled):
    """mutant: a stream may be copied. Its copy, one slot short, released a batch on a ledger that said mu = 0."""
    stream = stream_of(units="people", random_state=None)
    stream.add(rows[:filled], units=np.arange(filled))
    with pytest.raises(InvalidInputError, match=r"raw rows.*\nHint: stream\.save.*TrackedStream\.load"):
        copied(stream)


def test_parts_of_a_stream_are_not_copied(rows, tmp_path):
    stream = stream_of(units="people", random_state=None)
    stream.add(rows[:10], units=np.arange(10))
    stream.save(tmp_path / "s")
    for part in (stream._open, stream._seen, stream._rounds, stream._checkpoint):
        for copied in COPIES:
            with pytest.raises(InvalidInputError, match="not copied or pickled"):
                copied(part)


def test_a_copied_release_can_be_read_and_its_ledger_cannot_be_charged(rows):
    stream = stream_of(random_state=None)
    stream.add(rows)
    release = pickle.loads(pickle.dumps(stream.release()))  # noqa: S301
    np.testing.assert_array_equal(release.components, stream.release().components)
    assert release.ledger.is_copy
    assert copy.deepcopy(stream.release()).ledger is stream.ledger


@forking
@pytest.mark.parametrize("kept", [False, True])
def test_a_fork_takes_no_rows_unless_adopted(rows, tmp_path, kept):
    stream = stream_of(random_state=None)
    stream.add(rows[: B - 1])
    if kept:
        stream.save(tmp_path / "s")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for refused in (
        lambda: stream.add(rows[B - 1 : B]),
        lambda: stream.partial_fit(rows[:1]),
        lambda: stream.save(tmp_path / "t"),
    ):
        assert in_a_fork(refused).startswith("InvalidInputError: this ledger is a copy")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before

    def adopted():
        stream.ledger.adopt()
        stream.add(rows[B - 1 : B])
        return stream.batches, stream.ledger.mu == pytest.approx(stream.budget.mu), stream.ledger.private

    assert in_a_fork(adopted) == "(1, True, True)"
    if not kept:
        stream.add(rows[B - 1 : B])
        assert stream.batches == 1


def test_one_stream_at_a_time_goes_on_from_a_checkpoint(rows, tmp_path):
    stream = stream_of(random_state=None)
    stream.add(rows[: B + 10])
    stream.save(tmp_path / "s")
    stream.save(tmp_path / "s")  # saving again has no effect
    first = TrackedStream.load(tmp_path / "s")
    second = TrackedStream.load(tmp_path / "s")
    text = (tmp_path / "s").read_text()
    for lost in (stream, first):
        with pytest.raises(InvalidInputError, match="another stream has loaded"):
            lost.add(rows)
        assert lost.batches == 1
        assert lost.arrivals == 2 * B  # its full batch is not closed, and nothing of it was released
        for path in ("s", "elsewhere"):
            with pytest.raises(InvalidInputError, match="another stream has loaded"):
                lost.save(tmp_path / path)
    assert (tmp_path / "s").read_text() == text
    second.add(rows[B + 10 :])
    assert second.batches == 7
    assert TrackedStream.load(tmp_path / "s").batches == 7


@pytest.mark.parametrize("way", ["link", "rename", "delete", "hard link"])
def test_other_names_of_a_checkpoint_give_no_second_stream(rows, tmp_path, monkeypatch, way):
    """mutant: a stream continues if its checkpoint is gone. Renamed and loaded, two streams closed one batch."""
    monkeypatch.chdir(tmp_path)
    stream = stream_of(random_state=None)
    stream.add(rows[: B - 1])
    stream.save("s")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")  # a relative path stays the path that it was
    other = None
    for suffix in ("", RAW_SUFFIX):
        old, new = tmp_path / f"s{suffix}", tmp_path / f"t{suffix}"
        if way == "delete":
            old.unlink()
        else:
            {"link": new.symlink_to, "hard link": new.hardlink_to, "rename": old.rename}[way](
                new if way == "rename" else old
            )
    if way == "hard link":
        with pytest.raises(InvalidInputError, match="one name, found 2"):
            TrackedStream.load(tmp_path / "t")
    elif way != "delete":
        other = TrackedStream.load(tmp_path / "t")
    message = {"link": "another stream has loaded", "hard link": "one name, found 2"}.get(way, "is gone")
    for refused in (lambda: stream.add(rows[:1]), lambda: stream.save(tmp_path / "new")):
        with pytest.raises(InvalidInputError, match=message):
            refused()
    assert stream.ledger.mu == 0
    if way == "hard link":
        (tmp_path / "t").unlink()
        other = stream
    if other is not None:
        other.add(rows[:1])
        assert other.batches == 1
        assert (tmp_path / "t").is_symlink() == (way == "link")


@pytest.mark.parametrize("damage", ["older", "cut", "gap", "older, then a batch"])
def test_a_raw_data_file_without_the_ids_of_all_closed_batches_is_refused(rows, tmp_path, damage):
    """mutant: a file with the right key suffices. Copied back, an older one let people count again."""
    ids, raw = np.arange(len(rows)), tmp_path / ("s" + RAW_SUFFIX)
    stream = stream_of(units="people", random_state=None)
    stream.save(tmp_path / "s")
    older = raw.read_bytes()
    feed(stream, rows[: 3 * B], 50, ids=ids)
    whole = raw.read_bytes()
    lines = [line for line in whole.splitlines(keepends=True) if line.strip()]
    raw.write_bytes({"cut": whole[:-20], "gap": b"".join(lines[:3] + lines[4:])}.get(damage, older))
    if damage == "older, then a batch":
        feed(stream, rows[: 4 * B], 50, ids=ids, start=3 * B)
    with pytest.raises(InvalidInputError, match="lacks ids of closed batches"):
        TrackedStream.load(tmp_path / "s")
    if damage != "older, then a batch":
        raw.write_bytes(whole)
        assert len(TrackedStream.load(tmp_path / "s")._seen.hashes) == 3 * B


def test_ids_of_a_batch_that_was_never_charged_do_not_stand_for_its_successor(rows, tmp_path, monkeypatch):
    """mutant: a record of ids per number of a batch suffices. A crash may leave two of one number."""
    raw = tmp_path / ("s" + RAW_SUFFIX)
    stream = stream_of(units="people", random_state=None)
    stream.save(tmp_path / "s")

    def crash(*_args, **_options):
        raise Crash

    monkeypatch.setattr(stream._checkpoint, "write", crash)
    with pytest.raises(Crash):
        stream.add(rows[:B], units=np.arange(B))
    older = raw.read_bytes()
    back = TrackedStream.load(tmp_path / "s")
    assert (back.batches, len(back._seen.hashes)) == (0, 0)
    back.add(rows[:B], units=np.arange(B, 2 * B))
    raw.write_bytes(older)
    with pytest.raises(InvalidInputError, match="lacks ids of closed batches"):
        TrackedStream.load(tmp_path / "s")


@PEOPLE_RETURN
@pytest.mark.parametrize("forget", [False, True])
def test_batches_without_ids_are_recorded_and_forgotten_ids_are_not_written(rows, tmp_path, forget):
    stream = stream_of(units="people", ids_never_return=forget, random_state=None)
    stream.save(tmp_path / "s")
    stream.add(rows[:B], units=[None] * B)
    stream.add(rows[:B], units=np.arange(B))
    records = [json.loads(line) for line in (tmp_path / ("s" + RAW_SUFFIX)).read_text().splitlines() if line]
    assert [one["ids"] != "" for one in records if "batch" in one] == ([] if forget else [False, True])
    back = TrackedStream.load(tmp_path / "s")
    assert (back.batches, len(back._seen.hashes)) == (2, 0 if forget else B)


def test_a_checkpoint_is_not_written_through_a_planted_link(rows, tmp_path):
    stream = stream_of(random_state=None)
    stream.add(rows[:10])
    target = tmp_path / "target"
    target.write_text("kept")
    for name in (".s.part", f".s{RAW_SUFFIX}.part"):
        (tmp_path / name).symlink_to(target)
    stream.save(tmp_path / "s")
    assert target.read_text() == "kept"
    parts = sorted(path.name for path in tmp_path.iterdir() if ".part" in path.name)
    assert parts == [f".s{RAW_SUFFIX}.part", ".s.part"]  # files of the user; those of the stream are gone
    assert TrackedStream.load(tmp_path / "s").arrivals == 10


# -- drift and errors --------------------------------------------------------------------------------


def test_a_slow_rotation_is_followed():
    rng = np.random.default_rng(0)
    d, size, turn = 10, 1000, 0.03
    stream = TrackedStream(1, epsilon=2.0, delta=1e-4, batch_size=size, random_state=0)
    lost = []
    for batch in range(PILOT_ROUNDS + 50):
        angle = turn * batch
        v = np.zeros(d)
        v[:2] = np.cos(angle), np.sin(angle)
        stream.add(rng.normal(size=(size, d)) + 3 * rng.normal(size=(size, 1)) * v)
        lost.append(1 - (stream.release().components[0] @ v) ** 2)
    assert max(lost[-40:]) < 0.03  # the rotation exceeds 90 degrees by then


@pytest.mark.parametrize("spare", [1.0, 0.001])
def test_after_a_jump_the_stream_starts_from_scratch(spare):
    """The old components hold little of the new variance. Three batches about all directions find the new ones."""
    rng = np.random.default_rng(0)
    d, size = 12, 1000
    scales = np.sqrt([9.0, 4.0] + [spare] * (d - 2))
    stream = TrackedStream(2, epsilon=2.0, delta=1e-4, batch_size=size, random_state=0)
    for _ in range(10):
        stream.add(rng.normal(size=(size, d)) * scales)
    assert stream._progress.rounds == 10
    before = np.linalg.norm(stream.release().components[:, :2])
    for _ in range(6):
        stream.add(rng.normal(size=(size, d)) * scales[::-1])
    assert stream._progress.rounds == 6
    assert min(before, np.linalg.norm(stream.release().components[:, -2:])) > 0.98 * np.sqrt(2)


def test_a_long_stream_with_a_short_memory_stays_accurate():
    """Regression: the variance of directions without further questions doubled with every batch, permanently."""
    rng = np.random.default_rng(0)
    scales = np.sqrt([9.0, 4.0, 2.0] + [1.0] * 9)
    stream = TrackedStream(2, epsilon=2.0, delta=1e-4, batch_size=600, memory=2.0, random_state=0)
    lost = []
    for _ in range(80):
        stream.add(rng.normal(size=(600, 12)) * scales)
        lost.append(2 - np.linalg.norm(stream.release().components[:, :2]) ** 2)
    assert np.mean(lost[-20:]) < 2 * np.mean(lost[10:30])
    state = stream._progress.state
    assert max(state.outside.max(), state.inside.max()) < state.eigenvalues[0] ** 2


def test_options_are_checked():
    for wrong in (
        {"batch_size": 0},
        {"batch_size": 2.5},
        {"oversampling": -1},
        {"memory": 1.0},
        {"memory": float("nan")},
        {"units": "ids"},
        {"ids_never_return": True},
        {"k": 0},
        {"k": True},
        {"epsilon": -1.0},
    ):
        with pytest.raises(InvalidInputError):
            stream_of(**wrong)


def test_blocks_are_checked(rows):
    stream = stream_of()
    with pytest.raises(InvalidInputError, match="from 1 to 1"):
        stream.add(rows[:, :1])
    stream.add(rows[:3])
    for wrong in (rows[:, :4], rows[0], "nowhere.parquet", rows.astype(str), 7):
        with pytest.raises(InvalidInputError):
            stream.add(wrong)
    with pytest.raises(InvalidInputError, match="without units"):
        stream.add(rows, units=np.arange(len(rows)))
    with pytest.raises(InvalidInputError, match="with units"):
        stream_of(units="people").add(rows)
    stream.add(rows[:0])
    assert stream.arrivals == 3


@pytest.mark.parametrize("form", [list, tuple])
@pytest.mark.parametrize("wrong", ["width", "names", "kind"])
def test_all_blocks_of_a_list_are_checked_before_the_first_row_is_taken(rows, form, wrong):
    """mutant: blocks are checked when they are read. A retry then counted the first ones twice."""
    frame = pd.DataFrame(rows, columns=list("abcdef"))
    blocks = {
        "width": [rows[:200], rows[200:210, :3]],
        "names": [frame[:200], frame[200:210][list("bacdef")]],
        "kind": [rows[:200], sparse.csr_array(rows[200:210])],
    }[wrong]
    stream, whole = stream_of(), stream_of()
    with pytest.raises(InvalidInputError, match="block 1") as caught:
        stream.add(form(blocks))
    assert stream.arrivals == 0
    assert not hasattr(caught.value, "__notes__")
    stream.add(form([rows[:200], rows[200:]]))
    whole.add(rows)
    assert everything(stream) == everything(whole)


def test_all_files_are_checked_before_the_first_row_is_taken(rows, tmp_path):
    for number, columns in enumerate(["abcdef", "abc"]):
        pd.DataFrame(rows[:, : len(columns)], columns=list(columns)).to_parquet(tmp_path / f"{number}.parquet")
    stream = stream_of()
    with pytest.raises(InvalidInputError):
        stream.add(str(tmp_path / "*.parquet"))
    assert stream.arrivals == 0


@pytest.mark.parametrize("stop", ["width", "error", "interrupt"])
def test_an_exception_says_how_many_rows_were_taken(rows, stop):
    """Followed literally, it gives the same bits as a stream without any exception."""

    def blocks():
        yield rows[:250]
        yield rows[250:700]
        if stop == "width":
            yield rows[:, :2]
        raise {"error": RuntimeError("sensor"), "interrupt": KeyboardInterrupt()}[stop]

    stream, whole = stream_of(), stream_of()
    stream.add(rows[:100])
    with pytest.raises((InvalidInputError, RuntimeError, KeyboardInterrupt)) as caught:
        stream.add(blocks())
    (note,) = caught.value.__notes__
    taken = int(note.split("The first ")[1].split(" rows")[0])
    assert (taken, stream.arrivals) == (700, 800)
    stream.add(rows[taken:])
    for part in (rows[:100], rows):
        whole.add(part)
    assert everything(stream) == everything(whole)


def test_default_batches_and_a_warning_for_small_ones(rows):
    stream = stream_of(batch_size=None)
    assert stream.batch_size is None
    stream.add(rows)
    assert stream.batch_size == default_batch_size(D, stream.options, mu=stream.budget.mu)
    with pytest.warns(UserWarning, match="would help"):
        stream_of(batch_size=5).add(rows[:12])


def test_a_stream_copies_the_rows_of_a_block(rows):
    mine = rows.copy()
    stream = stream_of()
    stream.add(mine[:100])
    mine[:] = 0
    stream.add(rows[100:])
    whole = stream_of()
    whole.add(rows)
    assert everything(stream) == everything(whole)


def test_a_stream_saved_elsewhere_leaves_no_second_checkpoint(rows, tmp_path):
    """Two streams would both continue and release the same batch, each with a ledger that shows it once."""
    stream = stream_of()
    stream.add(rows[: B - 1])
    stream.save(tmp_path / "one")
    stream.save(tmp_path / "one")
    assert TrackedStream.load(tmp_path / "one").arrivals == B - 1
    stream = TrackedStream.load(tmp_path / "one")
    stream.save(tmp_path / "two")
    with pytest.raises(InvalidInputError, match="elsewhere"):
        TrackedStream.load(tmp_path / "one")
    assert not (tmp_path / "one.RAW-DATA").exists()
    stream.add(rows[B - 1 : B])
    assert stream.batches == 1
    assert TrackedStream.load(tmp_path / "two").batches == 1


@pytest.mark.parametrize("suffix", ["", RAW_SUFFIX])
@pytest.mark.parametrize("there", ["file", "stream", "moved stream", "link"])
def test_a_stream_replaces_no_file_that_is_not_its_own(rows, tmp_path, there, suffix):
    """mutant: a first save looks at nothing. It replaced any file, and the rows of another stream."""
    path = tmp_path / f"s{suffix}"
    other = stream_of(units="people", random_state=None)
    if there in ("file", "link"):
        target = tmp_path / "kept" if there == "link" else path
        target.write_text("mine")
        if there == "link":
            path.symlink_to(target)
    else:
        other.add(rows[:100], units=np.arange(100))
        other.save(tmp_path / "s")
        if there == "moved stream":
            other.save(tmp_path / "t")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir() if "lock" not in file.name}
    stream = stream_of(random_state=None)
    stream.add(rows[:50])
    for _ in range(2):  # also after a save elsewhere
        with pytest.raises(InvalidInputError, match="already exists"):
            stream.save(tmp_path / "s")
        after = {file.name: file.read_bytes() for file in tmp_path.iterdir() if "lock" not in file.name}
        assert {name: after[name] for name in before} == before
        stream.save(tmp_path / "own")
    assert TrackedStream.load(tmp_path / "own").arrivals == 50
    if there == "stream":
        other.add(rows[100:], units=np.arange(100, len(rows)))
        assert TrackedStream.load(tmp_path / "s").batches == 7


def test_a_stream_returns_to_a_path_that_it_left(rows, tmp_path):
    stream = stream_of(random_state=None)
    stream.add(rows[:50])
    for name in ("one", "two", "one", "one", "two"):
        stream.save(tmp_path / name)
    assert TrackedStream.load(tmp_path / "two").arrivals == 50
    assert not (tmp_path / "one.RAW-DATA").exists()


def test_a_save_that_fails_leaves_nothing_and_may_be_repeated(rows, tmp_path, monkeypatch):
    stream = stream_of(random_state=None)
    stream.add(rows[:50])
    with monkeypatch.context() as patched:
        patched.setattr(Checkpoint, "take", lambda *_: (_ for _ in ()).throw(OSError("full")))
        with pytest.raises(OSError, match="full"):
            stream.save(tmp_path / "s")
    assert [path.name for path in tmp_path.iterdir()] == [".s.lock"]
    stream.save(tmp_path / "s")
    assert TrackedStream.load(tmp_path / "s").arrivals == 50


def test_a_crash_in_the_first_save_does_not_block_the_path(rows, tmp_path):
    """Nothing was released there. Raw data whose file of releases was moved away are kept."""
    stream = stream_of(random_state=None)
    stream.add(rows[:50])
    checkpoint = Checkpoint(tmp_path / "s")
    checkpoint.write_raw([], unfinished=True)  # and then the power was cut
    stream.save(tmp_path / "s")
    (tmp_path / "s").rename(tmp_path / "t")
    other = stream_of(random_state=None)
    with pytest.raises(InvalidInputError, match="already exists"):
        other.save(tmp_path / "s")
    (tmp_path / "s.RAW-DATA").rename(tmp_path / "t.RAW-DATA")
    assert TrackedStream.load(tmp_path / "t").arrivals == 50


@pytest.mark.parametrize("damage", ["[]", "7", "null"])
def test_how_rows_were_prepared_is_read_strictly(rows, tmp_path, damage):
    stream = stream_of()
    stream.add(rows[:50])
    stream.save(tmp_path / "s")
    text = (tmp_path / "s").read_text()
    (tmp_path / "s").write_text(text.replace('"prepared": {}', f'"prepared": {damage}'))
    with pytest.raises(InvalidInputError, match="not a checkpoint"):
        TrackedStream.load(tmp_path / "s")
