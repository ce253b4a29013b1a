"""The ledger of a report: its entries, grouped by purpose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from eigenveil.privacy import Entry, Ledger, Purpose
from eigenveil.privacy.entries import Cost, Parallel, sequential_cost

_NAMES = {
    Purpose.COUNT: "Number of units",
    Purpose.COLUMNS: "How columns are read",
    Purpose.MEAN: "Mean of the rows",
    Purpose.SCALE: "Scales of columns",
    Purpose.BOUND: "Clipping bounds",
    Purpose.COMPONENTS: "Components",
    Purpose.VARIANCES: "Variances",
    Purpose.SCORES: "Map of scores",
    Purpose.TEST: "Tests before a release",
    Purpose.MODEL: "Model",
    Purpose.BATCHES: "Batches of a stream",
    Purpose.OTHER: "Other",
}


@dataclass(frozen=True, kw_only=True)
class LedgerGroup:
    """Entries of one purpose, or of one group of parallel parts.

    Parameters
    ----------
    name : str
        Purpose, in words.
    share : str
        Share of the budget, in words.
    percent : float
        The same as a number from 0 to 100, for a bar.
    rows : list of tuple of str
        Label, cost, share, sensitivity and noise scale of every entry.
    """

    name: str
    share: str
    percent: float
    rows: list[tuple[str, ...]]


def ledger_groups(ledger: Ledger) -> list[LedgerGroup]:
    """Return all entries of a ledger, grouped by purpose, in the order of first entries.

    Parallel parts form groups of their own, because a group of them costs as much as its most expensive part.

    Examples
    --------
    >>> from eigenveil.privacy import Budget
    >>> ledger = Ledger(Budget.from_mu(1.0))
    >>> for what, mu, purpose in (("a", 0.6, Purpose.MEAN), ("b", 0.3, Purpose.COUNT), ("c", 0.3, Purpose.MEAN)):
    ...     entry = ledger.charge_gaussian(what, mu=mu, sensitivity=1.0, scale=1 / mu, purpose=purpose)
    >>> [(group.name, group.share, len(group.rows)) for group in ledger_groups(ledger)]
    [('Mean of the rows', '45.0 %', 2), ('Number of units', '9.0 %', 1)]
    """
    nodes: dict[str, list[Entry | Parallel]] = {}
    for node in ledger.nodes:
        name = _NAMES[node.purpose] if isinstance(node, Entry) else f"Parallel parts: {node.how}"
        nodes.setdefault(name, []).append(node)
    return [_group(name, found, ledger) for name, found in nodes.items()]


def _group(name: str, nodes: list[Entry | Parallel], ledger: Ledger) -> LedgerGroup:
    cost = sequential_cost(nodes)
    percent = max(_percents(cost, ledger), default=0.0)
    return LedgerGroup(name=name, share=_share(cost, ledger), percent=percent, rows=list(_rows(nodes, ledger)))


def _rows(nodes: Iterable[Entry | Parallel], ledger: Ledger) -> Iterator[tuple[str, ...]]:
    for entry in (entry for node in nodes for _, entry in node.walk()):
        yield (
            entry.what + (f" ({entry.note})" if entry.note else ""),
            _cost(entry),
            _share(entry.cost, ledger),
            "" if entry.sensitivity is None else f"{entry.sensitivity:.4g}",
            "" if entry.scale is None else f"{entry.scale:.4g}",
        )


def _percents(cost: Cost, ledger: Ledger) -> list[float]:
    """Return the share of mu^2 and the share of the epsilon set aside, in percent, of what was spent."""
    mu_squared, aside = ledger.budget.mu**2, ledger.budget.epsilon_aside
    return [100 * part / whole for part, whole in ((cost.mu_squared, mu_squared), (cost.epsilon, aside)) if part]


def _share(cost: Cost, ledger: Ledger) -> str:
    """Return the share of the budget in words; "no cost" for what is declared public."""
    shares = [f"{percent:.1f} %" for percent in _percents(cost, ledger)]
    if cost.epsilon:
        shares[-1] += " of the ε set aside"
    return " and ".join(shares) or "no cost"


def _cost(entry: Entry) -> str:
    if entry.kind == "gaussian":
        return f"μ = {entry.mu:.4g}"
    return f"({entry.epsilon:.4g}, {entry.delta:.4g})" if entry.kind == "approximate" else "declared public"
