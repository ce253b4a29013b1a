"""What a reader of a release must be warned of, from releases and public numbers. Each rule stands here once.

A warning is data (`Release.warnings`): Python, the command line and the report show the same ones.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

from eigenveil.errors import PrivacyWarning
from eigenveil.mechanisms import Noisy, NoisyLeftOut
from eigenveil.mechanisms.radius import EDGES
from eigenveil.subspace.column_scales import ColumnScales
from eigenveil.subspace.variances import NoisyVariances

TOO_LARGE = "too large (a row's norm must stay below 1e154)"
FEW = 0.1
"""Noise of a count over the number of units that a radius search still stands: 5 standard deviations."""
MANY_BAD = 0.05
"""The share of bad units above which a warning names them."""
MANY_LEFT_OUT = 0.01
"""The share of people's rows left out, or of units with an unknown value, above which a warning says so."""
CLEAR = 5
"""Standard deviations by which such a number must pass that share: noise alone does so once in 3 million fits."""
SMALLEST_VARIANCE = 4 * float(EDGES[0])
"""Radii around variances that are not above this were found at the lower end of what is searched."""
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
    ROWS_LEFT_OUT = "rows-left-out"
    UNKNOWN_VALUES = "unknown-values"
    NO_EIGENGAP = "no-eigengap"
    LARGE_DELTA = "large-delta"
    LOST_IN_NOISE = "lost-in-noise"
    NO_SPREAD = "no-spread"
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
    """Many units have no row that counts, more than noise in their count could have made up."""
    if bad is None or not bad.value - 3 * bad.scale > MANY_BAD * (good + bad.value):
        return []
    text = (
        f"by a noisy count, {bad.value:.0f} units beside {good:.0f} good ones add nothing: in each of their rows "
        f"a value is missing, infinite or {TOO_LARGE}. Fill in missing values by a public rule (fill=...), give "
        "large values in another unit, or leave such columns out."
    )
    numbers = {"good": good, "bad": bad.value, "noise": bad.scale}
    return [ReleaseWarning(code=Code.BAD_UNITS, text=text, numbers=numbers)]


def rows_left_out(units: float, lost: NoisyLeftOut | None) -> list[ReleaseWarning]:
    """People's rows are left out, more of them than noise could have made up."""
    if lost is None or lost.rows is None or lost.people is None or not _clearly(lost.rows, units):
        return []
    share, noise = min(lost.rows.value / units, 1.0), 2 * lost.rows.scale / units
    text = (
        f"on average, about {share:.0%} of a person's rows (+- {noise:.1%}) were left out, and about "
        f"{lost.people.value:.0f} people lost at least one: a value is missing, infinite or {TOO_LARGE}. Fill in "
        "missing values by a public rule (fill=...), or choose other columns."
    )
    numbers = {"share": share, "people": lost.people.value, "units": units, "noise": lost.rows.scale}
    return [ReleaseWarning(code=Code.ROWS_LEFT_OUT, text=text, numbers=numbers)]


def unknown_values(units: float, lost: NoisyLeftOut | None) -> list[ReleaseWarning]:
    """Units hold values that are in no public list, more of them than noise could have made up."""
    found = {} if lost is None else lost.unknown
    return [
        ReleaseWarning(
            code=Code.UNKNOWN_VALUES,
            text=f"by a noisy count, {number.value:.0f} of about {units:.0f} units hold a value of {name!r} that "
            "is not in its public list, and count as 0 in all of its columns. Add the values that are missing.",
            numbers={"unknown": number.value, "units": units, "noise": number.scale},
        )
        for name, number in found.items()
        if _clearly(number, units)
    ]


def _clearly(number: Noisy, units: float) -> bool:
    """Whether a sum over units is a share of them that matters, and more than noise could have made up."""
    return number.value - CLEAR * number.scale > MANY_LEFT_OUT * units


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


def lost_in_noise(variances: NoisyVariances) -> list[ReleaseWarning]:
    """NoisyVariances that cannot be told from noise."""
    lost = [i + 1 for i, value in enumerate(variances.explained) if value < 2 * variances.noise]
    if not lost:
        return []
    text = (
        f"the variance of component {', '.join(map(str, lost))} cannot be told from noise (below two standard "
        "deviations)."
    )
    numbers = {"noise": variances.noise, **{f"pc{i}": float(variances.explained[i - 1]) for i in lost}}
    return [ReleaseWarning(code=Code.LOST_IN_NOISE, text=text, numbers=numbers)]


def no_spread(variances: NoisyVariances) -> list[ReleaseWarning]:
    """Nearly all units lie within the smallest radius that is searched for."""
    seen = max(variances.seen, 0.0 if math.isnan(variances.rest_seen) else variances.rest_seen)
    if not seen <= SMALLEST_VARIANCE:
        return []
    text = (
        "the spread of the units is 0, or below the smallest that can be measured (a standard deviation of about "
        f"{math.sqrt(SMALLEST_VARIANCE):.0e}): these variances are noise. If the columns do differ, multiply them "
        "by a public number."
    )
    return [ReleaseWarning(code=Code.NO_SPREAD, text=text, numbers={"seen": seen, "smallest": SMALLEST_VARIANCE})]


def clipped_variances(variances: NoisyVariances) -> list[ReleaseWarning]:
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
        f"by a noisy count, more than {bad / slots:.0%} of the rows of a batch leave their slots empty: a value "
        f"is missing, infinite or {TOO_LARGE}."
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
