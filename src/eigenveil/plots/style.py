"""Colours, markers and labels shared by all displays; distinguishable in greyscale and by colour-blind readers."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgba

from eigenveil._printable import printable
from eigenveil.errors import InvalidInputError

BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
"""Colours from the palette of Okabe and Ito."""
COLOURS = (BLUE, ORANGE, GREEN, PURPLE)
COUNTS = LinearSegmentedColormap.from_list("counts", [to_rgba(BLUE, 0.12), to_rgba(BLUE, 1.0)])
"""Colours of counts: more opaque for larger counts, so that they read the same on light and on dark pages."""
SIGNED = LinearSegmentedColormap.from_list(
    "signed",
    [
        (0.0, to_rgba(ORANGE, 1.0)),
        (0.5, to_rgba(ORANGE, 0.0)),
        (0.5, to_rgba(BLUE, 0.0)),
        (1.0, to_rgba(BLUE, 1.0)),
    ],
)
"""Colours of loadings: orange below 0, blue above, transparent at 0."""
HATCHES = ("", "///", "...", "xxx")
MARKERS = ("o", "s", "^", "D")
LEVEL = 0.95
"""Confidence level of intervals."""
TWO_SIDED = 1.96
"""Half-width of a 95 % normal interval, in standard deviations."""


def guarantee_of(pca: Any) -> str:
    """Return the text on privacy for a title.

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
    """Return 95 % intervals from the method `name`, or None if the model does not provide them.

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
    except InvalidInputError:  # bought by an older version of eigenveil, which did not save how they were clipped
        return None


def text_colour() -> str:
    """Return matplotlib's current colour of text, which displays use for lines too."""
    return str(mpl.rcParams["text.color"])


def page_colour() -> str:
    """Return matplotlib's current colour of the page, for outlines that set letters apart from a picture."""
    return str(mpl.rcParams["figure.facecolor"])


def axes_or_new(ax: Axes | None) -> Axes:
    """Return `ax`, or the axes of a new figure if None."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt  # noqa: PLC0415  # selects a backend, which given axes do not need

    return plt.subplots(layout="constrained")[1]


def titled(ax: Axes, title: str, guarantee: str) -> None:
    """Set the title, with the guarantee below it, and hide the top and right sides of the frame."""
    title = as_drawn(printable(title))
    ax.set_title(f"{title}\n({guarantee})" if guarantee else title, fontsize="medium")
    ax.spines[["top", "right"]].set_visible(False)


def check_component(component: int, k: int) -> int:
    """Return the index of component number 1 to k. Raise for any other number."""
    if not 1 <= component <= k:
        raise InvalidInputError(f"components are numbered from 1 to {k}, got {component!r}.")
    return component - 1


def shortened(text: str, longest: int = 28) -> str:
    """Truncate a label to at most `longest` characters, and return it as text that matplotlib draws as it is.

    Examples
    --------
    >>> shortened("a rather long name of a column", 12)
    'a rather lo…'
    """
    text = printable(text)
    return as_drawn(text if len(text) <= longest else text[: longest - 1].rstrip() + "…")


def as_drawn(text: str) -> str:
    """Return the text with dollar signs that matplotlib does not read as the start of a formula."""
    return text.replace("$", r"\$")


def names_of(pca: Any) -> tuple[str, ...]:
    """Return the names of the columns, or x0, x1, ... if they have none."""
    names = vars(pca).get("feature_names_in_")
    return tuple(f"x{i}" for i in range(pca.n_features_in_)) if names is None else tuple(map(str, names))
