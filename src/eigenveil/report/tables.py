"""Tables of a report: variances with their accuracy, and columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eigenveil.estimators.uncertainty import known_angles
from eigenveil.plots import ScreeDisplay
from eigenveil.plots.style import names_of

_ANGLES = (
    (10.0, "accurate", "can be interpreted on its own"),
    (30.0, "roughly right", "rely on its largest loadings only"),
    (60.0, "uncertain", "may be mixed with a neighbouring component; interpret the plane of both"),
    (90.0, "unknown", "mostly noise"),
)
"""Upper ends of ranges of angles, in degrees, and what an angle in the range means, in short and in advice."""


def angle_in_words(angle: float) -> tuple[str, str]:
    """Return what an expected angle between a component and the population's own component means.

    Examples
    --------
    >>> angle_in_words(4.0), angle_in_words(88.0)
    (('accurate', 'can be interpreted on its own'), ('unknown', 'mostly noise'))
    """
    return next((short, advice) for limit, short, advice in _ANGLES if angle <= limit or limit == 90.0)


def variance_rows(model: Any) -> Iterator[tuple[str, ...]]:
    """Yield name, variance, interval, noise, share and angle of every component, if variances were released."""
    if "explained_variance_" not in vars(model):
        return
    bought = model.release_.variances
    ratios = vars(model).get("explained_variance_ratio_")
    intervals, angles = ScreeDisplay.from_estimator(model).intervals, known_angles(model)
    names = model.get_feature_names_out()
    for i, value in enumerate(model.explained_variance_):
        yield (
            names[i],
            f"{value:.4g}",
            "unknown" if intervals is None else f"{intervals[i, 0]:.4g} to {intervals[i, 1]:.4g}",
            "unknown" if bought is None else f"{bought.noise:.2g}",
            "unknown" if ratios is None else f"{100 * ratios[i]:.1f} %",
            "unknown" if angles is None else f"{angles[i]:.1f}°",
            "unknown" if angles is None else ": ".join(angle_in_words(angles[i])),
        )


def column_rows(model: Any) -> list[tuple[str, ...]]:
    """Return name, mean and scale of every column, if a mean was subtracted or columns were scaled."""
    if not model.mean_.any() and model.scale_ is None:
        return []
    names = names_of(model)
    scales = ["none"] * len(names) if model.scale_ is None else [f"{scale:.4g}" for scale in model.scale_]
    return [(name, f"{mean:.4g}", by) for name, mean, by in zip(names, model.mean_, scales, strict=True)]
