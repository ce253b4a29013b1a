"""How a claim is tried on tables, and how what came of it is told."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

import numpy as np

from eigenveil.experiments.figure import Figure
from eigenveil.experiments.methods import METHODS
from eigenveil.experiments.table import Row, Table

Tables = Mapping[str, Table]
Place = tuple[str, float | None, float]
"""Figure, panel and x."""
NOTHING_LEARNT = 0.8
"""A mean zeta above which a curve is taken to know nothing of the data."""


class Form(StrEnum):
    """What stands in for the paper's methods."""

    VALID = "as printed, valid noise"
    TRACKED = "tracked mean in k-DP-PCA"
    PRINTED = "printed noise, not private"


@dataclass(frozen=True)
class Finding:
    """Whether a claim holds in one form, and the numbers that say so.

    "in part": at some points, half of them at least. "emptily": it holds, since what it is compared with learns
    nothing.
    """

    holds: Literal["yes", "in part", "emptily", "no"]
    numbers: str


Check = Callable[[Tables], Finding]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What the paper says, in our words, and how it is tried.

    Parameters
    ----------
    where : str
        Section or label.
    says : str
        The claim.
    figures : tuple of str
        The figures it is tried on; none where it is no matter of measurement.
    checks : mapping
        By form.
    note : str
        In place of a verdict where there is no figure; else a word of caution.
    """

    where: str
    says: str
    figures: tuple[str, ...] = ()
    checks: Mapping[Form, Check] = field(default_factory=dict)
    note: str = ""


# -- checks ----------------------------------------------------------------------------------------


def points(tables: Tables, figures: Sequence[str], method: str) -> dict[Place, Row]:
    """All points of a method in some figures."""
    return {(name, row.panel, row.x): row for name in figures for row in tables[name].rows if row.method == method}


def ahead(
    figures: Sequence[str],
    one: str,
    others: Sequence[str],
    *,
    factor: float = 1.0,
    somewhere: bool = False,
    of_anything: bool = False,
) -> Check:
    """`one` is below `factor` times the best of the others, at every point that all have.

    `somewhere`: at one of them at least. `of_anything`: even if what it is compared with learns nothing.
    """

    def check(tables: Tables) -> Finding:
        mine = points(tables, figures, one)
        rivals = [points(tables, figures, other) for other in others]
        shared = [place for place in mine if all(place in rival for rival in rivals)]
        best = {place: min(rival[place].mean for rival in rivals) for place in shared}
        won = [place for place in shared if mine[place].mean < factor * best[place]]
        times = "" if factor == 1 else f" {factor:g} times"
        numbers = (
            f"{_label(one)} {_range(mine[place].mean for place in shared)}, "
            f"{'best of ' if len(others) > 1 else ''}{_labels(others)} {_range(best.values())}; "
            f"below{times} that in {len(won)} of {len(shared)} points"
        )
        if not won or (2 * len(won) < len(shared) and not somewhere):
            return Finding("no", numbers)
        empty = min(best[place] for place in won) > NOTHING_LEARNT and not of_anything
        if empty:
            return Finding("emptily", numbers)
        return Finding("yes" if somewhere or len(won) == len(shared) else "in part", numbers)

    return check


def ahead_at(figure: str, one: str, other: str, *, end: Literal["first", "last"], factor: float) -> Check:
    """At the first or last x that both have, `one` is at most `factor` times the other."""

    def check(tables: Tables) -> Finding:
        mine, rival = (tables[figure].curve(method) for method in (one, other))
        shared = sorted(set(mine) & set(rival))
        x = shared[0 if end == "first" else -1]
        left, right = mine[x].mean, rival[x].mean
        numbers = f"at {x:g}: {_label(one)} {_short(left)}, {_label(other)} {_short(right)}"
        if left > factor * right:
            return Finding("no", numbers)
        return Finding("emptily" if right > NOTHING_LEARNT else "yes", numbers)

    return check


def reaches(figure: str, method: str, *, zeta: float) -> Check:
    """At the last x, the method's mean is at most so much."""

    def check(tables: Tables) -> Finding:
        row = max(tables[figure].curve(method).values(), key=lambda row: row.x)
        return Finding(_yes(row.mean <= zeta), f"{_label(method)} {_short(row.mean)} at {row.x:g}")

    return check


def learns_anywhere(figures: Sequence[str], method: str, *, zeta: float) -> Check:
    """Somewhere the method's mean is at most so much."""

    def check(tables: Tables) -> Finding:
        means = [row.mean for row in points(tables, figures, method).values()]
        return Finding(_yes(min(means) <= zeta), f"{_label(method)} {_range(means)}")

    return check


def improves(figure: str, method: str) -> Check:
    """The mean falls from each x to the next."""

    def check(tables: Tables) -> Finding:
        means = _means(tables[figure], method)
        falls = all(after < before for before, after in itertools.pairwise(means))
        return Finding(_yes(falls), f"{_label(method)} {', '.join(map(_short, means))}")

    return check


def level(figure: str, method: str, *, factor: float) -> Check:
    """The largest mean is at most `factor` times the smallest."""

    def check(tables: Tables) -> Finding:
        means = _means(tables[figure], method)
        times = max(means) / min(means)
        numbers = f"{_label(method)} varies by {times:.3g} ({_range(means)})"
        if times <= factor and min(means) > NOTHING_LEARNT:
            return Finding("emptily", numbers)
        return Finding(_yes(times <= factor), numbers)

    return check


def varies(figure: str, method: str, *, factor: float) -> Check:
    """The largest mean is at least `factor` times the smallest."""

    def check(tables: Tables) -> Finding:
        means = _means(tables[figure], method)
        times = max(means) / min(means)
        return Finding(_yes(times >= factor), f"{_label(method)} varies by {times:.3g} ({_range(means)})")

    return check


def less_level(figure: str, one: str, other: str) -> Check:
    """The means of `one` vary by a larger factor than those of the other."""

    def check(tables: Tables) -> Finding:
        both = [_means(tables[figure], method) for method in (one, other)]
        times = [max(means) / min(means) for means in both]
        numbers = f"{_label(one)} varies by {times[0]:.3g}, {_label(other)} by {times[1]:.3g}"
        if min(both[0]) > NOTHING_LEARNT:
            return Finding("no", f"{numbers}; {_label(one)} learns nothing at any rate ({_range(both[0])})")
        return Finding(_yes(times[0] > times[1]), numbers)

    return check


def slower(figure: str, one: str, others: Sequence[str]) -> Check:
    """`one` grows more slowly with x than each of the others: slopes of log zeta over log x."""

    def check(tables: Tables) -> Finding:
        slopes = {method: _slope(tables[figure], method) for method in (one, *others)}
        numbers = ", ".join(f"{_label(method)} {slope:.2f}" for method, slope in slopes.items())
        if min(_means(tables[figure], one)) > NOTHING_LEARNT:
            return Finding("no", f"slopes: {numbers}; {_label(one)} learns nothing, so it cannot get worse")
        return Finding(_yes(all(slopes[one] < slopes[other] for other in others)), f"slopes: {numbers}")

    return check


def grows_like(figure: str, powers: Mapping[str, float], *, within: float) -> Check:
    """Slopes of log zeta over log x are what they are said to be, up to `within`."""

    def check(tables: Tables) -> Finding:
        slopes = {method: _slope(tables[figure], method) for method in powers}
        numbers = ", ".join(
            f"{_label(method)} {slope:.2f} (said: {powers[method]:g})" for method, slope in slopes.items()
        )
        near = all(abs(slope - powers[method]) <= within for method, slope in slopes.items())
        return Finding(_yes(near), f"slopes: {numbers}")

    return check


def widens(before: str, after: str, one: str, other: str) -> Check:
    """The lead of `one` over the other is larger in the second figure, at every x that both figures have."""

    def check(tables: Tables) -> Finding:
        leads = [
            {x: tables[name].curve(other)[x].mean / row.mean for x, row in tables[name].curve(one).items()}
            for name in (before, after)
        ]
        shared = sorted(set(leads[0]) & set(leads[1]))
        told = "; ".join(f"at {x:g}: {leads[0][x]:.2g} to {leads[1][x]:.2g} times" for x in shared)
        if min(tables[before].curve(one)[x].mean for x in shared) > NOTHING_LEARNT:
            return Finding("no", f"{_label(one)} learns nothing; {_label(other)} over it: {told}")
        wider = [x for x in shared if leads[1][x] > max(leads[0][x], 1.0)]
        holds: Literal["yes", "in part", "no"] = "in part" if 2 * len(wider) >= len(shared) else "no"
        if len(wider) == len(shared):
            holds = "yes"
        return Finding(holds, f"{_label(other)} over {_label(one)}: {told}")

    return check


_HEAD = """\
# What became of the paper's claims

Written by `eigenveil reproduce claims` from the tables in [{folder}/]({folder}/); do not edit. Claims are those of
the paper's experiments sections, in our words. zeta is the root of the share of energy lost: smaller is better.

A claim may be tried in up to three forms; the first that holds decides:

- *as printed, valid noise*: k-DP-PCA with PrivRange and PrivMean, DP-Gauss-2 by propose-test-release, k-DP-Ojas
  with noise that a proof covers;
- *tracked mean in k-DP-PCA*: a radius search and a tracked centre in place of PrivRange and PrivMean, as private;
- *printed noise, not private*: k-DP-Ojas or DP-Gauss-2 with the noise that the paper prints.

A curve whose mean zeta stays above {nothing:g} has learnt nothing. "Matches" means within 10 %, "nearly" and
"clearly" a factor of 2, "level" a factor of 1.5; "in part" means at half of the points or more. All methods run
under replace-one with n public. Ranges that the paper does not print are ours; each table says which, on top.

| | where | the paper claims | figures | verdict | numbers (zeta, mean) |
|---|---|---|---|---|---|"""

_LEGEND = "Dashed: not private. Shades are 95 % intervals of the mean; in the grid, bars are standard deviations."

# -- telling ---------------------------------------------------------------------------------------


def verdict(claim: Claim, tables: Tables) -> tuple[str, str]:
    """The verdict, and the numbers of every form."""
    if not claim.figures:
        return claim.note, ""
    missing = [name for name in claim.figures if name not in tables]
    if missing:
        return f"not run yet: `eigenveil reproduce {' '.join(missing)}`", ""
    if any(tables[name].quick for name in claim.figures):
        return "no verdict: the tables are from a quick run", ""
    found = {form: check(tables) for form, check in claim.checks.items()}
    numbers = "<br>".join(f"*{form.value}* ({one.holds}): {one.numbers}" for form, one in found.items())
    word = f"{_word(found)}. {claim.note}" if claim.note else f"{_word(found)}."
    return word, numbers


def _word(found: Mapping[Form, Finding]) -> str:
    for holds, how in (("yes", ""), ("in part", " in part")):
        holding = [form for form in Form if form in found and found[form].holds == holds]
        if holding[:1] == [Form.VALID]:
            return f"**Reproduced{how}**"
        if holding[:1] == [Form.TRACKED]:
            return f"**Reproduced{how} with the tracked mean only**; not with PrivRange and PrivMean"
        if holding:
            return f"**Reproduced{how} only with the printed noise**, which is not private"
    if any(one.holds == "emptily" for one in found.values()):
        return "**Holds emptily**: what is compared with learns nothing"
    beside = ", nor with the printed noise" if Form.PRINTED in found else ""
    return f"**Not reproduced** under valid privacy{beside}"


def page(claims: Sequence[Claim], tables: Tables, figures: Mapping[str, Figure], *, folder: str) -> str:
    """All claims with their verdicts, and the pictures, as Markdown."""
    lines = [_HEAD.format(folder=folder, nothing=NOTHING_LEARNT)]
    for number, claim in enumerate(claims, start=1):
        word, numbers = verdict(claim, tables)
        linked = ", ".join(f"[{name}]({folder}/{name}.svg)" if name in tables else name for name in claim.figures)
        lines.append(f"| {number} | {claim.where} | {claim.says} | {linked} | {word} | {numbers} |")
    lines += ["", "## The figures", "", _LEGEND]
    for name, table in tables.items():
        lines += _picture(figures[name], table.command, f"{folder}/{name}")
    lines += ["", "## How each curve is run", "", "| curve | how |", "|---|---|"]
    lines += [f"| {method.label} | {method.what} |" for method in METHODS.values()]
    return "\n".join([*lines, ""])


def _picture(figure: Figure, command: str, stem: str) -> list[str]:
    return [
        "",
        f"### {figure.title}",
        "",
        f"Paper: {figure.where}. It says: {figure.says} Here: {figure.choice}",
        "",
        f"![{figure.title}]({stem}.svg)",
        "",
        f"`{command}`, [numbers]({stem}.csv)",
    ]


# -- small things ----------------------------------------------------------------------------------


def _yes(holds: object) -> Literal["yes", "no"]:
    return "yes" if holds else "no"


def _means(table: Table, method: str) -> list[float]:
    """Means by growing x."""
    return [row.mean for _, row in sorted(table.curve(method).items())]


def _slope(table: Table, method: str) -> float:
    curve = sorted(table.curve(method).items())
    x, y = [math.log(at) for at, _ in curve], [math.log(row.mean) for _, row in curve]
    return float(np.polyfit(x, y, 1)[0])


def _label(method: str) -> str:
    return METHODS[method].label


def _labels(methods: Sequence[str]) -> str:
    return ", ".join(map(_label, methods))


def _short(value: float) -> str:
    return f"{value:.2g}"


def _range(values: Iterable[float]) -> str:
    numbers = sorted(values)
    return f"{_short(numbers[0])} to {_short(numbers[-1])}" if len(numbers) > 1 else _short(numbers[0])
