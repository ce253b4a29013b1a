"""How the constants and parts of tracked block iteration were chosen: each changed by itself, on quick cells.

    python benchmarks/sweep.py                # writes benchmarks/results/sweep.md
    python benchmarks/sweep.py --only SLOW    # changes whose name contains this; prints only

For each change: the geometric mean over cells of zeta over zeta with the defaults (same data, other noise), the
best and the worst cell. Below 1 is better. With few seeds two or three percent mean nothing, and in a
single cell ten may be chance: the table shows that the defaults lie on a plateau, not that they are the best.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import importlib
import math
import multiprocessing
import pathlib
import statistics
import sys
import warnings
from typing import Any

import numpy as np
from cells import FAMILIES, Cell

from eigenveil import metrics
from eigenveil.engines import LocalEngine
from eigenveil.subspace import tracked_pca
from eigenveil.subspace.tracking import Answer, State, Weights, plain_weights

RUN, ROUND = "eigenveil.subspace.tracked_run", "eigenveil.subspace.tracking"
CELLS = (
    "spiked sigma=1 n=2,000",
    "spiked sigma=.025 n=2,000",
    "decay d=100 n=20,000",
    "flat d=100 n=20,000",
    "digits",
    "slow n=20,000",
    "skewed n=20,000",
    "pareto 4.5 d=50 n=10,000",
    "skewed decay d=30 n=20,000",
    "skewed decay d=100 n=20,000",
    "rare spikes .01 d=10 n=50,000",
    "rare spikes .01 d=20 n=200,000",
)


def all_alike(state: State, _: int) -> Weights:
    """No weights, no damping."""
    return plain_weights(state.W.shape[1])


def as_it_came(_: State, answer: Answer, __: int) -> Answer:
    """Nothing is made of how far an answer lies from what was known."""
    return answer


def no_bias(*_: Any) -> float:
    """A block's clip bias has no price."""
    return 0.0


def constant(name: str, *values: float, module: str = RUN) -> dict[str, tuple[str, str, Any]]:
    """A constant moved to each value."""
    default = getattr(importlib.import_module(module), name)
    return {f"{name} {default:g} -> {value:g}": (module, name, value) for value in values}


CHANGES: dict[str, tuple[str, str, Any]] = {
    "Sigma is never asked for": (RUN, "WIDEST_MATRIX", 0),
    "the pilot always ends with Sigma": (RUN, "SLOW", 1e30),
    "all weights 1": (RUN, "best_weights", all_alike),
    "clip bias is not looked for": (RUN, "reconciled", as_it_came),
    "a block's clip bias has no price": (RUN, "bias_of_block", no_bias),
    "units are never taken for plenty": (RUN, "PLENTY", 0.0),
    "rows are never taken for skewed": (RUN, "WIDE", 1e30),
    "2 directions beyond k, not 5": ("", "oversampling", 2),
    "10 directions beyond k, not 5": ("", "oversampling", 10),
    **constant("PILOT_SHARE", 0.2, 0.4),
    **constant("PILOT_GROWTH", 2.0, 4.5),
    **constant("MATRIX_SHARE", 0.18, 0.4),
    **constant("SLOW", 2.0, 32.0),
    **constant("FINISH", 0.3, 1.0),
    **constant("PLENTY", 0.05, 0.45),
    **constant("SURELY", 0.0, 0.15),
    **constant("MOST_LOOK", 0.03, 0.12),
    **constant("CLIP_BY_NOISE", 1.5, 4.0),
    **constant("WIDE", 1.2, 2.0),
    **constant("CHANCE", 1.0, 4.0),
    **constant("FAVOUR", 1.0, 6.0),
    **constant("EXTRA_SHARE", 0.04, 0.16),
    **constant("CAUGHT_UP", 0.25, 0.8),
    **constant("QUANTILE", 0.3, 0.75, 0.9),
    **constant("CAREFUL", 0.6, 0.9),
    **constant("RADIUS_SHARE", 0.03, 0.12, module=ROUND),
    **constant("_BALANCE", 0.1, 0.9, module=ROUND),
    **constant("_LEAST_COLUMN", 0.03, 0.3, module=ROUND),
    **constant("_LEAST_INSIDE", 0.1, 0.5, module=ROUND),
}
DEFAULT = "default"


def cell_named(name: str) -> Cell:
    """A cell of any family."""
    return next(cell for family in FAMILIES.values() for cell in family() if cell.name == name)


def fits(job: tuple[str, int, tuple[str, ...]]) -> dict[str, list[float]]:
    """Log zeta for every k of a cell, for all changes on the same data."""
    name, seed, changes = job
    cell = cell_named(name)
    data = cell.draw(1000 + seed)

    def logs(**options: int) -> list[float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            budget = {"epsilon": 1.0, "delta": cell.delta, "random_state": seed, "engine": LocalEngine(1)}
            found = [tracked_pca(data.units, k, **budget, **options).components for k in cell.ks]
        return [math.log(metrics.zeta(components, data.covariance)) for components in found]

    out = {DEFAULT: logs()}
    for change in changes:
        module_name, attribute, value = CHANGES[change]
        if not module_name:
            out[change] = logs(**{attribute: value})
            continue
        module = importlib.import_module(module_name)
        before = getattr(module, attribute)
        setattr(module, attribute, value)
        out[change] = logs()
        setattr(module, attribute, before)
    return out


def main() -> None:
    """Run, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="changes whose name contains this; nothing is written")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    changes = tuple(change for change in CHANGES if options.only in change)
    jobs = [(cell, seed, changes) for cell in CELLS for seed in range(options.seeds)]
    found: dict[tuple[str, str], list[list[float]]] = {}
    with multiprocessing.Pool(os.cpu_count()) as pool:
        for (cell, seed, _), logs in zip(jobs, pool.imap(fits, jobs), strict=True):
            print(f"{cell}, seed {seed}", file=sys.stderr)
            for change, values in logs.items():
                found.setdefault((change, cell), []).append(values)
    lines = []
    for change in changes:
        ratios = {cell: float(np.mean(found[change, cell]) - np.mean(found[DEFAULT, cell])) for cell in CELLS}
        best, worst = min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__)
        ends = " | ".join(f"{math.exp(ratios[cell]):.2f}, {cell}" for cell in (best, worst))
        lines.append(f"| {change} | {math.exp(statistics.mean(ratios.values())):.3f} | {ends} |")
    head = [
        "# Parts and constants of tracked block iteration, each changed by itself",
        "",
        f"zeta over zeta with the defaults: geometric mean over {len(CELLS)} cells, {options.seeds} seeds.",
        f"Made by `python benchmarks/sweep.py --seeds {options.seeds}`, which says how to read it.",
        "",
        "| change | mean | best cell | worst cell |",
        "|---|---|---|---|",
    ]
    text = "\n".join([*head, *lines, ""])
    print(text)
    if not options.only:
        (pathlib.Path(__file__).parent / "results" / "sweep.md").write_text(text)


if __name__ == "__main__":
    main()
