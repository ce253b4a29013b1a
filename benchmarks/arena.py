"""Tracked PCA against DP-Gauss-1, whose clip is chosen for free.

    python benchmarks/arena.py                        # the public cells of the arena, 10 seeds
    python benchmarks/arena.py --family growing       # slow and skewed spectra at n = 2e4, 1e5, 5e5
    python benchmarks/arena.py --family heavy-tails   # pareto rows, rare spikes
    python benchmarks/arena.py --family small --seeds 40   # few columns, few rows
    python benchmarks/arena.py --family skewed        # log-normal factors
    python benchmarks/arena.py --family real          # real, public data; real_data.py has them
    python benchmarks/arena.py --cells flat           # cells whose name contains "flat"; prints only
    python benchmarks/arena.py --carry 0123456789ab   # after a change that touches few cells: see `carried`

Writes benchmarks/results/FAMILY.md. zeta = sqrt(1 - energy kept / best energy), smaller is better. Tracked pays
for everything: count, radii, sums, variances. The rival is given the number of units, and the best of six clipping
quantiles (.1 to .99), chosen by the true zeta, mean over seeds: more than it could have. It is shown with its
printed noise (the same on every entry), with ours (smaller by sqrt 2 off the diagonal), and without noise: the
floor that the sample sets. All are under add-remove with the same epsilon and delta. 'Over ours' and its
upper 95 % limit are of the paired log-ratio to the rival with our noise. `first-edition.csv` has the zeta of our
first edition.
On few rows the rival is DP-Gauss-1 with our noise at one of four fixed clips (`gauss_1_for_free.FIXED`).
Real data are fetched by pip; what cannot be had is left out.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import csv
import functools
import math
import pathlib
import statistics
import warnings
from dataclasses import dataclass

import stamp
from cells import FAMILIES, TUNED, Cell, Drawn, available
from gauss_1_for_free import FIXED, RIVALS, fixed_clips, gauss_1
from harness import cached, in_parallel, kept, parser, table, write
from scipy import stats

from eigenveil import metrics
from eigenveil.algorithms import tracked_pca
from eigenveil.engines import LocalEngine

COLUMNS = (
    *("cell", "k", "tracked", "DP-Gauss-1*", "our noise*", "no noise*", "over ours", "log <"),
    *("first edition", "over it"),
)

AGREE = 2
"""How many seeds must agree for earlier results to be kept."""
Zetas = dict[tuple[int, str], list[float]]
"""By number of components and method."""


def one(job: tuple[str, str, int]) -> Zetas:
    """All methods on one data set; what was found is kept, so that a run that was stopped goes on."""
    family, name, seed = job
    cell = next(cell for cell in FAMILIES[family]() if cell.name == name)
    drawn = functools.cache(lambda: cell.draw(1000 + seed))
    rival = fixed_clips if is_few(cell) else gauss_1
    rivals = kept(f"rivals-{name}-{seed}-{stamp.data()}", lambda: listed(rival(cell, drawn(), seed)))
    ours = kept(f"tracked-{name}-{seed}-{stamp.code()}", lambda: listed(tracked(cell, drawn(), seed)))
    return {(k, method): zetas for k, method, zetas in rivals + ours}


def is_few(cell: Cell) -> bool:
    """Whether a cell is one of few rows."""
    return cell.name.startswith("few ")


def listed(zetas: Zetas) -> list[tuple[int, str, list[float]]]:
    """The same in a form that JSON has."""
    return [(k, method, values) for (k, method), values in zetas.items()]


def carried(cell: Cell, seeds: int, before: str) -> bool:
    """Keep what earlier code found on a cell, if its first two seeds, run again, agree to the bit."""
    stamps = (before, stamp.code())
    files = [tuple(cached(f"tracked-{cell.name}-{seed}-{one}") for one in stamps) for seed in range(seeds)]
    if not all(old.exists() for old, _ in files):
        return False
    if any(old.read_text() != new.read_text() for old, new in files[:AGREE]):
        return False
    for old, new in files[AGREE:]:
        new.write_text(old.read_text())
    return True


def tracked(cell: Cell, data: Drawn, seed: int) -> Zetas:
    """Zeta of our method, for every k."""
    out = {}
    for k in cell.ks:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            release = tracked_pca(
                data.units, k, epsilon=1.0, delta=cell.delta, random_state=seed, engine=LocalEngine(1)
            )
        out[k, "tracked"] = [metrics.zeta(release.components, data.covariance)]
    return out


@functools.cache
def first_edition() -> dict[tuple[str, int], float]:
    """The zeta of our first edition, by cell and k (10 seeds, `small` 40)."""
    with (pathlib.Path(__file__).parent / "first-edition.csv").open() as lines:
        return {(line["cell"], int(line["k"])): float(line["zeta"]) for line in csv.DictReader(lines)}


@dataclass(frozen=True)
class Line:
    """A line of the table, and what the summary needs of it."""

    cells: list[str]
    log_ratio: float
    upper: float
    over_first: float | None


def compared(cell: Cell, k: int, results: dict[str, list[list[float]]]) -> Line:
    """Tracked against all others on one cell."""
    ours = [zetas[0] for zetas in results["tracked"]]
    rivals = {name: min(zip(*results[name], strict=True), key=statistics.mean) for name in RIVALS}
    logs = [math.log(a / b) for a, b in zip(ours, rivals["ours"], strict=True)]
    mean, first = statistics.mean(logs), first_edition().get((cell.name, k))
    upper = mean + half_width(logs)
    over = None if first is None else statistics.mean(ours) / first
    cells = [
        cell.name,
        f"{k}",
        f"{statistics.mean(ours):.3g} +- {half_width(ours):.1g}",
        *(f"{statistics.mean(rivals[name]):.3g}" for name in RIVALS),
        f"{math.exp(mean):.2f}",
        f"{upper:+.3f}",
        "" if first is None else f"{first:.3g}",
        "" if over is None else f"{over:.2f}",
    ]
    return Line(cells, mean, upper, over)


def half_width(values: list[float]) -> float:
    """Half of a 95 % interval for the mean."""
    return float(stats.t.ppf(0.975, len(values) - 1)) * statistics.stdev(values) / math.sqrt(len(values))


def main() -> None:
    """Run, print and write the table."""
    options = parser(__doc__)
    options.add_argument("--family", choices=FAMILIES, default="arena")
    options.add_argument("--cells", default="", help="only cells whose name contains this; nothing is written")
    options.add_argument("--seeds", type=int, default=10)
    options.add_argument("--carry", default="", help="the stamp of earlier code, whose results may be kept")
    options.add_argument("--processes", type=int, default=os.cpu_count())
    given = options.parse_args()
    family, seeds, carry = given.family, given.seeds, given.carry
    stamped = stamp.line()
    chosen = [cell for cell in FAMILIES[family]() if given.cells in cell.name and available(cell)]
    jobs = [(family, cell.name, seed) for cell in chosen for seed in range(seeds)]
    if carry:
        list(in_parallel(one, [job for job in jobs if job[2] < AGREE], given.processes))
        count = sum(carried(cell, seeds, carry) for cell in chosen)
        stamped += f" {count} of {len(chosen)} cells agree with code {carry} in {AGREE} seeds: from there."
    results: dict[tuple[str, int], dict[str, list[list[float]]]] = {}
    for (_, name, _), found in zip(jobs, in_parallel(one, jobs, given.processes), strict=True):
        for (k, method), zetas in found.items():
            results.setdefault((name, k), {}).setdefault(method, []).append(zetas)
    write(
        family,
        title=f"{family.capitalize().replace('-', ' ')}: tracked PCA against DP-Gauss-1 with its clip for free",
        about=_about(family, seeds),
        stamp=stamped,
        command=f"python benchmarks/arena.py{'' if family == 'arena' else f' --family {family}'} --seeds {seeds}",
        body=_tables(family, chosen, results),
        keep=not given.cells,
    )


def _tables(family: str, chosen: list[Cell], results: dict[tuple[str, int], dict[str, list[list[float]]]]) -> str:
    """A table and its summary; of real data two, since some are never tuned on."""
    few = [cell for cell in chosen if is_few(cell)]
    parts = {"": [cell for cell in chosen if not is_few(cell)]}
    if family == "real":
        parts = _halves("", chosen)
    text = []
    for title, cells in parts.items():
        found = [compared(cell, k, results[cell.name, k]) for cell in cells for k in cell.ks]
        if found:
            text += [title] if title else []
            text += [table(COLUMNS, [line.cells for line in found]), _summary(found)]
    over: list[float] = []
    for title, cells in _halves("Few rows: ", few).items():
        if cells:
            lines, ratios = few_rows(cells, results)
            text += [title, lines, f"Over the best of four fixed clips: {_ratios(ratios)}."]
            over += ratios
    if over:
        text += [f"Both halves: {_ratios(over)} (bar: 1.06, at most 1.5; goal: 1.00, at most 1.25)."]
    return "\n\n".join(text)


def _halves(title: str, cells: list[Cell]) -> dict[str, list[Cell]]:
    """Cells of real data that constants may have been chosen on, and the others, under their headings."""
    tuned, never = (f"{title}{name}" for name in ("may be tuned on", "never tuned on"))
    return {
        f"## {tuned[0].upper()}{tuned[1:]}": [cell for cell in cells if cell.source in TUNED],
        f"## {never[0].upper()}{never[1:]}": [cell for cell in cells if cell.source not in TUNED],
    }


def few_rows(
    cells: list[Cell], results: dict[tuple[str, int], dict[str, list[list[float]]]]
) -> tuple[str, list[float]]:
    """A table of tracked against each fixed clip, and its zeta over the best of them in each line."""
    rows, ratios = [], []
    for cell, k in [(one, k) for one in cells for k in one.ks]:
        ours = [zetas[0] for zetas in results[cell.name, k]["tracked"]]
        clips = [statistics.mean(values) for values in zip(*results[cell.name, k]["fixed"], strict=True)]
        mean = statistics.mean(ours)
        ratios.append(mean / min(clips))
        shown = (f"{one:.3f}" for one in clips)
        spread = f"{mean:.3f} +- {half_width(ours):.1g}"
        rows.append([cell.name.removeprefix("few "), f"{k}", spread, *shown, f"{ratios[-1]:.2f}"])
    head = ("cell", "k", "tracked", *(f"clip {one:g}" for one in FIXED), "over the best")
    return table(head, rows), ratios


def _ratios(ratios: list[float]) -> str:
    mean = math.exp(statistics.mean(map(math.log, ratios)))
    above = sum(one > 1.05 for one in ratios)
    return f"geometric mean {mean:.3f}, at most {max(ratios):.2f}, above 1.05 in {above} of {len(ratios)}"


def _about(family: str, seeds: int) -> str:
    lines = [
        f"zeta, smaller is better; mean of {seeds} seeds (of data from 1000, of noise from 0), 95 % half width.",
        "epsilon = 1; delta = .01 for spiked, 1e-6 else. 'Over ours' is zeta over that of 'our noise*'.",
        "`benchmarks/arena.py` says what each is given.",
    ]
    if family == "real":
        lines += [
            "The rows' own covariance is the true one, so 'no noise' is clip bias alone.",
            "The mean is free. Tables whose columns have different units are standardised for free.",
            "Where n is all rows, seeds differ in noise alone. `python benchmarks/real_data.py` lists the data.",
        ]
    if family == "small":
        lines += [
            "Few rows: real data, as in real.md; their own covariance is the true one. The rival is DP-Gauss-1",
            "with our noise, .97 of mu^2, the number of units for free, and a fixed quantile of the norms as its",
            "clip. 'Over the best' is over the least mean of four such clips.",
        ]
    return "\n".join(lines)


def _summary(lines: list[Line]) -> str:
    uppers = [line.upper for line in lines]
    above = [sum(upper > limit for upper in uppers) for limit in (0.0, 0.05)]
    counts = f"above 0 in {above[0]} of {len(uppers)}, above .05 in {above[1]}"
    mean = math.exp(statistics.mean(line.log_ratio for line in lines))
    text = [f"Against our noise*: geometric mean {mean:.3f}; upper limit at most {max(uppers):+.3f}, {counts}."]
    over = [line.over_first for line in lines if line.over_first is not None]
    if over:
        mean = math.exp(statistics.mean(map(math.log, over)))
        most = f"at most {max(over):.2f}, above 1.05 in {sum(ratio > 1.05 for ratio in over)}"
        text.append(f"Over the first edition: geometric mean {mean:.3f}, {most}.")
    return "\n".join(text)


if __name__ == "__main__":
    main()
