import copy
import json
import math
import os
import pickle
import threading
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenveil.errors import BudgetExceededError, InvalidInputError, NotDisjointError
from eigenveil.privacy import Budget, Entry, Ledger, Purpose, Relation
from eigenveil.privacy.ledger import SEEDED, as_copy
from support.forks import forking, in_a_fork


@dataclass
class Coins:
    """Parts that are disjoint, or claim to be."""

    parts: int = 2
    stable_under: frozenset[str] = field(default_factory=lambda: frozenset({"removal"}))
    honest: bool = True

    def assert_disjoint(self) -> str:
        if not self.honest:
            raise NotDisjointError("unit 3 is in two parts")
        return "each unit by its own coin"


def spend(ledger, mu, what="x"):
    return ledger.charge_gaussian(what, mu=mu, sensitivity=1.0, scale=1 / mu)


def test_sequence_adds_squares_and_reports_the_exact_curve():
    ledger = Ledger(Budget.from_mu(1.0))
    for mu in (0.3, 0.4, 0.5):
        spend(ledger, mu)
    assert ledger.mu == pytest.approx(math.sqrt(0.5))
    assert ledger.delta(ledger.epsilon(1e-5)) == pytest.approx(1e-5, rel=1e-6)


@settings(max_examples=20)
@given(st.lists(st.sampled_from([0.001, 0.2, 1.0]), min_size=1, max_size=30))
def test_shares_of_the_whole_always_fit_and_then_nothing_more_does(weights):
    budget = Budget.from_epsilon_delta(1.0, 1e-6)
    ledger = Ledger(budget)
    for mu in budget.split(*weights):
        spend(ledger, mu)
    assert ledger.epsilon(1e-6) <= 1.0
    before = ledger.to_json()
    with pytest.raises(BudgetExceededError):
        spend(ledger, 1e-3)
    assert ledger.to_json() == before


@settings(max_examples=20)
@given(st.lists(st.sampled_from([0.01, 0.1, 0.37, 0.6]), max_size=12))
def test_filter_never_exceeds_the_budget(requests):
    ledger = Ledger(Budget.from_mu(0.8))
    for mu in requests:
        left = ledger.remaining_mu
        try:
            spend(ledger, mu)
            assert mu <= left * (1 + 1e-9)
        except BudgetExceededError:
            assert mu > left
    assert ledger.mu <= 0.8 * (1 + 1e-10)


def test_mixed_entries_compose_with_the_part_set_aside():
    budget = Budget.from_epsilon_delta(1.0, 1e-5, epsilon_aside=0.3, delta_aside=4e-6)
    ledger = Ledger(budget)
    ledger.charge_approximate("histogram", epsilon=0.2, delta=4e-6)
    ledger.charge_approximate("laplace", epsilon=0.1)
    spend(ledger, budget.mu)
    assert ledger.epsilon(1e-5) <= 1.0
    assert ledger.delta(0.2) == 1.0
    with pytest.raises(BudgetExceededError, match="set aside"):
        ledger.charge_approximate("more", epsilon=0.01)
    with pytest.raises(BudgetExceededError, match="mu = "):
        spend(ledger, 0.01)


def test_non_gaussian_needs_something_set_aside():
    ledger = Ledger(Budget.from_mu(1.0))
    with pytest.raises(BudgetExceededError, match="epsilon_aside"):
        ledger.charge_approximate("laplace", epsilon=0.01)


def test_parallel_takes_the_maximum_and_the_filter_sees_it():
    ledger = Ledger(Budget.from_mu(1.0))
    spend(ledger, 0.6)
    left, right = ledger.parallel(Coins())
    spend(left, 0.8)
    spend(right, 0.5)
    spend(right, 0.5)
    assert ledger.mu == pytest.approx(1.0)
    with pytest.raises(BudgetExceededError):
        spend(left, 0.1)
    assert right.remaining_mu == pytest.approx(math.sqrt(0.14))
    spend(right, math.sqrt(0.14))
    with pytest.raises(BudgetExceededError):
        spend(ledger, 0.01)


def test_parallel_nests():
    ledger = Ledger(Budget.from_mu(1.0))
    first, second = ledger.parallel(Coins())
    for part in first.parallel(Coins(parts=3)):
        spend(part, 0.9)
    spend(second, 0.7)
    assert ledger.mu == pytest.approx(0.9)
    assert len(ledger.entries) == 4
    assert Ledger.from_json(ledger.to_json()).mu == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("relation", "stable", "fits"),
    [
        ("add-remove", {"removal"}, True),
        ("add-remove", {"replacement"}, False),
        ("replace", {"replacement"}, True),
        ("replace", {"removal"}, False),
        ("replace", {"removal", "replacement"}, True),
        ("empty-slot", {"emptying"}, True),
        ("empty-slot", {"removal", "replacement"}, False),
    ],
)
def test_parallel_only_where_parts_survive_what_the_relation_does(relation, stable, fits):
    ledger = Ledger(Budget.from_mu(1.0), relation=relation)
    partition = Coins(stable_under=frozenset(stable))
    if fits:
        assert len(ledger.parallel(partition)) == 2
    else:
        with pytest.raises(NotDisjointError, match="survive"):
            ledger.parallel(partition)


def test_parallel_checks_that_parts_are_disjoint():
    ledger = Ledger(Budget.from_mu(1.0))
    with pytest.raises(NotDisjointError, match="two parts"):
        ledger.parallel(Coins(honest=False))
    assert ledger.nodes == ()


@dataclass
class Slots:
    """Parts whose number is unbounded."""

    parts: int = 0
    stable_under: frozenset[str] = field(default_factory=lambda: frozenset({"emptying", "replacement"}))

    def assert_disjoint(self) -> str:
        return "batches of slots"


def stream_ledger(**aside):
    return Ledger(Budget.from_epsilon_delta(1.0, 1e-5, **aside), relation="empty-slot")


def test_finished_parts_merge_into_one_line_and_cost_the_most_expensive():
    ledger = stream_ledger()
    batches = ledger.open_ended(Slots(), name="batches")
    most = 0.0
    for mu in (0.1, 0.2, 0.15) * 5:
        part = batches.part()
        spend(part, mu / 2)
        spend(part, mu / 2)
        most = max(most, mu * math.sqrt(0.5))
        assert ledger.mu == pytest.approx(most)
        batches.finish()
        assert ledger.mu == pytest.approx(most)
        assert len(ledger.entries) == 1
    assert batches.finished == 15
    assert sum(entry.draws for entry in ledger.entries) == 30
    assert "15 finished batches (at most mu = 0.1414 each" in str(ledger)


def test_merging_many_parts_adds_no_rounding_error():
    ledger = stream_ledger()
    batches = ledger.open_ended(Slots(), name="batches")
    costs = set()
    for _ in range(2000):
        spend(batches.part(), ledger.budget.mu * 0.999)
        batches.finish()
        costs.add((ledger.mu, ledger.entries[0].scale))
    assert len(costs) == 1
    assert len(ledger.to_json()) < 2000


def test_an_open_part_is_limited_and_a_finished_one_cannot_be_charged():
    ledger = stream_ledger()
    mu = ledger.budget.mu
    batches = ledger.open_ended(Slots(), name="batches")
    first = batches.part()
    spend(first, mu)
    with pytest.raises(BudgetExceededError):
        spend(first, 0.01)
    second = batches.part()  # finishes the first
    assert batches.finished == 1
    with pytest.raises(InvalidInputError, match="too late"):
        spend(first, 0.001)
    spend(second, mu)
    assert ledger.mu == pytest.approx(mu)
    with pytest.raises(BudgetExceededError):
        spend(ledger, 0.01)


def test_what_is_charged_outside_counts_for_every_part():
    ledger = stream_ledger()
    mu = ledger.budget.mu
    batches = ledger.open_ended(Slots(), name="batches")
    spend(batches.part(), 0.6 * mu)
    batches.finish()
    spend(ledger, 0.8 * mu)
    assert ledger.mu == pytest.approx(mu)
    part = batches.part()
    with pytest.raises(BudgetExceededError):
        spend(part, 0.61 * mu)
    spend(part, 0.6 * mu)


def test_merging_keeps_non_gaussian_costs():
    ledger = stream_ledger(epsilon_aside=0.2, delta_aside=1e-6)
    batches = ledger.open_ended(Slots(), name="batches")
    for epsilon in (0.1, 0.2, 0.05):
        part = batches.part()
        spend(part, 0.05)
        part.charge_approximate("h", epsilon=epsilon, delta=1e-7, draws=None)
    batches.finish()
    kinds = {entry.kind: entry for entry in ledger.entries}
    assert kinds["approximate"].epsilon == 0.2
    assert kinds["approximate"].delta == 1e-7
    assert kinds["gaussian"].draws is None
    with pytest.raises(BudgetExceededError):
        batches.part().charge_approximate("h", epsilon=0.21)


def test_an_open_ended_group_continues_after_json():
    ledger = stream_ledger()
    mu = ledger.budget.mu
    batches = ledger.open_ended(Slots(), name="batches")
    spend(batches.part(), mu)
    batches.finish()
    spend(batches.part(), 0.9 * mu)  # open when it is written
    back = Ledger.from_json(ledger.to_json())
    assert back.to_json() == ledger.to_json()
    again = back.adopt().open_ended(Slots(), name="batches")
    assert again.finished == 1
    spend(again.part(), mu)
    again.finish()
    assert again.finished == 3
    assert [node for node in back.nodes if not isinstance(node, Entry)] == [again._group]
    assert back.mu == pytest.approx(mu)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_batches_by_slot_do_not_survive_a_removal(relation):
    ledger = Ledger(Budget.from_mu(1.0), relation=relation)
    if relation == "add-remove":
        with pytest.raises(NotDisjointError, match="survive"):
            ledger.open_ended(Slots(), name="batches")
    else:
        ledger.open_ended(Slots(), name="batches")


def test_an_entry_cannot_claim_less_than_its_noise_costs():
    ledger = Ledger(Budget.from_mu(1.0))
    with pytest.raises(InvalidInputError, match="cost more"):
        ledger.charge_gaussian("cheat", mu=0.1, sensitivity=1.0, scale=9.0)
    with pytest.raises(InvalidInputError, match="cost more"):
        ledger.charge_gaussian("cheat", mu=0.1, sensitivity=1.0, scale=10.0, releases=2)
    assert ledger.entries == ()


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 0), (-1, 0), (math.nan, 0), (math.inf, 0), (1, 1), (1, -1)])
def test_invalid_approximate_costs(epsilon, delta):
    with pytest.raises(InvalidInputError):
        Ledger(Budget.from_mu(1.0)).charge_approximate("x", epsilon=epsilon, delta=delta)


def test_declarations_cost_nothing_and_are_shown():
    ledger = Ledger(Budget.from_mu(1.0))
    ledger.declare("n declared public by the user")
    assert ledger.mu == 0
    assert "n declared public by the user" in str(ledger)


def test_not_private_is_shown_everywhere_and_kept():
    ledger = Ledger(Budget.from_mu(1.0))
    spend(ledger, 0.5)
    assert ledger.private
    assert "NOT" not in str(ledger)
    part, _ = ledger.parallel(Coins())
    part.mark_not_private("seeded")
    part.mark_not_private("seeded")
    assert not ledger.private
    assert ledger.reasons == part.reasons == ("seeded",)
    for shown in (str(ledger), repr(ledger), ledger._repr_html_(), str(part)):
        assert "NOT PRIVATE: seeded" in shown
    back = Ledger.from_json(ledger.to_json())
    assert not back.private
    assert back.reasons == ("seeded",)


def test_seeded_is_one_reason_among_others():
    ledger = Ledger(Budget.from_mu(1.0))
    ledger.mark_not_private("seeded by hand")
    assert not ledger.seeded
    part, _ = ledger.parallel(Coins())
    part.mark_not_private(SEEDED)
    assert ledger.seeded
    assert part.seeded
    assert Ledger.from_json(ledger.to_json()).seeded


def test_purposes_are_kept():
    ledger = Ledger(Budget.from_epsilon_delta(1, 1e-6, epsilon_aside=0.1, delta_aside=1e-7))
    ledger.charge_gaussian("n", mu=0.1, sensitivity=1.0, scale=10.0, purpose=Purpose.COUNT)
    ledger.charge_approximate("gap", epsilon=0.05, purpose=Purpose.TEST)
    ledger.declare("the axes", purpose=Purpose.MODEL)
    part, _ = ledger.parallel(Coins())
    part.declare("anything")
    purposes = [Purpose.COUNT, Purpose.TEST, Purpose.MODEL, Purpose.OTHER]
    for kept in (ledger, Ledger.from_json(ledger.to_json()), pickle.loads(pickle.dumps(ledger))):  # noqa: S301
        assert [entry.purpose for entry in kept.entries] == purposes
        assert all(type(entry.purpose) is Purpose for entry in kept.entries)
    assert [entry["purpose"] for entry in json.loads(ledger.to_json())["entries"][:3]] == [
        "count",
        "test",
        "model",
    ]


def test_unknown_purpose_is_refused():
    ledger = Ledger(Budget.from_mu(1.0))
    ledger.charge_gaussian("n", mu=0.1, sensitivity=1.0, scale=10.0, purpose=Purpose.COUNT)
    text = ledger.to_json().replace('"count"', '"counting"')
    with pytest.raises(InvalidInputError, match=r"purpose of an entry must be one of 'count', .*, got 'counting'"):
        Ledger.from_json(text)
    with pytest.raises(InvalidInputError, match="purpose"):
        ledger.declare("x", purpose="nothing")
    assert len(ledger.entries) == 1


def test_finished_parts_are_batches():
    ledger = stream_ledger(epsilon_aside=0.2, delta_aside=1e-6)
    batches = ledger.open_ended(Slots(), name="batches")
    part = batches.part()
    part.charge_gaussian("n", mu=0.1, sensitivity=1.0, scale=10.0, purpose=Purpose.COUNT)
    part.charge_approximate("gap", epsilon=0.05, purpose=Purpose.TEST)
    assert [entry.purpose for entry in ledger.entries] == [Purpose.COUNT, Purpose.TEST]
    batches.finish()
    assert [entry.purpose for entry in ledger.entries] == [Purpose.BATCHES] * 2


def test_json_round_trip_and_further_charges():
    ledger = Ledger(Budget.from_epsilon_delta(1, 1e-6, epsilon_aside=0.1, delta_aside=1e-7), relation="replace")
    spend(ledger, 0.1)
    ledger.charge_approximate("h", epsilon=0.1, delta=1e-8, draws=None, note="secret number of draws")
    for part in ledger.parallel(Coins(stable_under=frozenset({"replacement"}))):
        spend(part, 0.05)
    back = Ledger.from_json(ledger.to_json())
    assert back.to_json() == ledger.to_json()
    assert back.relation is Relation.REPLACE
    assert back.entries == ledger.entries
    assert back.remaining_mu == ledger.remaining_mu
    spend(back.adopt(), 0.01)
    with pytest.raises(BudgetExceededError):
        spend(back, 1.0)


@pytest.mark.ledger_is_wrong_on_purpose
@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda _: "[]",
        lambda _: "{}",
        lambda text: text.replace('"schema": 2', '"schema": 99'),
        lambda text: text.replace('"unit": null', '"unit": "row"'),
        lambda text: text.replace('"unit": null', '"unit": {"kind": "row"}'),
        lambda text: text.replace('"unit": null', '"unit": {"kind": "house", "by": null}'),
        lambda text: text.replace('"unit": null', '"unit": {"kind": "row", "by": "patient"}'),
        lambda text: text.replace('"unit": null', '"unit": {"kind": "person", "by": ""}'),
        lambda text: text.replace('"unit": null', '"unit": {"kind": "person", "by": 3}'),
        lambda text: text.replace('  "unit": null,\n', ""),
        lambda text: text.replace('"kind": "gaussian"', '"kind": "free"'),
        lambda text: text.replace('"mu": 0.5', '"mu": -0.5'),
        lambda text: text.replace('"mu": 0.5', '"mu": 5.0'),
        lambda text: text.replace('"mu": 0.5', '"mu": "0.5"'),
        lambda text: text.replace('"scale": 2.0', '"scale": 1.0'),
        lambda text: text.replace('"releases": 1', '"releases": 2'),
        lambda text: text.replace('"what"', '"surprise"'),
    ],
)
def test_damaged_json_is_refused(damage):
    ledger = Ledger(Budget.from_mu(1.0))
    spend(ledger, 0.5)
    with pytest.raises(InvalidInputError):
        Ledger.from_json(damage(ledger.to_json()))


def test_append_only():
    ledger = Ledger(Budget.from_mu(1.0))
    entry = spend(ledger, 0.5)
    assert isinstance(ledger.entries, tuple)
    with pytest.raises(AttributeError):
        entry.mu = 0.0
    with pytest.raises(AttributeError):
        ledger.entries = ()
    assert not any(name in dir(ledger) for name in ("remove", "pop", "clear", "refund"))


def test_html_escapes_and_table_lines_up():
    ledger = Ledger(Budget.from_mu(1.0))
    spend(ledger, 0.5, what="<script>")
    assert "<script>" not in ledger._repr_html_()
    assert "&lt;script&gt;" in ledger._repr_html_()
    head = str(ledger).splitlines()[1]
    assert head.split() == ["what", "cost", "sensitivity", "noise", "releases"]
    json.loads(ledger.to_json())


def test_entries_refuse_invalid_values():
    with pytest.raises(InvalidInputError):
        Entry(what="x", kind="free")
    with pytest.raises(InvalidInputError):
        Entry(what="x", kind="gaussian", mu=math.nan)


def test_threads_cannot_overspend():
    from concurrent.futures import ThreadPoolExecutor

    ledger = Ledger(Budget.from_mu(1.0))

    def one(_):
        try:
            spend(ledger, 0.1)
        except BudgetExceededError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(one, range(200))) == 100
    assert ledger.mu <= 1 + 1e-9


# -- copies ------------------------------------------------------------------------------------------


def unpickled(ledger):
    return pickle.loads(pickle.dumps(ledger))  # noqa: S301


def read_back(ledger):
    return Ledger.from_json(ledger.to_json())


CHARGES = {
    "gaussian": lambda ledger: spend(ledger, 0.1),
    "approximate": lambda ledger: ledger.charge_approximate("x", epsilon=0.1),
    "declared": lambda ledger: ledger.declare("x"),
    "part": lambda ledger: spend(ledger.parallel(Coins())[0], 0.1),
    "open-ended part": lambda ledger: spend(ledger.open_ended(Coins(), name="parts").part(), 0.1),
}


def some_ledger():
    ledger = Ledger(Budget.from_epsilon_delta(1.0, 1e-6, epsilon_aside=0.2, delta_aside=1e-7))
    spend(ledger, 0.05)
    return ledger


@pytest.mark.parametrize("charge", CHARGES.values(), ids=CHARGES)
@pytest.mark.parametrize("copied", [unpickled, read_back])
def test_a_copy_is_read_but_not_charged_unless_adopted(copied, charge):
    """mutant: `is_copy` false for what was pickled or read back."""
    ledger = some_ledger()
    there = copied(ledger)
    assert there.is_copy
    assert not ledger.is_copy
    assert (there.mu, there.epsilon(1e-6), str(there)) == (ledger.mu, ledger.epsilon(1e-6), str(ledger))
    before = there.mu, len(there.entries)
    with pytest.raises(InvalidInputError, match=r"copy.*\n.*n_jobs=1.*ledger of its own.*adopt"):
        charge(there)
    assert (there.mu, len(there.entries)) == before
    assert there.adopt() is there
    assert not there.is_copy
    charge(there)
    assert any("no other copy" in entry.what for entry in there.entries)
    assert copied(there).is_copy  # a copy of what was adopted is a copy again
    charge(ledger)  # nothing happened to the original


def test_the_original_has_nothing_to_adopt():
    ledger = some_ledger()
    before = ledger.to_json()
    assert ledger.adopt() is ledger
    assert ledger.to_json() == before


def test_parts_of_a_copied_ledger_are_copies():
    ledger = some_ledger()
    part, _ = ledger.parallel(Coins())
    there = unpickled(part)
    assert there.is_copy
    with pytest.raises(InvalidInputError, match="is a copy"):
        spend(there, 0.1)
    spend(there.adopt(), 0.1)
    assert there._root.mu > ledger.mu


def test_a_copy_can_still_be_marked_as_not_private():
    there = unpickled(some_ledger())
    there.mark_not_private("seeded")
    assert not there.private


@forking
@pytest.mark.parametrize("charge", CHARGES.values(), ids=CHARGES)
def test_a_fork_is_a_copy(charge):
    """mutant: `is_copy` without a look at the process."""
    ledger = some_ledger()
    part, _ = ledger.parallel(Coins())
    assert in_a_fork(lambda: charge(ledger)).startswith("InvalidInputError: this ledger is a copy")
    assert in_a_fork(lambda: spend(part, 0.01)).startswith("InvalidInputError: this ledger is a copy")
    assert in_a_fork(lambda: (ledger.is_copy, charge(ledger.adopt()) is not None)) == "(True, True)"
    charge(ledger)


@forking
def test_a_fork_with_the_number_of_its_parent_is_a_copy():
    """Found in a review: a child in a PID namespace of its own may have the number of its parent."""
    ledger, parent = some_ledger(), os.getpid()

    def numbered_like_the_parent():
        with pytest.MonkeyPatch.context() as patch:  # undone before the child ends, which it does by its number
            patch.setattr(os, "getpid", lambda: parent)
            with pytest.raises(InvalidInputError, match="this ledger is a copy"):
                spend(ledger, 0.01)
            return ledger.is_copy

    assert in_a_fork(numbered_like_the_parent) == "True"
    assert not ledger.is_copy


@forking
def test_a_fork_does_not_wait_for_a_lock_of_its_parent():
    ledger = some_ledger()
    with ledger._lock:
        assert "is a copy" in in_a_fork(lambda: spend(ledger, 0.01))
        assert in_a_fork(lambda: round(spend(ledger.adopt(), 0.01).mu, 3)) == "0.01"


def test_an_open_group_is_opened_once_and_not_copied():
    """A second one, or a copy, would open parts of its own: their costs would take the maximum, unseen."""
    ledger = stream_ledger()
    batches = ledger.open_ended(Slots(), name="batches")
    spend(batches.part(), 0.1)
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(InvalidInputError, match=r"not copied or pickled.*\nHint: TrackedStream.save"):
            copied(batches)
    with pytest.raises(NotDisjointError, match="already has an open group of batches"):
        ledger.open_ended(Slots(), name="batches")


def test_the_guarantee_is_the_budget_and_the_rest_is_spent():
    ledger = some_ledger()
    for shown in (repr(ledger), str(ledger), ledger._repr_html_()):
        assert "mu = 0.05 of 0.1914 and (0, 0) of (0.2, 1e-07) spent, add-remove" in shown
    assert ledger.budget.epsilon(1e-6) == pytest.approx(1.0)
    assert ledger.epsilon(1e-6) < 0.5


def test_a_watcher_can_be_limited_to_its_own_thread():
    """Fits in several threads on one ledger report only their own progress."""
    ledger, seen = Ledger(Budget.from_mu(1.0)), {"own": [], "all": []}

    def charge(name):
        ledger.charge_gaussian(name, mu=0.1, sensitivity=1.0, scale=10.0)

    with (
        ledger.watched(lambda entry: seen["own"].append(entry.what), own_thread=True),
        ledger.watched(lambda entry: seen["all"].append(entry.what)),
    ):
        charge("mine")
        thread = threading.Thread(target=charge, args=("another's",))
        thread.start()
        thread.join()
    charge("later")
    assert seen == {"own": ["mine"], "all": ["mine", "another's"]}


# -- interrupts ------------------------------------------------------------------------------------


def test_an_interrupt_within_a_charge_hides_no_cost():
    """The file of a ledger may have its entry; with a smaller total, later charges would exceed the budget."""
    ledger = Ledger(Budget.from_mu(1.0))

    class Interrupting(list):
        def append(self, entry):
            super().append(entry)
            raise KeyboardInterrupt

    ledger._nodes = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        spend(ledger, 0.9)
    assert ledger.mu == pytest.approx(0.9)
    with pytest.raises(BudgetExceededError):
        spend(ledger, 0.9)


def test_a_charge_within_a_charge_is_refused():
    """As by the handler of a signal: both would fit the budget, and together they would not."""
    ledger, refused = Ledger(Budget.from_mu(1.0)), []

    class Handling(list):
        def append(self, entry):
            with pytest.raises(InvalidInputError, match="this thread is charging this ledger already"):
                spend(ledger, 0.9)
            refused.append(entry)
            super().append(entry)

    ledger._nodes = Handling()
    spend(ledger, 0.9)
    assert len(refused) == 1
    assert [entry.mu for entry in ledger.entries] == [0.9]
    ledger._nodes = list(ledger._nodes)
    spend(ledger, 0.1)


def test_an_adoption_that_fails_leaves_a_copy():
    def full():
        raise OSError("No space left on device")

    ledger = Ledger(Budget.from_mu(1.0))
    ledger.keep_with(full)
    as_copy(ledger)
    with pytest.raises(OSError, match="No space"):
        ledger.adopt()
    assert ledger.is_copy


@given(
    st.floats(0.1, 10.0), st.floats(0.01, 0.9), st.floats(0.0, 2e-10), st.lists(st.floats(0.01, 1.0), min_size=1)
)
@settings(max_examples=300, deadline=None)
def test_a_run_that_the_ledger_can_afford_can_spend_all_of_it(total, before, excess, weights):
    """Found in a review: the check before a run had another tolerance than its charges."""
    ledger = Ledger(Budget.from_mu(total))
    spend(ledger, total * before)
    run = Budget.from_mu(ledger.remaining_mu * (1 + excess))
    assert ledger.can_afford(run) or excess > 2e-11
    if ledger.can_afford(run):
        for share in run.split(*weights):
            spend(ledger, share)


def test_what_is_set_aside_must_be_affordable_too():
    ledger = Ledger(Budget(mu=1.0, epsilon_aside=0.5, delta_aside=1e-6))
    assert ledger.can_afford(Budget(mu=1.0, epsilon_aside=0.5, delta_aside=1e-6))
    for more in ({"epsilon_aside": 0.6}, {"delta_aside": 2e-6}, {"mu": 1.1}):
        assert not ledger.can_afford(Budget(**{"mu": 0.1, **more}))
    first, second = ledger.parallel(Coins())
    spend(first, 1.0)
    assert not first.can_afford(Budget.from_mu(0.1))
    assert second.can_afford(Budget.from_mu(1.0))  # the parts are parallel
