"""Check claims against tables, and write the verdicts."""

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
"""Mean zeta above which a method is considered to have learnt nothing from the data."""


class Form(StrEnum):
    """Form in which the paper's methods are run."""

    VALID = "as printed, valid noise"
    TRACKED = "tracked mean in k-DP-PCA"
    PRINTED = "printed noise, not private"


@dataclass(frozen=True)
class Finding:
    """Whether a claim holds in one form, with the numbers that show it.

    "in part": it holds at some points, at least half of them. "vacuously": it holds because the method it is
    compared with learns nothing.
    """

    holds: Literal["yes", "in part", "vacuously", "no"]
    numbers: str


Check = Callable[[Tables], Finding]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim of the paper, in our words, and its checks.

    Parameters
    ----------
    where : str
        Section or figure of the paper.
    says : str
        The claim.
    figures : tuple of str
        Figures on which it is checked; empty if it cannot be checked by measurement.
    checks : mapping
        Check for each form.
    note : str
        Replaces the verdict if there are no figures; otherwise a remark on it.
    """

    where: str
    says: str
    figures: tuple[str, ...] = ()
    checks: Mapping[Form, Check] = field(default_factory=dict)
    note: str = ""


# -- checks ----------------------------------------------------------------------------------------


def points(tables: Tables, figures: Sequence[str], method: str) -> dict[Place, Row]:
    """Return all points of a method in some figures."""
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
    """Check that `one` is below `factor` times the best of the others, at every point that all methods have.

    `somewhere`: one such point is enough. `of_anything`: the others may have learnt nothing.
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
            return Finding("vacuously", numbers)
        return Finding("yes" if somewhere or len(won) == len(shared) else "in part", numbers)

    return check


def ahead_at(figure: str, one: str, other: str, *, end: Literal["first", "last"], factor: float) -> Check:
    """Check that `one` is at most `factor` times the other, at the first or last x that both have."""

    def check(tables: Tables) -> Finding:
        mine, rival = (tables[figure].curve(method) for method in (one, other))
        shared = sorted(set(mine) & set(rival))
        x = shared[0 if end == "first" else -1]
        left, right = mine[x].mean, rival[x].mean
        numbers = f"at {x:g}: {_label(one)} {_short(left)}, {_label(other)} {_short(right)}"
        if left > factor * right:
            return Finding("no", numbers)
        return Finding("vacuously" if right > NOTHING_LEARNT else "yes", numbers)

    return check


def reaches(figure: str, method: str, *, zeta: float) -> Check:
    """Check that the method's mean is at most `zeta` at the last x."""

    def check(tables: Tables) -> Finding:
        row = max(tables[figure].curve(method).values(), key=lambda row: row.x)
        return Finding(_yes(row.mean <= zeta), f"{_label(method)} {_short(row.mean)} at {row.x:g}")

    return check


def learns_anywhere(figures: Sequence[str], method: str, *, zeta: float) -> Check:
    """Check that the method's mean is at most `zeta` at some point."""

    def check(tables: Tables) -> Finding:
        means = [row.mean for row in points(tables, figures, method).values()]
        return Finding(_yes(min(means) <= zeta), f"{_label(method)} {_range(means)}")

    return check


def improves(figure: str, method: str) -> Check:
    """Check that the mean decreases from each x to the next."""

    def check(tables: Tables) -> Finding:
        means = _means(tables[figure], method)
        falls = all(after < before for before, after in itertools.pairwise(means))
        return Finding(_yes(falls), f"{_label(method)} {', '.join(map(_short, means))}")

    return check


def level(figure: str, method: str, *, factor: float) -> Check:
    """Check that the largest mean is at most `factor` times the smallest."""

    def check(tables: Tables) -> Finding:
        means = _means(tables[figure], method)
        times = max(means) / min(means)
        numbers = f"{_label(method)} varies by {times:.3g} ({_range(means)})"
        if times <= factor and min(means) > NOTHING_LEARNT:
            return Finding("vacuously", numbers)
        return Finding(_yes(times <= factor), numbers)

    return check


def varies(figure: str, method: str, *, factor: float) -> Check:
    """Check that the largest mean is at least `factor` times the smallest."""

    def check(tables: Tables) -> Finding:
        means = _means(tables[figure], method)
        times = max(means) / min(means)
        return Finding(_yes(times >= factor), f"{_label(method)} varies by {times:.3g} ({_range(means)})")

    return check


def less_level(figure: str, one: str, other: str) -> Check:
    """Check that the means of `one` vary by a larger factor than the means of `other`."""

    def check(tables: Tables) -> Finding:
        both = [_means(tables[figure], method) for method in (one, other)]
        times = [max(means) / min(means) for means in both]
        numbers = f"{_label(one)} varies by {times[0]:.3g}, {_label(other)} by {times[1]:.3g}"
        if min(both[0]) > NOTHING_LEARNT:
            return Finding("no", f"{numbers}; {_label(one)} learns nothing at any rate ({_range(both[0])})")
        return Finding(_yes(times[0] > times[1]), numbers)

    return check


def slower(figure: str, one: str, others: Sequence[str]) -> Check:
    """Check that `one` grows more slowly with x than all others, by the slope of log zeta over log x."""

    def check(tables: Tables) -> Finding:
        slopes = {method: _slope(tables[figure], method) for method in (one, *others)}
        numbers = ", ".join(f"{_label(method)} {slope:.2f}" for method, slope in slopes.items())
        if min(_means(tables[figure], one)) > NOTHING_LEARNT:
            return Finding("no", f"slopes: {numbers}; {_label(one)} learns nothing, so it cannot get worse")
        return Finding(_yes(all(slopes[one] < slopes[other] for other in others)), f"slopes: {numbers}")

    return check


def grows_like(figure: str, powers: Mapping[str, float], *, within: float) -> Check:
    """Check that slopes of log zeta over log x differ from the claimed powers by at most `within`."""

    def check(tables: Tables) -> Finding:
        slopes = {method: _slope(tables[figure], method) for method in powers}
        numbers = ", ".join(
            f"{_label(method)} {slope:.2f} (claimed: {powers[method]:g})" for method, slope in slopes.items()
        )
        near = all(abs(slope - powers[method]) <= within for method, slope in slopes.items())
        return Finding(_yes(near), f"slopes: {numbers}")

    return check


def widens(before: str, after: str, one: str, other: str) -> Check:
    """Check that `one` leads by more in the figure `after` than in `before`, at every x that both have."""

    def check(tables: Tables) -> Finding:
        leads = [
            {x: tables[name].curve(other)[x].mean / row.mean for x, row in tables[name].curve(one).items()}
            for name in (before, after)
        ]
        shared = sorted(set(leads[0]) & set(leads[1]))
        ratios = "; ".join(f"at {x:g}: {leads[0][x]:.2g} to {leads[1][x]:.2g} times" for x in shared)
        if min(tables[before].curve(one)[x].mean for x in shared) > NOTHING_LEARNT:
            return Finding("no", f"{_label(one)} learns nothing; {_label(other)} over it: {ratios}")
        wider = [x for x in shared if leads[1][x] > max(leads[0][x], 1.0)]
        holds: Literal["yes", "in part", "no"] = "in part" if 2 * len(wider) >= len(shared) else "no"
        if len(wider) == len(shared):
            holds = "yes"
        return Finding(holds, f"{_label(other)} over {_label(one)}: {ratios}")

    return check


_HEAD = """\
# The paper's claims, checked

Written by `eigenveil reproduce claims` from the tables in [{folder}/]({folder}/); do not edit. The
claims are from the paper's experiment sections, in our words. zeta is the square root of the share
of energy lost: smaller is better.

A claim may be checked in up to three forms. The first form in which it holds decides:

- *as printed, valid noise*: k-DP-PCA with PrivRange and PrivMean, DP-Gauss-2 with
  propose-test-release, k-DP-Ojas with noise that is covered by a proof;
- *tracked mean in k-DP-PCA*: a radius search and a tracked centre instead of PrivRange and
  PrivMean, equally private;
- *printed noise, not private*: k-DP-Ojas or DP-Gauss-2 with the noise printed in the paper.

A method whose mean zeta stays above {nothing:g} has learnt nothing. "Matches" means within 10 %;
"nearly" and "clearly" mean a factor of 2; "level" means a factor of 1.5; "in part" means at half of
the points or more. All methods run under replace-one with n public. Parameter ranges that are not
printed in the paper are our choice; the first lines of each table list them.

| | where | claim | figures | verdict | numbers (zeta, mean) |
|---|---|---|---|---|---|"""

_LEGEND = (
    "Each plot has one panel for the baselines, one for the paper's methods, and one for the noise printed\n"
    "in the paper, whose dashed curves are not private. PCA without noise and tracked block iteration are\n"
    "in every panel. Shades are 95 % intervals of the mean. In the grid, bars are standard deviations.\n"
    "`eigenveil reproduce all --redraw` draws the plots again from the tables."
)

# -- verdicts --------------------------------------------------------------------------------------


def verdict(claim: Claim, tables: Tables) -> tuple[str, str]:
    """Return the verdict, and the numbers of every form."""
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
    if any(one.holds == "vacuously" for one in found.values()):
        return "**Holds vacuously**: the method it is compared with learns nothing"
    printed = ", nor with the printed noise" if Form.PRINTED in found else ""
    return f"**Not reproduced** under valid privacy{printed}"


def page(claims: Sequence[Claim], tables: Tables, figures: Mapping[str, Figure], *, folder: str) -> str:
    """Return all claims with their verdicts, and the figures, as Markdown."""
    lines = [_HEAD.format(folder=folder, nothing=NOTHING_LEARNT)]
    for number, claim in enumerate(claims, start=1):
        word, numbers = verdict(claim, tables)
        linked = ", ".join(f"[{name}]({folder}/{name}.svg)" if name in tables else name for name in claim.figures)
        lines.append(f"| {number} | {claim.where} | {claim.says} | {linked} | {word} | {numbers} |")
    lines += ["", "## Figures", "", _LEGEND]
    for name, table in tables.items():
        lines += _figure_lines(figures[name], table.command, f"{folder}/{name}")
    lines += ["", "## Methods", "", "| curve | how it is run |", "|---|---|"]
    lines += [f"| {method.label} | {method.what} |" for method in METHODS.values()]
    return "\n".join([*lines, ""])


def _figure_lines(figure: Figure, command: str, stem: str) -> list[str]:
    return [
        "",
        f"### {figure.title}",
        "",
        f"Paper: {figure.paper}. According to the paper: {figure.says} Our choices: {figure.choice}",
        "",
        f"![{figure.title}]({stem}.svg)",
        "",
        f"`{command}`, [numbers]({stem}.csv)",
    ]


# -- helpers ---------------------------------------------------------------------------------------


def _yes(holds: object) -> Literal["yes", "no"]:
    return "yes" if holds else "no"


def _means(table: Table, method: str) -> list[float]:
    """Return the means of a method, in order of x."""
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
