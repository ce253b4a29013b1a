"""Warnings about a release, computed from releases and public numbers. Each rule is defined only here.

Warnings are data (`Release.warnings`): Python, the command line and the report show the same ones.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

import numpy as np

from eigenveil._typing import BoolArray, FloatArray
from eigenveil.algorithms.variances import NoisyVariances
from eigenveil.errors import NotCompiledWarning, PrivacyWarning, users_line
from eigenveil.kernels import loops
from eigenveil.mechanisms import Noisy, NoisyLeftOut
from eigenveil.mechanisms.radius import EDGES

TOO_LARGE = "too large (a row's norm must stay below 1e77)"
FEW = 0.1
"""Largest ratio of the noise of a count to the number of units for a reliable radius search: half of the units are
then 5 standard deviations."""
MANY_BAD = 0.05
"""Share of invalid units above which there is a warning."""
MANY_LEFT_OUT = 0.01
"""Share of people's rows that are excluded, or of units with an unknown value, above which there is a warning."""
CLEAR = 5
"""Number of standard deviations by which a noisy count must exceed MANY_LEFT_OUT. Noise alone does so once in 3
million fits."""
SMALLEST_VARIANCE = 4 * float(EDGES[0])
"""Radii up to this value were found at the lower end of the search range."""
MANY_CLIPPED = 0.05
"""Share of clipped units above which a warning says that released variances are too low."""


_SHOWN = 12
"""Number of columns that the text of a warning names. Its `numbers` name all columns."""


MANY_UNKNOWN = 0.2
"""Share of columns with unknown scales above which nothing is said of components."""
FLOOR_ERROR = 0.25
"""Relative error of a scale whose variance is at the floor of two standard deviations of its noise."""
MUCH_HIDDEN = 1.5
"""Share of the variance that units beyond all counts may carry, above which there is a warning. It was chosen on
32 raw tables, so that it accompanies about one in 20 of the fits that are good."""
POOR_MEAN = 1 / 3
"""Noise in an entry of the mean, in spreads of its column, above which there is a warning."""
MUCH_OFFSET = 0.5
"""Share of a component's variance that the error of the mean may make up, above which there is a warning."""


class Code(StrEnum):
    """Rule of a warning."""

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
    EMPTY_SLOTS = "empty-slots"
    UNKNOWN_SCALES = "unknown-scales"
    POORLY_KNOWN_MEAN = "poorly-known-mean"
    OFFSET_COMPONENT = "offset-component"
    FEW_CARRY_MUCH = "few-carry-much"


@dataclass(frozen=True, kw_only=True)
class ReleaseWarning:
    """Warning about a release.

    Parameters
    ----------
    code : Code
        Rule of the warning.
    text : str
        Text for users.
    numbers : mapping of str to float
        Released and public numbers that the rule used.
    """

    code: Code
    text: str
    numbers: Mapping[str, float] = field(default_factory=dict)

    def to_plain(self) -> dict[str, Any]:
        """Return the warning as JSON values."""
        return {"code": self.code.value, "text": self.text, "numbers": dict(self.numbers)}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Return the warning that `to_plain` wrote; raise KeyError, TypeError or ValueError for other values."""
        return cls(code=Code(plain["code"]), text=str(plain["text"]), numbers=dict(plain["numbers"]))


def too_few_units(n_hat: float, count_noise: float) -> list[ReleaseWarning]:
    """Warn if noise of this standard deviation hides the counts of the first radius search."""
    need = count_noise / FEW
    if n_hat >= need:
        return []
    text = (
        f"about {n_hat:.0f} units are few for this epsilon and delta: noise may dominate the components. "
        f"About {need:.0f} units, a larger epsilon or delta, or fewer columns would help."
    )
    return [ReleaseWarning(code=Code.TOO_FEW_UNITS, text=text, numbers={"n_hat": n_hat, "enough": need})]


def bad_units(good: float, bad: Noisy) -> list[ReleaseWarning]:
    """Warn if many units are invalid, more than noise in their count explains."""
    if not bad.value - 3 * bad.scale > MANY_BAD * (good + bad.value):
        return []
    text = (
        f"by a noisy count, {bad.value:.0f} units are invalid and {good:.0f} are valid: each row of an invalid "
        f"unit has a value that is missing, infinite or {TOO_LARGE}. Fill in missing values by a public rule "
        "(fill=...), rescale columns with large values, or exclude such columns."
    )
    numbers = {"good": good, "bad": bad.value, "noise": bad.scale}
    return [ReleaseWarning(code=Code.BAD_UNITS, text=text, numbers=numbers)]


def rows_left_out(units: float, lost: NoisyLeftOut | None) -> list[ReleaseWarning]:
    """Warn if rows of people are excluded, more than noise explains."""
    if lost is None or lost.rows is None or lost.people is None or not _clearly(lost.rows, units):
        return []
    share, noise = min(lost.rows.value / units, 1.0), 2 * lost.rows.scale / units
    text = (
        f"on average, about {share:.0%} of a person's rows (+- {noise:.1%}) were excluded, and about "
        f"{lost.people.value:.0f} people lost at least one: a value is missing, infinite or {TOO_LARGE}. Fill in "
        "missing values by a public rule (fill=...), or choose other columns."
    )
    numbers = {"share": share, "people": lost.people.value, "units": units, "noise": lost.rows.scale}
    return [ReleaseWarning(code=Code.ROWS_LEFT_OUT, text=text, numbers=numbers)]


def unknown_values(units: float, lost: NoisyLeftOut | None) -> list[ReleaseWarning]:
    """Warn if units have values that are not in the public list of a column, more than noise explains."""
    found = {} if lost is None else lost.unknown
    return [
        ReleaseWarning(
            code=Code.UNKNOWN_VALUES,
            text=f"by a noisy count, {number.value:.0f} of about {units:.0f} units have a value of {name!r} that "
            "is not in its public list, and count as 0 in all of its columns. Add the missing values to the list.",
            numbers={"unknown": number.value, "units": units, "noise": number.scale},
        )
        for name, number in found.items()
        if _clearly(number, units)
    ]


def _clearly(number: Noisy, units: float) -> bool:
    """Whether a noisy sum over units exceeds MANY_LEFT_OUT of them by more than noise explains."""
    return number.value - CLEAR * number.scale > MANY_LEFT_OUT * units


def no_eigengap() -> list[ReleaseWarning]:
    """Warn that the eigengap could not be proven, so that components are random."""
    text = (
        "the eigengap is too small to be proven privately: these components are random and independent of the "
        "data (diagnostics['bottom']). Use dp_gauss_1, another k, or a larger budget."
    )
    return [ReleaseWarning(code=Code.NO_EIGENGAP, text=text)]


def large_delta(delta: float, n_hat: float | None) -> list[ReleaseWarning]:
    """Warn if delta exceeds 1/n."""
    if n_hat is None or not delta * n_hat > 1:
        return []
    text = (
        f"delta = {delta:g} exceeds 1 in about {n_hat:.0f} units: even a mechanism that publishes one of them "
        "unchanged could satisfy it. Choose delta well below 1 divided by the number of people."
    )
    return [ReleaseWarning(code=Code.LARGE_DELTA, text=text, numbers={"delta": delta, "n_hat": n_hat})]


def lost_in_noise(variances: NoisyVariances) -> list[ReleaseWarning]:
    """Warn of variances that cannot be distinguished from noise."""
    lost = [i + 1 for i, value in enumerate(variances.explained) if value < 2 * variances.noise]
    if not lost:
        return []
    text = (
        f"the variance of component {', '.join(map(str, lost))} cannot be distinguished from noise (it is below "
        "two standard deviations)."
    )
    numbers = {"noise": variances.noise, **{f"pc{i}": float(variances.explained[i - 1]) for i in lost}}
    return [ReleaseWarning(code=Code.LOST_IN_NOISE, text=text, numbers=numbers)]


def no_spread(variances: NoisyVariances) -> list[ReleaseWarning]:
    """Warn if nearly all units lie within the smallest radius of the search."""
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
    """Warn if many units were clipped, more than noise in their count explains."""
    share = variances.share_above
    if not share - 2 * variances.share_noise >= MANY_CLIPPED:
        return []
    text = (
        f"about {share:.0%} of the units were clipped when variances were computed (a noisy share): the data have "
        "heavy tails, and variances are too low by more than their intervals show."
    )
    return [ReleaseWarning(code=Code.CLIPPED_VARIANCES, text=text, numbers={"share": share})]


def small_batches(size: int, count_noise: float) -> list[ReleaseWarning]:
    """Warn if noise of this standard deviation hides the counts in a batch of `size` slots."""
    need = count_noise / FEW
    if size >= need:
        return []
    text = (
        f"batches of {size} slots are small for this epsilon and delta: noise may dominate the components. "
        f"About {need:.0f} slots, or a larger epsilon or delta, would help."
    )
    return [ReleaseWarning(code=Code.SMALL_BATCHES, text=text, numbers={"slots": size, "enough": need})]


def empty_slots(slots: int, good: Noisy, *, people: bool) -> list[ReleaseWarning]:
    """Warn if many slots of a batch are empty, more than noise in the count of the others explains."""
    bad = slots - good.value - 3 * good.scale
    if not bad > MANY_BAD * slots:
        return []
    why = f"a value is missing, infinite or {TOO_LARGE}"
    if people:
        why += (
            ", an id is missing or neither a whole number nor text, or a person has had a slot before. Only the "
            "first row of each person counts, so people who return explain it, too"
        )
    text = f"by a noisy count, more than {bad / slots:.0%} of the rows of a batch leave their slots empty: {why}."
    return [ReleaseWarning(code=Code.EMPTY_SLOTS, text=text, numbers={"slots": slots, "empty": bad})]


def few_carry_much(hidden: float) -> list[ReleaseWarning]:
    """Warn if units that no count shows may carry this share of the variance (`uncertainty.hidden_variance`)."""
    if not hidden > MUCH_HIDDEN:
        return []
    text = (
        f"few units may carry much variance: by how slowly the tail falls off, those too few to be counted could "
        f"carry {hidden:.1f} times as much as all the others. They are clipped, so components and variances may "
        "differ from those of PCA without privacy. A public transformation of skewed columns, such as log(1 + x), "
        "or a larger budget would help."
    )
    return [ReleaseWarning(code=Code.FEW_CARRY_MUCH, text=text, numbers={"hidden": hidden})]


def unknown_scales(errors: FloatArray, labels: Sequence[str]) -> list[ReleaseWarning]:
    """Warn of columns whose scale is unknown: noise hides their variance.

    Parameters
    ----------
    errors : array
        Relative errors of the scales of these columns. At FLOOR_ERROR the variance was raised to two standard
        deviations of its noise.
    labels : sequence of str
        Names of these columns.
    """
    where = {
        label: float(error) for label, error in zip(labels, errors, strict=True) if error > 0.999 * FLOOR_ERROR
    }
    if not where:
        return []
    named = list(where)
    head = f"column {named[0]}" if len(named) == 1 else f"{len(named)} columns ({_listed(named)})"
    text = (
        f"{head}: the scale is unknown, because noise hides the variance. Nearly all units may be equal there, or "
        "they are too few. The scale was set to the largest one that noise allows, so the column has little "
        "weight. Declare its scale or its bounds, if they are public."
    )
    numbers = {f"column {label}": error for label, error in where.items()}
    return [ReleaseWarning(code=Code.UNKNOWN_SCALES, text=text, numbers=numbers)]


def poorly_known_mean(noise: float) -> list[ReleaseWarning]:
    """Warn if the noise in an entry of the mean is large, in spreads of its column."""
    if not noise > POOR_MEAN:
        return []
    text = (
        f"the mean is poorly known: the noise in each entry is {noise:.2g} of the spread of its column. A "
        "component may point to the error of the mean. Declare a mean (center=...), or use more units, fewer "
        "columns or a larger budget."
    )
    return [ReleaseWarning(code=Code.POORLY_KNOWN_MEAN, text=text, numbers={"noise": noise})]


def offset_components(
    components: FloatArray, eigenvalues: FloatArray, mean_errors: FloatArray, labels: Sequence[str]
) -> list[ReleaseWarning]:
    """Warn of components that may be the error of the mean in one column.

    Parameters
    ----------
    components, eigenvalues : array of shape (k, d), (k,)
        Components, and the variances along them.
    mean_errors : array of shape (d,)
        Standard errors of the mean, in the units of the rows whose components were found.
    labels : sequence of str
        Names of the columns.
    """
    # an error m of the mean adds m m^T to Sigma, and (u_i m_i)^2 to the variance along u by column i
    shares = np.square(components * mean_errors) / np.maximum(eigenvalues, 1e-200)[:, None]
    main = shares.argmax(axis=1)
    found = [(i, int(j), min(float(shares[i, j]), 1.0)) for i, j in enumerate(main) if shares[i, j] > MUCH_OFFSET]
    if not found:
        return []
    each = _listed([f"column {labels[j]} for {share:.0%} of component {i + 1}" for i, j, share in found])
    text = (
        f"the error of the mean may be what a component shows: that of {each}. The column varies little next to "
        "how well its mean is known. Declare its bounds or its mean, if they are public, or use scale='private'."
    )
    numbers = {f"pc{i + 1}": share for i, _, share in found}
    return [ReleaseWarning(code=Code.OFFSET_COMPONENT, text=text, numbers=numbers)]


def _listed(names: Sequence[str]) -> str:
    """Return the first of these names, separated by commas."""
    return ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")


def unfounded(found: Sequence[ReleaseWarning], k: int, d: int) -> BoolArray:
    """Return of which of k components of d columns these warnings say that nothing is known.

    All, if units are too few, or many scales unknown; else those that may show the error of the mean.
    """
    numbers = {one.code: one.numbers for one in found}
    unknown = numbers.get(Code.UNKNOWN_SCALES, {})
    out = np.full(k, Code.TOO_FEW_UNITS in numbers or len(unknown) > MANY_UNKNOWN * d)
    out[[int(name.removeprefix("pc")) - 1 for name in numbers.get(Code.OFFSET_COMPONENT, {})]] = True
    return out


def show(found: Sequence[ReleaseWarning]) -> None:
    """Show warnings as Python warnings, at the line of the user's code that led here."""
    for one in found:
        category = PrivacyWarning if one.code is Code.LARGE_DELTA else UserWarning
        warnings.warn(one.text, category, stacklevel=users_line())


class Warned(dict[Code, ReleaseWarning]):
    """Warnings of a stream so far, by their rules."""

    def keep(self, found: Sequence[ReleaseWarning]) -> list[ReleaseWarning]:
        """Keep the first warning of each rule. Return those that are new, which are to be shown."""
        new = [one for one in found if one.code not in self]
        self.update({one.code: one for one in new})
        return new


@functools.cache
def warn_if_not_compiled() -> None:
    """Warn, once per process, if the loops over units run in numpy. This depends on the installation only."""
    if not loops.compiled():
        warnings.warn(
            "eigenveil runs without its compiled loops: fits take longer, with the same results.\n"
            "Hint: Install a C compiler (gcc or clang) and reinstall eigenveil, or install a wheel.",
            NotCompiledWarning,
            stacklevel=users_line(),
        )
