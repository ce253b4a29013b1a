"""Colours, marks and words that all displays share: told apart in grey and by colour-blind people."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes

from eigenveil.errors import InvalidInputError

BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
"""From the palette of Okabe and Ito."""
COLOURS = (BLUE, ORANGE, GREEN, PURPLE)
HATCHES = ("", "///", "...", "xxx")
MARKERS = ("o", "s", "^", "D")
LEVEL = 0.95
"""Of intervals: how often one of them holds the truth."""
TWO_SIDED = 1.96
"""Standard deviations on either side of a value between which noise falls 95 times in 100."""


def guarantee_of(pca: Any) -> str:
    """What a title says about privacy.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenveil import DPPCA
    >>> X = np.random.default_rng(0).normal(size=(5000, 3))
    >>> guarantee_of(DPPCA(1, epsilon=0.5).fit(X))
    'private, ε = 0.5'
    >>> guarantee_of(DPPCA(1, epsilon=0.5, random_state=0).fit(X))
    'NOT PRIVATE, ε = 0.5'
    """
    return f"{'private' if pca.ledger_.private else 'NOT PRIVATE'}, ε = {pca.epsilon:g}"


def intervals_of(pca: Any, name: str) -> Any:
    """Intervals of 95 % by the method of that name; None where the model does not offer them.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenveil import DPPCA
    >>> X = np.random.default_rng(0).normal(size=(5000, 3)) * [3, 1, 1]
    >>> intervals_of(DPPCA(1).fit(X), "explained_variance_interval").shape
    (1, 2)
    >>> intervals_of(DPPCA(1, algorithm="dp-gauss-1").fit(X), "explained_variance_interval") is None
    True
    """
    if pca.release_.variances is None:
        return None
    try:
        return getattr(pca, name)(level=LEVEL)
    except InvalidInputError:  # bought by an older eigenveil, which did not keep how they were clipped
        return None


def ink() -> str:
    """The colour of lines and letters, as matplotlib is set to draw them."""
    return str(mpl.rcParams["text.color"])


def axes_or_new(ax: Axes | None) -> Axes:
    """The axes to draw on; those of a figure of their own where none are given."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt  # noqa: PLC0415  # chooses a backend, which drawing on given axes does not need

    return plt.subplots(layout="constrained")[1]


def titled(ax: Axes, title: str, guarantee: str) -> None:
    """Write the title, with the guarantee below, and take off the frame's idle sides."""
    ax.set_title(f"{title}\n({guarantee})" if guarantee else title, fontsize="medium")
    ax.spines[["top", "right"]].set_visible(False)


def check_component(component: int, k: int) -> int:
    """The position of component number 1 to k, else explain."""
    if not 1 <= component <= k:
        raise InvalidInputError(f"components are numbered from 1 to {k}, got {component!r}.")
    return component - 1


def shortened(text: str, longest: int = 28) -> str:
    """A label that fits beside a bar.

    Examples
    --------
    >>> shortened("a rather long name of a column", 12)
    'a rather lo…'
    """
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def names_of(pca: Any) -> tuple[str, ...]:
    """Names of the columns, or x0, x1, ... where they have none."""
    names = vars(pca).get("feature_names_in_")
    return tuple(f"x{i}" for i in range(pca.n_features_in_)) if names is None else tuple(map(str, names))
