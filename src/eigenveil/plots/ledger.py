"""Bar chart of a ledger: the share of the budget spent on each release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes

from eigenveil._typing import FloatArray
from eigenveil.plots.style import BLUE, HATCHES, axes_or_new, guarantee_of, shortened, text_colour, titled
from eigenveil.privacy import Entry, Ledger, Parallel

_REST, _UNSPENT = "all others", "not spent"


@dataclass(frozen=True, kw_only=True, eq=False)
class LedgerDisplay:
    """Shares of a budget, in the order in which they were spent.

    Parameters
    ----------
    labels : tuple of str
        Labels of the releases. Releases with equal labels form one bar.
    shares : array
        Shares of the budget's mu^2, or of the epsilon set aside if no release is Gaussian, including the
        unspent share. They sum to 1.
    of : str
        Quantity that the shares refer to.
    guarantee : str
        Privacy guarantee, shown in the title.
    """

    labels: tuple[str, ...]
    shares: FloatArray
    of: str = "μ²"
    guarantee: str = ""

    @classmethod
    def from_estimator(cls, pca: Any) -> Self:
        """Create the display from the ledger of a fitted DPPCA."""
        return cls.from_ledger(pca.ledger_, guarantee=guarantee_of(pca))

    @classmethod
    def from_ledger(cls, ledger: Ledger, *, guarantee: str = "") -> Self:
        """Create the display from a ledger.

        Examples
        --------
        >>> from eigenveil.privacy import Budget
        >>> ledger = Ledger(Budget.from_mu(1.0))
        >>> entry = ledger.charge_gaussian("count", mu=0.6, sensitivity=1.0, scale=2.0)
        >>> display = LedgerDisplay.from_ledger(ledger)
        >>> display.labels, display.shares.round(6)
        (('count', 'not spent'), array([0.36, 0.64]))
        """
        gaussian = ledger.budget.mu > 0 and ledger.mu > 0
        whole = ledger.budget.mu**2 if gaussian else ledger.budget.epsilon_aside
        parts: dict[str, float] = {}
        for node in ledger.nodes:
            cost = node.cost.mu_squared if gaussian else node.cost.epsilon
            if cost > 0:
                parts[_label(node)] = parts.get(_label(node), 0.0) + cost / whole if whole else 0.0
        left = 1 - sum(parts.values())
        if left > 1e-6:
            parts[_UNSPENT] = left
        return cls(
            labels=tuple(parts),
            shares=np.array(list(parts.values())),
            of="μ²" if gaussian else "the ε set aside",
            guarantee=guarantee,
        )

    def largest(self, top: int = 12) -> Self:
        """Return the display with all bars after the largest ``top - 1`` merged into one."""
        if len(self.labels) <= top:
            return self
        keep = np.sort(np.argsort(-self.shares, kind="stable")[: top - 1])
        rest = 1 - float(self.shares[keep].sum())
        return type(self)(
            labels=(*(self.labels[i] for i in keep), _REST),
            shares=np.array([*self.shares[keep], rest]),
            of=self.of,
            guarantee=self.guarantee,
        )

    def plot(self, ax: Axes | None = None, *, top: int = 12) -> Axes:
        """Draw one bar per release; the unspent share is a hatched, unfilled bar."""
        ax = axes_or_new(ax)
        shown = self.largest(top)
        places = np.arange(len(shown.labels))
        for place, label, share in zip(places, shown.labels, shown.shares, strict=True):
            unspent = label == _UNSPENT
            ax.barh(
                place,
                100 * share,
                color="none" if unspent else BLUE,
                hatch=HATCHES[1] if unspent else "",
                edgecolor=text_colour(),
                height=0.7,
            )
            ax.annotate(
                f"{100 * share:.1f}", (100 * share, place), (3, 0), textcoords="offset points", va="center", size=8
            )
        ax.set_yticks(places, [shortened(label) for label in shown.labels])
        ax.invert_yaxis()
        ax.set_xlim(0, 115 * float(shown.shares.max(initial=0.01)))
        ax.set_xlabel(f"share of the budget ({self.of}), %")
        titled(ax, "Spending of the budget", self.guarantee)
        return ax


def _label(node: Entry | Parallel) -> str:
    return node.what if isinstance(node, Entry) else f"parallel parts: {node.how}"
