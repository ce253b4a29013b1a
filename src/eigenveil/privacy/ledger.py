"""The ledger: an account of spent privacy budget, charged before noise is drawn."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from eigenveil.errors import InvalidInputError, NotDisjointError
from eigenveil.privacy import ledger_text
from eigenveil.privacy.budget import Budget, delta_of, epsilon_of
from eigenveil.privacy.entries import Cost, DisjointParts, Entry, Parallel, Purpose, sequential_cost
from eigenveil.privacy.gaussian import check_mu
from eigenveil.privacy.open_ended import OpenEndedGroup
from eigenveil.privacy.relation import Relation
from eigenveil.privacy.unit import AboutOneUnit

SEEDED = "seeded: noise comes from an injected source of bytes"
"""The reason why a ledger is not private if its noise can be reproduced."""

_SLACK = 1e-10
"""Shares may exceed the budget by rounding errors of this relative size; `Budget` holds back ten times as much."""


class Ledger(AboutOneUnit):
    """An append-only account of all releases, which refuses every charge that would exceed the budget.

    Parameters
    ----------
    budget : Budget
        Privacy budget of the whole run.
    relation : Relation or str
        Neighbouring relation. Every sensitivity in the ledger refers to it.

    Formal guarantees
    -----------------
    *The guarantee is the budget.* Everything that is ever charged, even with shares chosen adaptively during the
    run, is together (`budget.epsilon(delta)`, delta)-DP for every delta. The ledger is a privacy filter, proven in
    `Budget`. A charge that does not fit raises `BudgetExceededError` before anything is written, and thus before
    anything is drawn. Costs add up in sequence (mu^2 for Gaussian entries, epsilon and delta for all others).
    Parallel parts cost the maximum over the parts.

    *One unit.* `unit` says whom the account protects, from its first run on. A run about another unit is refused
    (`bind`) before anything is charged, since the costs of rows and of people do not add up to a guarantee for
    either. Charges that were made by hand before the first run count for its unit.

    *The spent budget* (`mu`, `epsilon`, `delta`) is bookkeeping: it says how much of the budget is used up. Where
    it depends on releases, it is not a guarantee of its own, since a filter guarantees its fixed total and not its
    running sum.

    *Copies.* Two copies of one account would each accept charges up to the whole budget. Therefore `copy`,
    `deepcopy` and scikit-learn's `clone` return the ledger itself. A ledger that was pickled, read from JSON, or
    carried into another process by a fork is a copy (`is_copy`). A copy can be read. It refuses every charge,
    until `adopt` declares that no other copy is charged any more.

    Examples
    --------
    >>> budget = Budget.from_epsilon_delta(1.0, 1e-6)
    >>> ledger = Ledger(budget, relation="add-remove")
    >>> entry = ledger.charge_gaussian("count", mu=0.1, sensitivity=1.0, scale=10.0)
    >>> round(ledger.mu, 6), ledger.private
    (0.1, True)
    >>> ledger.charge_gaussian("far too much", mu=3.0, sensitivity=1.0, scale=1 / 3)
    Traceback (most recent call last):
    ...
    eigenveil.errors.BudgetExceededError: "far too much" asks for mu = 3, but 0.214544 of 0.236704 is left.
    Hint: Nothing was drawn. Ask for less, release fewer results, or start with a larger budget.
    >>> round(budget.epsilon(1e-6), 6), round(ledger.epsilon(1e-6), 1)  # the guarantee; the spent budget
    (1.0, 0.4)
    """

    def __init__(self, budget: Budget, *, relation: Relation | str = Relation.ADD_REMOVE) -> None:
        self.budget = budget
        self.relation = Relation(relation)
        self._unit = None
        self._nodes: list[Entry | Parallel] = []
        self._cost = Cost()
        self._not_private: list[str] = []
        self._parent = None
        self._group: Parallel | None = None
        self._index = 0
        self._finished = False
        self._watchers = []
        self._keepers = []
        self._opened = []
        self._own()

    # -- spending --------------------------------------------------------------------------------

    def charge_gaussian(
        self,
        what: str,
        *,
        mu: float,
        sensitivity: float,
        scale: float,
        releases: int = 1,
        draws: int = 1,
        note: str = "",
        purpose: Purpose = Purpose.OTHER,
    ) -> Entry:
        """Charge for `releases` Gaussian releases of L2 `sensitivity` and noise `scale`, together mu-GDP."""
        check_mu(mu)
        entry = Entry(
            what=what,
            kind="gaussian",
            mu=float(mu),
            sensitivity=float(sensitivity),
            scale=float(scale),
            releases=releases,
            draws=draws,
            note=note,
            purpose=purpose,
        )
        return self._append(entry)

    def charge_approximate(
        self,
        what: str,
        *,
        epsilon: float,
        delta: float = 0.0,
        sensitivity: float | None = None,
        scale: float | None = None,
        releases: int = 1,
        draws: int | None = 1,
        note: str = "",
        purpose: Purpose = Purpose.OTHER,
    ) -> Entry:
        """Charge for a release that is (epsilon, delta)-DP but not Gaussian, from the part set aside."""
        if not (math.isfinite(epsilon) and epsilon >= 0 and 0 <= delta < 1 and epsilon + delta > 0):
            raise InvalidInputError(
                f'the cost of "{what}" must be a finite epsilon >= 0 and a delta in [0, 1), not both 0; '
                f"got ({epsilon!r}, {delta!r})."
            )
        entry = Entry(
            what=what,
            kind="approximate",
            epsilon=float(epsilon),
            delta=float(delta),
            sensitivity=sensitivity,
            scale=scale,
            releases=releases,
            draws=draws,
            note=note,
            purpose=purpose,
        )
        return self._append(entry)

    def declare(self, what: str, *, note: str = "", purpose: Purpose = Purpose.OTHER) -> Entry:
        """Record what the user declares to be public, or what the relation makes public. It costs nothing."""
        return self._append(Entry(what=what, kind="declared", note=note, purpose=purpose))

    def mark_not_private(self, reason: str) -> None:
        """Mark the ledger permanently as not private; every display and file of the ledger reports it."""
        root = self._root
        with root._lock:
            if reason not in root._not_private:
                root._not_private.append(reason)
        for keep in tuple(root._keepers):  # each time, since the last one may have failed
            keep()

    def parallel(self, partition: DisjointParts) -> tuple[Ledger, ...]:
        """Return one ledger for each part of `partition`, which guarantees that its parts are disjoint.

        The group costs as much as its most expensive part. Raises `NotDisjointError` if the removal (or
        replacement, depending on the relation) of a unit could move this unit or others to another part.
        """
        self.refuse_copy()
        self._refuse_unstable(partition)
        group = Parallel(how=partition.assert_disjoint(), parts=tuple([] for _ in range(partition.parts)))
        group.costs = [Cost()] * partition.parts
        with self._root._lock:
            self._nodes.append(group)
        return tuple(self._child(group, index) for index in range(partition.parts))

    def open_ended(self, partition: DisjointParts, *, name: str) -> OpenEndedGroup:
        """Return a group of parallel parts whose number is unbounded, with at most one part open at a time.

        Finished parts are merged into one line. On a ledger that was read from JSON, the group found there is
        continued. A group can be opened only once, because the parts of two streams are not parallel to each
        other. `name` is the name of the parts, in the plural.
        """
        self.refuse_copy()
        self._refuse_unstable(partition)
        how = partition.assert_disjoint()
        with self._root._lock:
            groups = [node for node in self._nodes if isinstance(node, Parallel) and node.finished is not None]
            group = next((group for group in groups if group.how == how), None)
            if group is None:
                group = Parallel(how, ([], []), [Cost(), Cost()], finished=0)
                self._nodes.append(group)
            elif any(group is other for other in self._opened):
                raise NotDisjointError(
                    f"this ledger already has an open group of {name}, and one unit can be in both groups.",
                    hint="Give every stream a ledger of its own.",
                )
            self._opened.append(group)
        return OpenEndedGroup(self, group, name)

    def keep_with(self, keep: Callable[[], None]) -> None:
        """From now on, call `keep` after every entry and every mark, also of parts, before noise is drawn.

        If it raises an error, nothing is drawn. It is never removed, so that no charge can miss it.
        """
        self._root._keepers.append(keep)

    @contextmanager
    def watched(self, watcher: Callable[[Entry], None], *, own_thread: bool = False) -> Iterator[None]:
        """While the context is open, call `watcher` with every entry, also of parts, right after it is written.

        With `own_thread`, only entries of this thread are reported. This is for several fits that charge one
        ledger at the same time.
        """
        here, report = threading.get_ident(), watcher
        if own_thread:

            def watcher(entry: Entry) -> None:
                if threading.get_ident() == here:
                    report(entry)

        self._root._watchers.append(watcher)
        try:
            yield
        finally:
            self._root._watchers.remove(watcher)

    # -- totals ----------------------------------------------------------------------------------

    @property
    def cost(self) -> Cost:
        """The spent budget: the cost of all entries and groups."""
        return self._cost

    @property
    def mu(self) -> float:
        """The spent part of `budget.mu`: sqrt(sum of mu_j^2) over the Gaussian entries."""
        return math.sqrt(self._cost.mu_squared)

    @property
    def remaining_mu(self) -> float:
        """The largest mu that one more Gaussian release may cost here."""
        return math.sqrt(max(0.0, self.budget.mu**2 - self._cost_of_own_units().mu_squared))

    @property
    def remaining_aside(self) -> tuple[float, float]:
        """The remaining part of the (epsilon, delta) set aside for releases that are not Gaussian."""
        total = self._cost_of_own_units()
        return (
            max(0.0, self.budget.epsilon_aside - total.epsilon),
            max(0.0, self.budget.delta_aside - total.delta),
        )

    def can_afford(self, budget: Budget) -> bool:
        """Return whether a run that spends all of `budget` here would not be refused.

        Only half of the tolerance counts, so that the other half is left for the rounding errors of its shares.
        """
        cost = Cost(budget.mu**2, budget.epsilon_aside, budget.delta_aside)
        return self._fits(self._cost_of_own_units() + cost, slack=_SLACK / 2)

    def delta(self, epsilon: float) -> float:
        """Return the spent budget as a delta at this epsilon. The guarantee is ``budget.delta(epsilon)``."""
        return delta_of(self.mu, self._cost.epsilon, self._cost.delta, epsilon)

    def epsilon(self, delta: float) -> float:
        """Return the spent budget as an epsilon at this delta. The guarantee is ``budget.epsilon(delta)``."""
        return epsilon_of(self.mu, self._cost.epsilon, self._cost.delta, delta)

    @property
    def private(self) -> bool:
        """Whether the guarantee holds; if not, `reasons` says why."""
        return not self.reasons

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the guarantee does not hold; empty if it does."""
        return tuple(self._root._not_private)

    @property
    def seeded(self) -> bool:
        """Whether noise was drawn from an injected source of bytes, so that no guarantee holds."""
        return SEEDED in self.reasons

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries in the order in which they were written, with parallel parts one after the other."""
        return tuple(entry for node in self._nodes for _, entry in node.walk())

    @property
    def nodes(self) -> tuple[Entry | Parallel, ...]:
        """The entries and the groups of parallel parts at the top level."""
        return tuple(self._nodes)

    # -- text and JSON ---------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<Ledger {ledger_text.verdict(self)}>"

    def __str__(self) -> str:
        return ledger_text.as_text(self)

    def _repr_html_(self) -> str:
        return ledger_text.as_html(self)

    def to_json(self) -> str:
        """Return everything in the ledger as JSON; `from_json` reads it back."""
        return ledger_text.as_json(self)

    @classmethod
    def from_json(cls, text: str) -> Ledger:
        """Return a copy of the ledger that `to_json` wrote; `adopt` makes the copy the account."""
        content = ledger_text.read_json(text)
        ledger = cls(content.budget, relation=content.relation)
        ledger._unit, ledger._nodes, ledger._not_private = content.unit, content.nodes, content.reasons
        ledger._cost = sequential_cost(content.nodes)
        if not ledger._fits(ledger._cost):
            raise InvalidInputError("the entries of this ledger exceed its own budget.")
        ledger._disown()
        return ledger

    # -- internals -------------------------------------------------------------------------------

    def _refuse_unstable(self, partition: DisjointParts) -> None:
        if self.relation.part_must_survive not in partition.stable_under:
            raise NotDisjointError(
                f"parallel composition under {self.relation.value} needs parts that survive the "
                f"{self.relation.part_must_survive} of a unit; these parts survive "
                f"{sorted(partition.stable_under) or 'nothing'}.",
                hint="Parts by position survive replacement. Parts by each unit's own coin survive removal.",
            )

    def _child(self, group: Parallel, index: int) -> Ledger:
        child = Ledger(self.budget, relation=self.relation)
        child._parent, child._group, child._index = self, group, index
        child._nodes = group.parts[index]
        return child

    def _append(self, entry: Entry) -> Entry:
        self.refuse_copy()
        with self._root._charging_once():
            if self._finished:
                raise InvalidInputError(
                    f'"{entry.what}" was charged too late: this part is finished; nothing was drawn.'
                )
            if not self._fits(self._cost_of_own_units() + entry.cost):
                raise ledger_text.overspending(self, entry)
            self._spend(self._cost + entry.cost)  # first, so that an interrupt hides no cost
            self._nodes.append(entry)
        for keep in tuple(self._root._keepers):
            keep()
        for watcher in tuple(self._root._watchers):
            watcher(entry)
        return entry

    def _cost_of_own_units(self) -> Cost:
        """Return the cost so far for a unit of this part: of the part and all levels above, without its siblings.

        A charge fits the whole budget if and only if it fits here, since the charges of every sibling passed the
        same check.
        """
        total, ledger = self._cost, self
        while ledger._parent is not None:
            others = (node.cost for node in ledger._parent._nodes if node is not ledger._group)
            total, ledger = sum(others, start=total), ledger._parent
        return total

    def _spend(self, cost: Cost) -> None:
        """Set the cost of this ledger, and update all levels above."""
        self._cost = cost
        if self._parent is not None and self._group is not None:
            self._group.costs[self._index] = cost
            self._parent._spend(sequential_cost(self._parent._nodes))

    def _fits(self, total: Cost, *, slack: float = _SLACK) -> bool:
        return (
            total.mu_squared <= self.budget.mu**2 * (1 + slack)
            and total.epsilon <= self.budget.epsilon_aside * (1 + slack)
            and total.delta <= self.budget.delta_aside * (1 + slack)
        )


def as_account(ledger: Ledger) -> Ledger:
    """Make `ledger`, read from a file, the account and not a copy, without a declaration.

    Call this only if no other copy can be charged: for a file that is read under a lock, or for a checkpoint that
    one stream holds. In all other cases, use `Ledger.adopt`, which writes the declaration to the ledger.
    """
    ledger._own()
    return ledger


def as_copy(ledger: Ledger) -> None:
    """Make `ledger` a copy, the opposite of `as_account`: for one whose file is closed."""
    ledger._disown()
