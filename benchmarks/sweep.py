"""What each constant and part of tracked PCA is worth: each changed by itself, on quick cells.

    python benchmarks/sweep.py                # writes benchmarks/results/sweep.md
    python benchmarks/sweep.py --only wide    # changes whose name contains this; prints only
    python benchmarks/sweep.py --cells flat   # cells and raw tables whose name contains this; prints only

For each change: the geometric mean over cells of zeta over zeta with the defaults (same data, other noise), its
standard error over seeds, the best and the worst cell. Below 1 is better. Real cells are those that may be tuned
on. In a single cell ten percent may be chance. Constants of the frame are changed on those raw tables of raw.py on
which they may be chosen, with scale="private" and nothing known. There, noise is that of the operating system, and
a single table tells little.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import dataclasses
import math
import warnings
from typing import Any

import numpy as np
import raw
import real_data
import stamp
from cells import FAMILIES, Cell, available
from harness import in_parallel, kept, parser, table, write

from eigenveil import metrics
from eigenveil.algorithms import frame, standard
from eigenveil.algorithms.tracked import Tuning, tracked_pca
from eigenveil.engines import LocalEngine

CELLS = (
    "spiked sigma=1 n=2,000",
    "spiked sigma=.025 n=2,000",
    "decay d=100 n=20,000",
    "decay d=30 n=2,000",
    "flat d=100 n=20,000",
    "people 10 rows",
    "slow n=20,000",
    "skewed n=20,000",
    "pareto 4.5 d=50 n=10,000",
    "skewed decay d=30 n=20,000",
    "skewed root d=100 n=20,000",
    "rare spikes .01 d=10 n=50,000",
    "real digits n=1,797",
    "real flights n=20,000",
    "real caravan n=5,822",
    "real patches8 n=5,000",
    "real texture n=5,500",
    "real optdigits n=5,620",
    "real penbased n=10,992",
    "real magic n=19,020",
    "real spambase n=4,597",
)


def constant(name: str) -> dict[str, dict[str, Any]]:
    """A constant halved, and half as large again."""
    default = getattr(Tuning(), name)
    values = (default * 0.5, default * 1.5)
    values = tuple(round(value) for value in values) if isinstance(default, int) else values
    return {f"{name} {default:g} -> {value:g}": {"tuning": {name: value}} for value in values}


NAMES = (
    "sigma_share",
    "noise_goal",
    "wide_share",
    "curve_share",
    "inside",
    "turning",
    "near",
    "most_wide",
    "cheap_noise",
    "least_kept",
    "least_gap",
)
CHANGES: dict[str, dict[str, Any]] = {
    "no Sigma: a random start": {"tuning": {"widest_sigma": 0}},
    "no wide rounds": {"tuning": {"most_wide": 0}},
    "no narrow rounds": {"tuning": {"near": math.inf}},
    "no damping": {"tuning": {"inside": 1.0}},
    "Sigma is clipped even where noise is cheap": {"tuning": {"cheap_noise": 0.0}},
    "clipping is taken to turn nothing": {"tuning": {"turning": 0.0}},
    "5 spare directions, not 10": {"oversampling": 5},
    "15 spare directions, not 10": {"oversampling": 15},
    **{label: change for name in NAMES for label, change in constant(name).items()},
}
DEFAULT = "default"
HEAD = ("change", "mean", "best cell", "worst cell")
FRAME = (
    *((frame, name) for name in ("COUNT_NOISE", "MOST_COUNTS", "SUM_SHARE", "CENTRED", "HELD", "SURE", "LIKELY")),
    *((standard, name) for name in ("MEAN_NOISE", "QUANTILE")),
)
"""Constants of the frame and the mean, each in its module."""
FRAME_CHANGES = {
    f"{name} {value:g} -> {value * factor:g}": (module, name, value * factor)
    for module, name in FRAME
    for value in (getattr(module, name),)
    for factor in (0.5, 1.5)
}


def cell_named(name: str) -> Cell:
    """A cell of any family."""
    return next(cell for family in FAMILIES.values() for cell in family() if cell.name == name)


def chosen(only: str) -> list[str]:
    """Changes whose name contains this."""
    return [change for change in CHANGES if only in change]


def fits(job: tuple[str, int, str]) -> dict[str, list[float]]:
    """What `measured` finds, or found in an earlier run."""
    found: dict[str, list[float]] = kept(f"sweep-{'-'.join(map(str, job))}-{stamp.code()}", lambda: measured(*job))
    return found


def measured(name: str, seed: int, only: str) -> dict[str, list[float]]:
    """Log zeta for every k of a cell, for all chosen changes on the same data."""
    cell = cell_named(name)
    data = cell.draw(1000 + seed)

    def logs(tuning: dict[str, Any] | None = None, **options: Any) -> list[float]:
        changed = dataclasses.replace(Tuning(), **(tuning or {}))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            budget = {"epsilon": 1.0, "delta": cell.delta, "random_state": seed, "engine": LocalEngine(1)}
            found = [tracked_pca(data.units, k, **budget, **options, tuning=changed).components for k in cell.ks]
        return [math.log(metrics.zeta(components, data.covariance)) for components in found]

    return {DEFAULT: logs(), **{change: logs(**CHANGES[change]) for change in chosen(only)}}


def raw_fits(job: tuple[str, int, str]) -> dict[str, list[float]]:
    """Log zeta of a raw table with every chosen change of the frame, or what an earlier run found."""
    name, seed, only = job

    def make() -> dict[str, list[float]]:
        X = real_data.raw_tables()[name]

        def log() -> list[float]:
            return [math.log(max(raw.measured(X, **raw.known(X, "none")).zeta, raw.LEAST))]

        found = {DEFAULT: log()}
        for change, (module, constant, value) in FRAME_CHANGES.items():
            if only in change:
                before = getattr(module, constant)
                setattr(module, constant, value)
                try:
                    found[change] = log()
                finally:
                    setattr(module, constant, before)
        return found

    out: dict[str, list[float]] = kept(f"sweep-{name.replace('/', '-')}-{seed}-{only}-{stamp.code()}", make)
    return out


def tuned_tables() -> list[str]:
    """The raw tables on which constants may be chosen, if they can be had."""
    return list(real_data.raw_tables())[::2] if real_data.here("raw tables", real_data.raw_tables) else []


def compared(
    changes: list[str], cells: list[str], answers: list[tuple[str, dict[str, list[float]]]]
) -> list[list[str]]:
    """A row for every change: of log zeta by cell, once for each seed."""
    found: dict[tuple[str, str], list[list[float]]] = {}
    for cell, logs in answers:
        for change, values in logs.items():
            found.setdefault((change, cell), []).append(values)
    rows = []
    for change in changes:
        logs = np.array([np.subtract(found[change, cell], found[DEFAULT, cell]).mean(axis=1) for cell in cells])
        ratios = dict(zip(cells, logs.mean(axis=1), strict=True))
        by_seed = logs.mean(axis=0)
        error = by_seed.std(ddof=1) / math.sqrt(len(by_seed))
        best, worst = min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__)
        ends = [f"{math.exp(ratios[cell]):.2f}, {cell}" for cell in (best, worst)]
        rows.append([change, f"{math.exp(by_seed.mean()):.3f} +- {error:.3f}", *ends])
    return rows


def main() -> None:
    """Run, print and write the table."""
    options = parser(__doc__)
    options.add_argument("--only", default="", help="changes whose name contains this; nothing is written")
    options.add_argument("--cells", default="", help="cells whose name contains this; nothing is written")
    options.add_argument("--seeds", type=int, default=3)
    given = options.parse_args()
    stamped = stamp.line()
    cells = [name for name in CELLS if given.cells in name and available(cell_named(name))]
    jobs = [(cell, seed, given.only) for cell in cells for seed in range(given.seeds)]
    found = [(job[0], logs) for job, logs in zip(jobs, in_parallel(fits, jobs), strict=True)]
    parts = [table(HEAD, compared(chosen(given.only), cells, found))] if chosen(given.only) and cells else []
    changes = [change for change in FRAME_CHANGES if given.only in change]
    names = [name for name in tuned_tables() if given.cells in name] if changes else []
    if names:
        jobs = [(name, seed, given.only) for name in names for seed in range(given.seeds)]
        found = [(job[0], logs) for job, logs in zip(jobs, in_parallel(raw_fits, jobs), strict=True)]
        about = f"## The frame, on {len(names)} raw tables"
        parts += [about, table(HEAD, compared(changes, names, found))]
    write(
        "sweep",
        title="Parts and constants of tracked PCA, each changed by itself",
        about=f"zeta over zeta with the defaults: geometric mean over {len(cells)} cells, {given.seeds} seeds\n"
        "(of data from 1000, of noise from 0).\n"
        "`benchmarks/sweep.py` says how to read it.",
        stamp=stamped,
        command=f"python benchmarks/sweep.py --seeds {given.seeds}",
        body="\n\n".join(parts),
        keep=not given.only and not given.cells,
    )


if __name__ == "__main__":
    main()
