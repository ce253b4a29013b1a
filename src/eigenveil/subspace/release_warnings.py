"""What a reader of a release must be warned of, from releases and public numbers. Each rule stands here once.

A warning is data (`Release.warnings`): Python, the command line and the report show the same ones.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

from eigenveil.errors import PrivacyWarning
from eigenveil.mechanisms import Noisy
from eigenveil.subspace.column_scales import ColumnScales
from eigenveil.subspace.variances import Variances

FEW = 0.1
"""Noise of a count over the number of units that a radius search still stands: 5 standard deviations."""
MANY_BAD = 0.05
"""The share of bad units above which a warning names them."""
MANY_CLIPPED = 0.05
"""The share of clipped units above which released variances are said to be too low."""


_SHOWN = 12
"""How many columns a warning names; its numbers name all."""


_UNKNOWN_SCALE = (
    "the scale could not be told. Nearly all units may be equal there, or too far from 0 for their spread, or too "
    "few. It was set to a number that is rather too large, so that the column counts for little. Declare its "
    "scale or its bounds, if they are public."
)
_NOISY_SCALE = "noise in the scale is large. The scale was made larger for it, so that the column counts for less."
_HEAVY_TAIL = (
    "the tail is heavy and was clipped when the scale was taken. The scale is probably too small, so that the "
    "column counts for more. A transformation that does not look at the data helps, such as log(1 + x)."
)


class Code(StrEnum):
    """Which rule a warning comes from."""

    TOO_FEW_UNITS = "too-few-units"
    BAD_UNITS = "bad-units"
    NO_EIGENGAP = "no-eigengap"
    LARGE_DELTA = "large-delta"
    LOST_IN_NOISE = "lost-in-noise"
    CLIPPED_VARIANCES = "clipped-variances"
    SMALL_BATCHES = "small-batches"
    BAD_ROWS = "bad-rows"
    UNKNOWN_SCALES = "unknown-scales"
    NOISY_SCALES = "noisy-scales"
    HEAVY_TAILS = "heavy-tails"


@dataclass(frozen=True, kw_only=True)
class ReleaseWarning:
    """One warning.

    Parameters
    ----------
    code : Code
        Which rule it comes from.
    text : str
        For people.
    numbers : mapping of str to float
        The released and public numbers that the rule looked at.
    """

    code: Code
    text: str
    numbers: Mapping[str, float] = field(default_factory=dict)

    def to_plain(self) -> dict[str, Any]:
        """As files keep it."""
        return {"code": self.code.value, "text": self.text, "numbers": dict(self.numbers)}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """From a file; raises KeyError, TypeError or ValueError if it is none."""
        return cls(code=Code(plain["code"]), text=str(plain["text"]), numbers=dict(plain["numbers"]))


def too_few_units(n_hat: float, count_noise: float) -> list[ReleaseWarning]:
    """Counts of the first radius search are lost in noise of this standard deviation."""
    need = count_noise / FEW
    if n_hat >= need:
        return []
    text = (
        f"about {n_hat:.0f} units are few for this epsilon and delta: noise may rule the directions. "
        f"Some {need:.0f} units, a larger epsilon or delta, or fewer columns would help."
    )
    return [ReleaseWarning(code=Code.TOO_FEW_UNITS, text=text, numbers={"n_hat": n_hat, "enough": need})]


def bad_units(good: float, bad: Noisy | None) -> list[ReleaseWarning]:
    """Many units have no row of finite numbers, more than noise in their count could have made up."""
    if bad is None or not bad.value - 3 * bad.scale > MANY_BAD * (good + bad.value):
        return []
    text = (
        f"by a noisy count, {bad.value:.0f} units beside {good:.0f} good ones hold no row of finite numbers, and "
        "add nothing. Fill in missing values by a rule that does not look at the data, or leave such columns out."
    )
    numbers = {"good": good, "bad": bad.value, "noise": bad.scale}
    return [ReleaseWarning(code=Code.BAD_UNITS, text=text, numbers=numbers)]


def no_eigengap() -> list[ReleaseWarning]:
    """The eigengap could not be proven, so directions are random."""
    text = (
        "the eigengap is too small to be proven privately: these directions are random and know nothing of "
        "the data (diagnostics['bottom']). Use dp_gauss_1, another k, or a larger budget."
    )
    return [ReleaseWarning(code=Code.NO_EIGENGAP, text=text)]


def large_delta(delta: float, n_hat: float | None) -> list[ReleaseWarning]:
    """Delta exceeds 1/n."""
    if n_hat is None or not delta * n_hat > 1:
        return []
    text = (
        f"delta = {delta:g} is more than 1 in about {n_hat:.0f} units: a mechanism that publishes one of them "
        "as they are could have it. Choose delta well below 1 over the number of people."
    )
    return [ReleaseWarning(code=Code.LARGE_DELTA, text=text, numbers={"delta": delta, "n_hat": n_hat})]


def lost_in_noise(variances: Variances) -> list[ReleaseWarning]:
    """Variances that cannot be told from noise."""
    lost = [i + 1 for i, value in enumerate(variances.explained) if value < 2 * variances.noise]
    if not lost:
        return []
    text = (
        f"the variance of component {', '.join(map(str, lost))} cannot be told from noise (below two standard "
        "deviations)."
    )
    numbers = {"noise": variances.noise, **{f"component {i}": float(variances.explained[i - 1]) for i in lost}}
    return [ReleaseWarning(code=Code.LOST_IN_NOISE, text=text, numbers=numbers)]


def clipped_variances(variances: Variances) -> list[ReleaseWarning]:
    """More units were clipped than noise in their count could have made up."""
    share = variances.share_above
    if not share - 2 * variances.share_noise >= MANY_CLIPPED:
        return []
    text = (
        f"about {share:.0%} of the units were clipped when variances were taken (a noisy share): the data have "
        "heavy tails, and variances are too low by more than their intervals say."
    )
    return [ReleaseWarning(code=Code.CLIPPED_VARIANCES, text=text, numbers={"share": share})]


def small_batches(size: int, count_noise: float) -> list[ReleaseWarning]:
    """Counts in a batch of this many slots are lost in noise of this standard deviation."""
    need = count_noise / FEW
    if size >= need:
        return []
    text = (
        f"batches of {size} slots are small for this epsilon and delta: noise may rule the directions. "
        f"Some {need:.0f} slots, or a larger epsilon or delta, would help."
    )
    return [ReleaseWarning(code=Code.SMALL_BATCHES, text=text, numbers={"slots": size, "enough": need})]


def bad_rows(slots: int, good: Noisy) -> list[ReleaseWarning]:
    """Many rows of a batch are not finite, more than noise in the count of the others could have made up."""
    bad = slots - good.value - 3 * good.scale
    if not bad > MANY_BAD * slots:
        return []
    text = (
        f"by a noisy count, more than {bad / slots:.0%} of the rows of a batch are not finite numbers; "
        "they leave their slots empty."
    )
    return [ReleaseWarning(code=Code.BAD_ROWS, text=text, numbers={"slots": slots, "bad": bad})]


def scale_warnings(scales: ColumnScales, labels: Sequence[str]) -> list[ReleaseWarning]:
    """Columns whose bought scales are not their standard deviations; `labels` names all columns of `scales`."""
    rules = (
        (
            Code.UNKNOWN_SCALES,
            scales.unknown,
            scales.scale,
            _UNKNOWN_SCALE,
        ),
        (
            Code.NOISY_SCALES,
            scales.noisy,
            scales.error,
            _NOISY_SCALE,
        ),
        (
            Code.HEAVY_TAILS,
            scales.heavy,
            scales.beyond,
            _HEAVY_TAIL,
        ),
    )
    found = []
    for code, where, numbers, text in rules:
        named = [(label, float(number)) for label, number, yes in zip(labels, numbers, where, strict=True) if yes]
        if named:
            shown = ", ".join(label for label, _ in named[:_SHOWN]) + (", ..." if len(named) > _SHOWN else "")
            head = f"column {shown}" if len(named) == 1 else f"{len(named)} columns ({shown})"
            values = {f"column {label}": number for label, number in named}
            found.append(ReleaseWarning(code=code, text=f"{head}: {text}", numbers=values))
    return found


def show(found: Sequence[ReleaseWarning]) -> None:
    """Warn in Python of all of them, at the line of the user's that led here."""
    for one in found:
        category = PrivacyWarning if one.code is Code.LARGE_DELTA else UserWarning
        warnings.warn(one.text, category, stacklevel=_users_line())


def _users_line() -> int:
    """The stack level, for the function that calls this, of the first frame that is no library's."""
    frame = inspect.currentframe()
    frame, level = (None if frame is None else frame.f_back), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("eigenveil", "sklearn"):
        frame, level = frame.f_back, level + 1
    return level
