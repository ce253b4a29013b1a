"""The answer of every table in one sentence, for benchmarks/README.md. All numbers come from the tables."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable

from lookup import MissingError, brief, cell, ends, number, numbers, page, rows, said, short, tables, whole

PLAIN, OURS = "scikit-learn, not private", "eigenveil"
ORDINARY = (
    *("normal", "normal, mean 50 sd", "normal, mean 300 sd", "uniform", "exponential", "poisson 4", "poisson .3"),
    *("flag 0.5", "flag 0.2", "flag 0.1", "flag 0.8", "flag 0.9"),
)
"""Columns of results/tables.md that are neither skewed nor rare flags."""
HEAVY = ("log-normal", "student", "pareto")
EIGH, RANDOMIZED = "over covariance_eigh", "over randomized"


# -- numbers that several texts quote ------------------------------------------------------------------


def over_plain(least: int, most: int, column: str = EIGH) -> list[float]:
    """Times of fits with so many columns, over plain ones; people and private scales are left out."""

    def wanted(row: str) -> bool:
        columns = int(row.split(" x ")[1].split(", k", maxsplit=1)[0].replace(",", ""))
        return least <= columns <= most and "people" not in row and "scaled" not in row

    return numbers("speed", column, wanted)


def mean_ratio(family: str, nth: int = 0) -> str:
    """The geometric mean of zeta over that of DP-Gauss-1."""
    return short(float(said(family, r"Against our noise\*: geometric mean ([\d.]+)", nth)))


def behind(family: str, nth: int = 0) -> tuple[str, str, str]:
    """In how many lines the upper limit is above .05, of how many lines, and the largest limit."""
    above, lines = said(family, r"above \.05 in (\d+)", nth), said(family, r"above 0 in \d+ of (\d+)", nth)
    most = float(said(family, r"upper limit at most ([-+][\d.]+)", nth))
    return above, lines, ("+" if most > 0 else "-") + brief(abs(most))


def datasets(under: str = "") -> int:
    """How many real data sets there are, under a heading of real.md or both."""
    headings = (under,) if under else ("May be tuned on", "Never tuned on")
    return len({row[0].split()[1] for one in headings for row in rows("real", "tracked", under=one)})


def scales_within() -> str:
    """How far 90 % of the scales of ordinary columns are from the standard deviation at most, in percent."""
    ends_of = [
        number(cell("tables", column, end, under="Scale")) for column in ORDINARY for end in ("5 %", "95 %")
    ]
    return whole(100 * max(abs(one - 1) for one in ends_of))


def phi(only: Callable[[str], bool]) -> list[list[float]]:
    """Rows of clip-bias.md with phi at every clip, on these data."""
    return [[float(value) for value in row[2:]] for row in rows("clip-bias", "0.5") if only(row[0])]


def is_real(row: str) -> bool:
    """Whether a row of clip-bias.md is of a real data set."""
    return not any(row.startswith(name) for name in ("decay", "skewed", "pareto", "real"))


def phi_within_two() -> str:
    """The share of real cases whose phi is within a factor of 2 of the median at the same clip, in percent."""
    columns = list(zip(*phi(is_real), strict=True))
    near = [0.5 <= one / statistics.median(column) <= 2 for column in columns for one in column]
    return whole(100 * sum(near) / len(near))


def channels() -> dict[str, str]:
    """Whether time depends on the unit, by what was changed in it."""
    found = rows("side-channels", "time depends")
    return {row[0]: verdict for row, verdict in found.items() if not row[0].startswith("equal data")}


def spark() -> tuple[str, str]:
    """The time of a fit by Spark over one by Dask, and the share of it that is opening the frame, in percent."""
    fit, opening = (float(row[1]) for row in rows("spark", ""))
    return whole(fit), whole(100 * opening / fit)


def _most_memory() -> str:
    """The larger of the two peaks of one-pass.md, in MB."""
    column = "beyond imports (goal < 300, and the same for both)"
    (both,) = rows("one-pass", column).values()
    return whole(max(float(one) for one in both.split(" and ")))


def exponent(letter: str) -> str:
    """How the time per pass grows."""
    return short(float(said("scaling", rf"grows as {letter}\^(-?[\d.]+)")))


def exceeding() -> int:
    """How many bounds of the audit exceed their claim, at 95 %."""
    return sum(number(bound) > number(row[2]) for row, bound in rows("audit", "95 %").items())


def smallest_zeta(name: str) -> tuple[int, int]:
    """In how many cells of a table of rivals no other private method has a smaller zeta, and of how many."""
    energies = next(one for one in tables(name) if "Energy" in one.heading)
    others = [place for place, name in enumerate(energies.head) if name not in ("cell", PLAIN)]
    ahead = 0
    for row in energies.rows:
        zetas = {place: float(found[1]) for place in others if (found := re.search(r"\((.+)\)", row[place]))}
        ahead += zetas[energies.head.index(OURS)] <= min(zetas.values())
    return ahead, len(energies.rows)


def accuracy_lost(epsilon: str) -> str:
    """Accuracy of a classifier on plain components, less that on private ones: least and most of all data sets."""
    found = rows("downstream", OURS, under="Accuracy")
    lost = [max(number(row[2]) - number(ours), 0.0) for row, ours in found.items() if row[1] == epsilon]
    return ends(lost, lambda one: short(one, 3))


def over_floor(n: str) -> list[float]:
    """Zeta over that of plain PCA with so many synthetic rows."""
    found = rows("growth", "eigenveil / PCA")
    return [number(ratio) for row, ratio in found.items() if row[2] == n and "patches" not in row[0]]


# -- answers -------------------------------------------------------------------------------------------


def _against_gauss_1(family: str) -> Callable[[], str]:
    def answer() -> str:
        above, lines, _ = behind(family)
        return f"zeta is {mean_ratio(family)} times as large (geometric mean); behind in {above} of {lines} lines."

    return answer


def _small() -> str:
    text = _against_gauss_1("small")()
    if "Both halves:" not in page("small"):  # made before there were cells of few rows
        return text
    found = [said("small", rf"Both halves: {what} ([\d.]+\d)") for what in ("geometric mean", ".*? at most")]
    mean, most = (short(float(one)) for one in found)
    return f"{text[:-1]}; on few rows {mean} times that of the best of four fixed clips, at most {most} times."


def _rivals(name: str) -> Callable[[], str]:
    return lambda: "No other private method has a smaller zeta in {} of {} cells.".format(*smallest_zeta(name))


def _real() -> str:
    tuned, others = (f"{mean_ratio('real', part)} times" for part in (0, 1))
    (a, n, _), (b, m, _) = behind("real", 0), behind("real", 1)
    return (
        f"zeta is {tuned} as large on data used for tuning (behind in {a} of {n} lines), "
        f"{others} on others ({b} of {m})."
    )


def _raw() -> str:
    (nothing, energy), (bounds, _) = (
        [number(cell("raw", (mode, what), "all")) for what in ("zeta over free", "energy")]
        for mode in ("nothing known", "bounds declared")
    )
    return (
        f"If nothing is known, zeta is {short(nothing)} times that with mean and scales free "
        f"(energy {short(energy)}), and {short(bounds)} times with bounds declared."
    )


def _long() -> str:
    parquet, feather, csv = (
        brief(number(cell("long", (kind, "rows"), "time"))) for kind in ("parquet", "feather", "csv")
    )
    return (
        f"Rows from Parquet take {parquet}, from Feather {feather} and from CSV {csv} times as long as in memory."
    )


def _cluster() -> str:
    one, two, bare = (row[1] for row in rows("cluster", ""))
    return (
        f"Dask takes {one} times as long as threads; a second worker makes a fit {two} times as fast "
        f"(bare processes: {bare})."
    )


def _side_channels() -> str:
    seen = [name for name, verdict in channels().items() if verdict == "yes"]
    return f"Of {len(channels())} changes, {len(seen)} were seen in time: {'; '.join(seen) or 'none'}."


def _uncertainty() -> str:
    column = "coverage, %"
    normal = numbers("uncertainty", column, lambda row: not row.startswith(HEAVY))
    heavy = numbers("uncertainty", column, lambda row: row.startswith(HEAVY))
    most, few = ends(normal, whole), ends(heavy, whole)
    return f"For normal data {most} % of the 95 % intervals do; with heavy tails {few} %."


def _stream() -> str:
    ours, never = (
        brief(number(cell("stream", ("decay", ".1 rad a batch", setting), "mean of last 15")))
        for setting in ("as it is (memory 50, drift seen)", "never forgets")
    )
    return f"If directions turn by .1 rad a batch, zeta stays at {ours}; without forgetting it is {never} (decay)."


def _sweep() -> str:
    constants = numbers("sweep", "mean", lambda row: "->" in row)
    parts = numbers("sweep", "mean", lambda row: row.startswith(("no ", "clipping is")))
    return (
        f"Without one of its parts zeta is {ends(parts, short)} times as large; constants halved or half as large "
        f"again make it {ends(constants, short)} times as large."
    )


def _audit() -> str:
    bounds = rows("audit", "95 %")
    return f"{exceeding() or 'None'} of {len(bounds)} bounds, at 95 %."


def _audit_faults() -> str:
    found = list(rows("audit-faults", "found").values())
    return f"{found.count('yes')} of {len(found)} planted faults were found."


def _audit_rivals() -> str:
    weak, strong = (
        " and ".join(short(one) for one in numbers("audit-rivals", column))
        for column in ("bound, 95 %", "bound, 1 - 1e-5")
    )
    stated = ends(numbers("audit-rivals", "stated"), brief)
    fits = " and ".join(short(one) for one in numbers("audit-rivals", "bound, 95 %", under="Whole"))
    return (
        f"For a stated epsilon of {stated} bounds of samplers are {weak} at 95 %, and {strong} at 1 - 1e-5; those "
        f"of whole fits of PCA {fits} at 95 %."
    )


def _figures() -> str:
    verdicts = ", ".join(f"{word.lower()}: {count}" for (word, *_), count in rows("figures", "claims").items())
    return f"Of the claims that can be checked, {verdicts}."


ANSWERS: dict[str, Callable[[], str]] = {
    "speed": lambda: (
        f"{ends(over_plain(100, 1000), whole)} times as long as scikit-learn's PCA at 100 to 1,000 columns, "
        f"{ends(over_plain(4000, 4000), brief)} at 4,000, {ends(over_plain(20, 36), whole)} at 20 to 36."
    ),
    "startup": lambda: (
        f"`eigenveil --help` takes {brief(number(cell('startup', '`eigenveil --help`', 'ratio')))} of the "
        f"time of `import sklearn.decomposition`, `from eigenveil import DPPCA` "
        f"{brief(number(cell('startup', '`from eigenveil import DPPCA`', 'ratio')))}."
    ),
    "sampler": lambda: (
        f"{whole(numbers('sampler', 'median ratio')[0])} times as long as numpy's, "
        f"which are not exact; OpenDP's exact noise {whole(numbers('sampler', 'median ratio')[2])} times."
    ),
    "one-pass": lambda: (
        f"{ends(numbers('one-pass', 'over `X.sum()` (goal 4)'), brief)} times as long as a sum of the array "
        f"(goal 4), "
        f"{ends(numbers('one-pass', 'over `X.T @ X`'), brief)} times as long as `X.T @ X`; at most "
        f"{_most_memory()} MB beyond imports (goal 300)."
    ),
    "scaling": lambda: f"Time per pass grows as n^{exponent('n')}, d^{exponent('d')} and k^{exponent('k')}.",
    "wide": lambda: (
        f"{cell('wide', '100,000 x 100,000', 'time')} times as long at 100,000 columns, "
        f"{cell('wide', '100,000 x 1,000,000', 'time')} at 1,000,000; "
        f"{short(number(cell('wide', '1', 'centred')))} of the "
        f"variance is found at epsilon 1, {short(number(cell('wide', '4', 'centred')))} at 4."
    ),
    "long": _long,
    "cluster": _cluster,
    "spark": lambda: "{} times as long; {} % of that is opening the frame.".format(*spark()),
    "side-channels": _side_channels,
    **{name: _rivals(name) for name in ("rivals", "rivals-others")},
    "all-private": lambda: (
        f"At epsilon 1, {short(number(cell('all-private', 'digits', 'energy ratio, mean')), 3)} of the best "
        f"on digits and {short(number(cell('all-private', 'MNIST', 'energy ratio, mean')), 3)} on MNIST."
    ),
    "real": _real,
    "downstream": lambda: (
        f"A classifier has {accuracy_lost('1')} less accuracy than with plain PCA at epsilon 1, and "
        f"{accuracy_lost('4')} at 4."
    ),
    "growth": lambda: (
        f"Synthetic rows: {ends(over_floor('1,000'), brief)} times the zeta of plain PCA at 1,000 rows, "
        f"{ends(over_floor('1,000,000'), short)} times at a million."
    ),
    **{name: _against_gauss_1(name) for name in ("arena", "growing", "heavy-tails", "skewed")},
    "small": _small,
    "raw": _raw,
    "planner": lambda: said("planner", r"(Within a factor of .* trusted predictions\.)"),
    "tables": lambda: (
        f"90 % of the scales of ordinary columns are within {scales_within()} %; components keep "
        f"{ends(numbers('tables', 'energy: private'), lambda one: short(one, 3))} of the best energy."
    ),
    "uncertainty": _uncertainty,
    "stream": _stream,
    "clip-bias": lambda: (
        f"The median share is {ends(phi(lambda row: row == 'real: median')[0], short)} on real data, for any "
        f"clip; {phi_within_two()} % of cases are within a factor of 2."
    ),
    "sweep": _sweep,
    "audit": _audit,
    "audit-faults": _audit_faults,
    "audit-rivals": _audit_rivals,
    "figures": _figures,
    "rerun": lambda: said("rerun", r"(\d+ of \d+ points agree .*)"),
    "pictures": lambda: f"{sum(len(row[0].split(', ')) for row in rows('pictures', 'picture'))} pictures are.",
}
"""By name of the table."""


def answer(name: str) -> str:
    """The answer of a table, if it was made."""
    try:
        page(name)
    except MissingError:
        return "Not made yet."
    return ANSWERS[name]()
