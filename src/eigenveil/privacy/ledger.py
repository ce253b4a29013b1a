"""The ledger: what was spent, on what, under which relation; written before noise is drawn."""

from __future__ import annotations

import html
import json
import math
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Self

from eigenveil.errors import BudgetExceededError, InvalidInputError, NotDisjointError
from eigenveil.privacy.budget import Budget, delta_of, epsilon_of
from eigenveil.privacy.entries import Cost, Entry, Parallel, Partition, Purpose, folded
from eigenveil.privacy.gaussian import check_mu
from eigenveil.privacy.relation import Relation
from eigenveil.privacy.uncopied import Uncopied

_SCHEMA = 1
_NOBODY = 0
"""No process has this number: the owner of a copy."""
_ADOPTED = "no other copy of this ledger is charged from here on"
SEEDED = "seeded: noise comes from an injected source of bytes"
"""Why a ledger is not private whose noise can be drawn again."""
_SLACK = 1 + 1e-10
"""Shares of the whole may add up to it but for last bits; `Budget` keeps ten times this in hand."""


class Ledger:
    """An append-only account of everything released, and a filter that never lets it pass the total.

    Parameters
    ----------
    budget : Budget
        The total.
    relation : Relation or str
        What neighbours are; every sensitivity in the ledger is meant under it.

    Formal guarantees
    -----------------
    *The guarantee is the budget.* Everything that is ever charged, with shares chosen as the run goes, is
    (`budget.epsilon(delta)`, delta)-DP for every delta: a privacy filter, proven in `Budget`. A charge that does
    not fit raises `BudgetExceededError` before anything is written, and thus before anything is drawn. Costs add
    up in sequence (mu^2 for Gaussian entries, epsilon and delta for the others) and take the maximum over parallel
    parts.

    *What was spent* (`mu`, `epsilon`, `delta`) is bookkeeping: how far the budget is used up. Where it depends on
    releases it is no guarantee of its own, since a filter promises its fixed total and not its running sum.

    *Copies.* Two copies of an account would each let the whole total pass, so `copy`, `deepcopy` and `clone` of
    scikit-learn return the ledger itself. A ledger that was pickled, read from JSON, or carried into another
    process by a fork is a copy (`is_copy`): it can be read, and every charge is refused, until `adopt` declares
    that no other copy is charged any more.

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
    Hint: Nothing was drawn. Ask for less, release fewer things, or start with a larger budget.
    >>> round(budget.epsilon(1e-6), 6), round(ledger.epsilon(1e-6), 1)  # the guarantee; what was spent so far
    (1.0, 0.4)
    """

    def __init__(self, budget: Budget, *, relation: Relation | str = Relation.ADD_REMOVE) -> None:
        self.budget = budget
        self.relation = Relation(relation)
        self._nodes: list[Entry | Parallel] = []
        self._cost = Cost()
        self._not_private: list[str] = []
        self._parent: Ledger | None = None
        self._group: Parallel | None = None
        self._index = 0
        self._finished = False
        self._watchers: list[Callable[[Entry], None]] = []
        self._endless: list[Parallel] = []
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
        """Pay for `releases` Gaussian releases of L2 `sensitivity` and noise `scale`, mu-GDP together."""
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
        """Pay for a release that is (epsilon, delta)-DP and not Gaussian, from the part set aside."""
        if not (math.isfinite(epsilon) and epsilon >= 0 and 0 <= delta < 1 and epsilon + delta > 0):
            raise InvalidInputError(
                f'"{what}" must cost a finite epsilon >= 0 and delta in [0, 1), not both 0; '
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
        """Write down what the user states to be public, or what the relation makes public."""
        return self._append(Entry(what=what, kind="declared", note=note, purpose=purpose))

    def mark_not_private(self, reason: str) -> None:
        """Say, for ever and wherever the ledger is shown, that the guarantee does not hold."""
        root = self._root
        with root._lock:
            if reason not in root._not_private:
                root._not_private.append(reason)

    def parallel(self, partition: Partition) -> tuple[Ledger, ...]:
        """One ledger a part, for parts that `partition` vouches to be disjoint.

        The group costs what its dearest part costs. Raises `NotDisjointError` where a unit that is
        removed (or replaced, as the relation says) could move others, or itself, to another part.
        """
        self.refuse_copy()
        self._refuse_unstable(partition)
        group = Parallel(how=partition.assert_disjoint(), parts=tuple([] for _ in range(partition.parts)))
        group.costs = [Cost()] * partition.parts
        with self._root._lock:
            self._nodes.append(group)
        return tuple(self._child(group, index) for index in range(partition.parts))

    def endless(self, partition: Partition, *, name: str) -> Endless:
        """Parallel parts of which there may come ever more, one open at a time; finished ones fold into one line.

        On a ledger read back from JSON it goes on with the group it finds there. A group is opened once: the parts
        of two streams are not parallel to each other. `name` says what the parts are called, in the plural.
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
            elif any(group is other for other in self._endless):
                raise NotDisjointError(
                    f"this ledger has an open group of {name} already, and one unit can be in both.",
                    hint="Give every stream a ledger of its own.",
                )
            self._endless.append(group)
        return Endless(self, group, name)

    @contextmanager
    def watched(self, watcher: Callable[[Entry], None], *, own_thread: bool = False) -> Iterator[None]:
        """Within it, `watcher` is called with every entry, of parts too, right after it was written.

        `own_thread`: only with entries of this thread, as where several fits charge one ledger at a time.
        """
        here, told = threading.get_ident(), watcher
        if own_thread:

            def watcher(entry: Entry) -> None:
                if threading.get_ident() == here:
                    told(entry)

        self._root._watchers.append(watcher)
        try:
            yield
        finally:
            self._root._watchers.remove(watcher)

    # -- what it comes to ------------------------------------------------------------------------

    @property
    def mu(self) -> float:
        """What was spent of `budget.mu`: sqrt(sum of mu_j^2) over the Gaussian entries."""
        return math.sqrt(self._cost.mu_squared)

    @property
    def remaining_mu(self) -> float:
        """The largest mu that one more Gaussian release here may cost."""
        return math.sqrt(max(0.0, self.budget.mu**2 - self._met().mu_squared))

    @property
    def remaining_aside(self) -> tuple[float, float]:
        """What is left of the (epsilon, delta) set aside for releases that are not Gaussian."""
        total = self._met()
        return (
            max(0.0, self.budget.epsilon_aside - total.epsilon),
            max(0.0, self.budget.delta_aside - total.delta),
        )

    def delta(self, epsilon: float) -> float:
        """What was spent so far, as the delta at this epsilon. The guarantee is ``budget.delta(epsilon)``."""
        return delta_of(self.mu, self._cost.epsilon, self._cost.delta, epsilon)

    def epsilon(self, delta: float) -> float:
        """What was spent so far, as the epsilon at this delta. The guarantee is ``budget.epsilon(delta)``."""
        return epsilon_of(self.mu, self._cost.epsilon, self._cost.delta, delta)

    @property
    def private(self) -> bool:
        """Whether the guarantee holds; `reasons` says why not."""
        return not self.reasons

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the guarantee does not hold; empty if it does."""
        return tuple(self._root._not_private)

    @property
    def seeded(self) -> bool:
        """Whether noise was drawn from an injected source, so that there is no guarantee to lose."""
        return SEEDED in self.reasons

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries in the order they were written, parallel parts one after another."""
        return tuple(entry for _, entry in self._walk())

    @property
    def nodes(self) -> tuple[Entry | Parallel, ...]:
        """The entries and groups of parallel parts at the top."""
        return tuple(self._nodes)

    # -- copies ----------------------------------------------------------------------------------

    @property
    def is_copy(self) -> bool:
        """Whether another ledger of the same account may be charged elsewhere, so that this one is not."""
        root = self._root
        return root._owner != os.getpid()

    def adopt(self) -> Self:
        """Declare that from now on this copy alone is charged: neither the original nor another copy of it is.

        It can then be charged here. The ledger says that this was declared, since its guarantee rests on it.
        Where nothing was copied, nothing changes.

        Examples
        --------
        >>> import pickle
        >>> ledger = Ledger(Budget.from_mu(1.0))
        >>> there = pickle.loads(pickle.dumps(ledger))
        >>> there.is_copy, there.adopt().is_copy, [entry.what for entry in there.entries]
        (True, False, ['no other copy of this ledger is charged from here on'])
        """
        root = self._root
        if root.is_copy:
            root._own()
            root.declare(_ADOPTED, note="declared by the caller")
        return self

    def refuse_copy(self) -> None:
        """Raise unless this is the account itself: what every charge and every draw begins with."""
        if self.is_copy:
            raise InvalidInputError(
                "this ledger is a copy (it was pickled, read back, or carried into another process), and charging "
                "it would spend what the original does not show; nothing was drawn.",
                hint="With n_jobs, use n_jobs=1 or threads (joblib.parallel_config(backend='threading')); or give "
                "every fit a ledger of its own and add up their costs. If neither the original nor another copy "
                "is charged any more, ledger.adopt() makes this one the account.",
            )

    def __sklearn_clone__(self) -> Self:
        return self

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __getstate__(self) -> dict[str, Any]:
        here = ("_lock", "_owner", "_watchers", "_endless")
        return {name: value for name, value in vars(self).items() if name not in here}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _owner=_NOBODY, _lock=threading.RLock(), _watchers=[], _endless=[])

    # -- showing and keeping ---------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<Ledger {self._verdict()}>"

    def __str__(self) -> str:
        rows = [_HEAD, *self._rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(_HEAD))]
        lines = [
            "  ".join(
                cell.ljust(width) if i == 0 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        lines.insert(1, "-" * max(map(len, lines)))
        return "\n".join([self._verdict(), *lines])

    def _repr_html_(self) -> str:
        def row(cells: tuple[str, ...], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(row(cells, "td") for cells in self._rows())
        return (
            f"<div class='eigenveil-ledger'><p><b>{html.escape(self._verdict())}</b></p>"
            f"<table><thead>{row(_HEAD, 'th')}</thead><tbody>{body}</tbody></table></div>"
        )

    def to_json(self) -> str:
        """Everything in the ledger as JSON; `from_json` reads it back."""
        return json.dumps(
            {
                "schema": _SCHEMA,
                "relation": self.relation.value,
                "budget": asdict(self.budget),
                "private": self.private,
                "not_private_because": list(self.reasons),
                "entries": [_to_plain(node) for node in self._nodes],
            },
            indent=2,
        )

    @classmethod
    def from_json(cls, text: str) -> Ledger:
        """A copy of the ledger that `to_json` wrote; `adopt` makes it the account."""
        try:
            plain = json.loads(text)
            if plain["schema"] != _SCHEMA:
                raise InvalidInputError(
                    f"expected a ledger of schema {_SCHEMA}, got schema {plain['schema']!r}.",
                    hint="Read it with the version of eigenveil that wrote it.",
                )
            ledger = cls(Budget(**plain["budget"]), relation=plain["relation"])
            ledger._nodes = [_from_plain(node) for node in plain["entries"]]
            ledger._cost = _sequence(ledger._nodes)
            ledger._not_private = [str(reason) for reason in plain["not_private_because"]]
        except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as error:
            raise InvalidInputError(
                "this is not a ledger written by `Ledger.to_json`.",
                hint="The file may be cut off, or something else.",
            ) from error
        if not ledger._fits(ledger._cost):
            raise InvalidInputError("the entries of this ledger come to more than its own budget.")
        ledger._owner = _NOBODY
        return ledger

    # -- inside ----------------------------------------------------------------------------------

    @property
    def _root(self) -> Ledger:
        return self if self._parent is None else self._parent._root

    def _own(self) -> None:
        """Make this the account, of this process; a lock that came through a fork may be held by nobody."""
        self._owner = os.getpid()
        self._lock = threading.RLock()

    def _refuse_unstable(self, partition: Partition) -> None:
        if self.relation.part_must_survive not in partition.stable_under:
            raise NotDisjointError(
                f"parallel composition under {self.relation.value} needs parts that survive the "
                f"{self.relation.part_must_survive} of a unit; these survive "
                f"{sorted(partition.stable_under) or 'nothing'}.",
                hint="Parts by position survive replacement, parts by each unit's own coin survive removal.",
            )

    def _child(self, group: Parallel, index: int) -> Ledger:
        child = Ledger(self.budget, relation=self.relation)
        child._parent, child._group, child._index = self, group, index
        child._nodes = group.parts[index]
        return child

    def _append(self, entry: Entry) -> Entry:
        self.refuse_copy()
        with self._root._lock:
            if self._finished:
                raise InvalidInputError(
                    f'"{entry.what}" comes too late: this part is finished; nothing was drawn.'
                )
            if not self._fits(self._met() + entry.cost):
                self._refuse(entry)
            self._nodes.append(entry)
            self._spend(self._cost + entry.cost)
        for watcher in tuple(self._root._watchers):
            watcher(entry)
        return entry

    def _met(self) -> Cost:
        """What a unit of this part has met so far: the part and all above it, without its siblings.

        A charge fits the whole if and only if it fits here, since every sibling was let in the same way.
        """
        met, ledger = self._cost, self
        while ledger._parent is not None:
            others = (node.cost for node in ledger._parent._nodes if node is not ledger._group)
            met, ledger = sum(others, start=met), ledger._parent
        return met

    def _spend(self, mine: Cost) -> None:
        self._cost = mine
        if self._parent is not None and self._group is not None:
            self._group.costs[self._index] = mine
            self._parent._spend(_sequence(self._parent._nodes))

    def _fits(self, total: Cost) -> bool:
        return (
            total.mu_squared <= self.budget.mu**2 * _SLACK
            and total.epsilon <= self.budget.epsilon_aside * _SLACK
            and total.delta <= self.budget.delta_aside * _SLACK
        )

    def _refuse(self, entry: Entry) -> None:
        hint = "Nothing was drawn. Ask for less, release fewer things, or start with a larger budget."
        if entry.kind == "gaussian":
            raise BudgetExceededError(
                f'"{entry.what}" asks for mu = {entry.mu:g}, '
                f"but {self.remaining_mu:g} of {self.budget.mu:g} is left.",
                hint=hint,
            )
        epsilon, delta = self.remaining_aside
        raise BudgetExceededError(
            f'"{entry.what}" asks for ({entry.epsilon:g}, {entry.delta:g}), but ({epsilon:g}, {delta:g}) '
            f"of the ({self.budget.epsilon_aside:g}, {self.budget.delta_aside:g}) set aside is left.",
            hint=hint + " Releases without Gaussian noise are paid from epsilon_aside and delta_aside.",
        )

    def _walk(self) -> Iterator[tuple[int, Entry]]:
        for node in self._nodes:
            yield from node.walk()

    def _verdict(self) -> str:
        spent = f"mu = {self.mu:.4g} of {self.budget.mu:.4g}"
        if self.budget.epsilon_aside or self.budget.delta_aside:
            spent += f" and ({self._cost.epsilon:.4g}, {self._cost.delta:.4g})"
            spent += f" of ({self.budget.epsilon_aside:.4g}, {self.budget.delta_aside:.4g})"
        spent += f" spent, {self.relation.value}"
        return spent if self.private else f"NOT PRIVATE: {'; '.join(self.reasons)} ({spent})"

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for depth, entry in self._walk():
            label = "  " * depth + entry.what + (f" ({entry.note})" if entry.note else "")
            if entry.kind == "gaussian":
                cost = f"mu {entry.mu:.4g}"
            elif entry.kind == "approximate":
                cost = f"({entry.epsilon:.4g}, {entry.delta:.4g})"
            else:
                cost = "declared"
            yield (
                label,
                cost,
                "" if entry.sensitivity is None else f"{entry.sensitivity:.4g}",
                "" if entry.scale is None else f"{entry.scale:.4g}",
                f"{entry.releases}" if entry.releases else "",
            )


class Endless(Uncopied):
    """A group of parallel parts without end; `Ledger.endless` makes it.

    Formal guarantees
    -----------------
    The group costs the maximum over all its parts, finished and open, at every moment. A part can be charged until
    it is finished, and a finished part only matters by its cost, so one line with the dearest one's cost stands
    for all of them.
    """

    _uncopied = "an open group of parallel parts", "a copy would open parts that the ledger does not see"
    _instead = "TrackedStream.save writes a checkpoint, and TrackedStream.load goes on with it."

    def __init__(self, ledger: Ledger, group: Parallel, name: str) -> None:
        self._ledger, self._group, self._name = ledger, group, name
        self._open: Ledger | None = None

    @property
    def finished(self) -> int:
        """How many parts are finished."""
        return self._group.finished or 0

    def part(self) -> Ledger:
        """The next part; the one before it, if still open, is finished by this."""
        with self._ledger._root._lock:
            self.finish()
            self._open = self._ledger._child(self._group, 1)
        return self._open

    def finish(self) -> None:
        """Close the open part, if there is one, and fold it into the finished ones."""
        group = self._group
        with self._ledger._root._lock:
            if self._open is None and not group.parts[1]:
                return
            if self._open is not None:
                self._open._nodes, self._open._finished = list(group.parts[1]), True
            group.finished = self.finished + 1
            group.parts[0][:] = folded(group, self._name)
            group.parts[1].clear()
            group.costs[:] = [_sequence(group.parts[0]), Cost()]
            self._open = None
            self._ledger._spend(_sequence(self._ledger._nodes))


_HEAD = ("what", "cost", "sensitivity", "noise", "releases")


def _sequence(nodes: list[Entry | Parallel]) -> Cost:
    return sum((node.cost for node in nodes), start=Cost())


def _to_plain(node: Entry | Parallel) -> dict[str, Any]:
    if isinstance(node, Entry):
        return asdict(node)
    plain = {"parallel": node.how, "parts": [[_to_plain(child) for child in part] for part in node.parts]}
    return plain if node.finished is None else {**plain, "finished": node.finished}


def _from_plain(plain: dict[str, Any]) -> Entry | Parallel:
    if "parallel" not in plain:
        return Entry(**plain)
    parts = tuple([_from_plain(child) for child in part] for part in plain["parts"])
    finished = None if "finished" not in plain else int(plain["finished"])
    return Parallel(str(plain["parallel"]), parts, [_sequence(part) for part in parts], finished)


def as_account(ledger: Ledger) -> Ledger:
    """The ledger of a file that is read under a lock, or of a checkpoint that one stream holds: not a copy.

    Only for who has made sure that no other copy is charged; everybody else has `Ledger.adopt`, which declares it.
    """
    ledger._own()
    return ledger
