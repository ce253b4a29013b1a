"""Labels beside the ends of curves, moved apart so that they do not overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from sklearn.isotonic import isotonic_regression

from eigenveil._typing import FloatArray

SIZE = 10.5
"""Size of the type, in points."""
_SPACING = 1.2
"""Height of a line over the size of its type."""


@dataclass(frozen=True)
class Label:
    """Text for a curve, the colour of the curve, and its last point."""

    text: str
    colour: str
    x: float
    y: float


def add_labels(axes: Axes, labels: Sequence[Label], height: float) -> None:
    """Write the labels to the right of axes that are `height` inches high, each with a line to its curve.

    The limits of the axes must be set before.
    """
    line = _SPACING * SIZE / (72 * height)
    to_axes = axes.transScale + axes.transLimits
    wanted = [float(to_axes.transform((label.x, label.y))[1]) for label in labels]
    heights = [line * (label.text.count("\n") + 1.3) for label in labels]
    for label, place in zip(labels, spread(wanted, heights), strict=True):
        axes.annotate(
            label.text,
            xy=(label.x, label.y),
            xytext=(1.09, place),
            textcoords="axes fraction",
            va="center",
            fontsize=SIZE,
            linespacing=_SPACING,
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": label.colour, "shrinkA": 1, "shrinkB": 4, "relpos": (0, 0.5)},
        )


def spread(wanted: Sequence[float], heights: Sequence[float]) -> FloatArray:
    """Return the places in [0, 1] nearest to those wanted, in least squares, at which no two labels overlap.

    Places are the centres of labels of these heights. Labels keep their order. If they are too high in all, they
    exceed 1.

    Examples
    --------
    >>> spread([0.5, 0.52, 0.9], [0.1, 0.1, 0.1]).round(2)
    array([0.46, 0.56, 0.9 ])
    >>> spread([0.0, 1.0], [0.2, 0.2])
    array([0.1, 0.9])
    """
    order = np.argsort(wanted, kind="stable")
    tall = np.asarray(heights)[order]
    above_first = np.concatenate([[0.0], np.cumsum((tall[:-1] + tall[1:]) / 2)])
    low = tall[0] / 2
    high = max(low, 1 - tall[-1] / 2 - above_first[-1])
    places = np.empty(len(tall))
    places[order] = above_first + isotonic_regression(
        np.asarray(wanted)[order] - above_first, y_min=low, y_max=high
    )
    return places
