"""Parallel parts whose number is not known in advance, such as the batches of a stream."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from eigenveil.privacy.entries import Cost, Entry, Parallel, Purpose, sequential_cost
from eigenveil.privacy.uncopied import Uncopied

if TYPE_CHECKING:
    from eigenveil.privacy.ledger import Ledger


class OpenEndedGroup(Uncopied):
    """A group of parallel parts without a limit on their number; `Ledger.open_ended` creates it.

    At most one part is open at a time. Finished parts are merged into one line of the ledger.

    Formal guarantees
    -----------------
    The group always costs the maximum over all its parts, finished and open. A part can be charged until it is
    finished. After that, only its cost matters. One line with the cost of the most expensive finished part
    therefore represents all finished parts.
    """

    _uncopied = "an open group of parallel parts", "a copy would open parts that the ledger does not see"
    _instead = "TrackedStream.save writes a checkpoint, and TrackedStream.load continues from it."

    def __init__(self, ledger: Ledger, group: Parallel, name: str) -> None:
        self._ledger, self._group, self._name = ledger, group, name
        self._open: Ledger | None = None

    @property
    def finished(self) -> int:
        """Number of finished parts."""
        return self._group.finished or 0

    def part(self) -> Ledger:
        """Open the next part and return its ledger; a part that is still open is finished first."""
        with self._ledger._root._lock:
            self.finish()
            self._open = self._ledger._child(self._group, 1)
        return self._open

    def finish(self) -> None:
        """Close the open part, if there is one, and merge it into the line of the finished parts."""
        group = self._group
        with self._ledger._root._lock:
            if self._open is None and not group.parts[1]:
                return
            if self._open is not None:
                self._open._nodes, self._open._finished = list(group.parts[1]), True
            group.finished = self.finished + 1
            group.parts[0][:] = merged(group, self._name)
            group.parts[1].clear()
            group.costs[:] = [sequential_cost(group.parts[0]), Cost()]
            self._open = None
            self._ledger._spend(sequential_cost(self._ledger._nodes))


def merged(group: Parallel, name: str) -> list[Entry | Parallel]:
    """Merge all finished parts of an open-ended group into one line, or two if some entries are not Gaussian.

    The line states the cost of the most expensive part, which is the cost of parallel parts, so merging loses no
    cost. Its noise is the smallest noise of any part, for a sensitivity of 1. Its draws are the draws of all
    parts.
    """
    before, last = group.parts
    what = f"{group.finished} finished {name}"
    draws = [entry.draws for part in group.parts for node in part for _, entry in node.walk()]
    all_draws = None if None in draws else sum(draw for draw in draws if draw is not None)
    lines: list[Entry | Parallel] = []
    # Take maxima of the stated numbers and never recompute them; rounding errors would add up over the parts.
    stated = [node for node in before if isinstance(node, Entry) and node.kind == "gaussian"]
    costs = [entry.mu for entry in stated] + [_root_up(cost.mu_squared) for cost in group.costs[1:]]
    scales = [entry.scale for entry in stated if entry.scale] + [1 / loss for loss in (_loss(last),) if loss]
    if scales:
        note = f"at most mu = {max(costs):.4g} each; noise for a sensitivity of 1"
        gaussian = Entry(
            what=what,
            kind="gaussian",
            mu=max(costs),
            sensitivity=1.0,
            scale=min(scales),
            releases=1,
            draws=all_draws,
            note=note,
            purpose=Purpose.BATCHES,
        )
        lines.append(gaussian)
    if group.cost.epsilon or group.cost.delta:
        epsilon, delta = group.cost.epsilon, group.cost.delta
        drawn = 0 if lines else all_draws
        rest = Entry(
            what=what,
            kind="approximate",
            epsilon=epsilon,
            delta=delta,
            draws=drawn,
            note="at most, each",
            purpose=Purpose.BATCHES,
        )
        lines.append(rest)
    return lines


def _root_up(square: float) -> float:
    """Return the square root, rounded up."""
    return math.nextafter(math.sqrt(square), math.inf) if square else 0.0


def _loss(nodes: Sequence[Entry | Parallel]) -> float:
    """Return the mu that the Gaussian entries cost one unit, from their sensitivities and their noise as drawn."""
    total = 0.0
    for node in nodes:
        if isinstance(node, Parallel):
            total += max((_loss(part) ** 2 for part in node.parts), default=0.0)
        elif node.kind == "gaussian" and node.sensitivity and node.scale:
            total += node.releases * (node.sensitivity / node.scale) ** 2
    return math.sqrt(total)
