"""eigenveil beside every alternative, on the same data at the same epsilon: energy, zeta, time, memory.

    make rivals                                   # builds environments for diffprivlib and OpenDP, and runs this
    python benchmarks/rivals.py --cells digits    # cells whose name contains this; prints only

Every fit is a process of its own, one after the other, with a time limit. All have epsilon = 1 (OpenDP half of it,
since by its own map it spends twice that), the cell's delta, k = 2, and rows of mean 0. eigenveil and the house's
other methods are given nothing; diffprivlib and OpenDP the largest norm and, OpenDP, the number of rows. Both are
pure epsilon-DP, and neither knows units of several rows or matrices ("rows only"). R's dppca is not run (CRAN).
Its private directions rest on a bounded transformation of rows and noise on their covariance; "signs" does that in
numpy with rows scaled to length 1. (Its default directions are not private.) Seconds are over those of
scikit-learn's PCA in the same run; peaks are of the whole process, with what it imports.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass

import numpy as np
from cells import Cell, Drawn, arena, available, decay, gaussian
from rival_fit import METHODS

from eigenveil import metrics

HERE = pathlib.Path(__file__).parent
OTHERS = {"diffprivlib 0.6.6": "diffprivlib", "OpenDP 0.16": "opendp"}
"""Libraries with an environment of their own, .venv-NAME."""
PLAIN = "scikit-learn, not private"
K = 2


@dataclass(frozen=True)
class Found:
    """What became of a method's fits to a cell: numbers, or why there are none."""

    energy: float = float("nan")
    zeta: float = float("nan")
    seconds: float = float("nan")
    peak: float = float("nan")
    why: str = ""


def cells() -> list[Cell]:
    """Two with few enough columns for all, then the arena's: real data first, matrices and many columns last."""
    small = [Cell(f"decay d={d} n=20,000", gaussian(20_000, decay(d)), (K,), 1e-6) for d in (6, 8)]
    first = ("digits", "decay d=100", "flat d=100", "mnist", "decay", "people", "flat", "spiked")
    return small + sorted(arena(), key=lambda cell: next(i for i, name in enumerate(first) if name in cell.name))


def fitted(method: str, drawn: Drawn, delta: float, limit: float) -> Found:
    """One fit in a process of its own."""
    python = sys.executable
    if method in OTHERS:
        if set(drawn.arrays) != {"X"}:
            return Found(why="rows only")
        own = HERE.parent / f".venv-{OTHERS[method]}" / "bin" / "python"
        if not own.exists():
            return Found(why="not installed")
        python = str(own)
    if method in (PLAIN, "signs, as R's dppca") and "X" not in drawn.arrays:
        return Found(why="rows only")
    with tempfile.TemporaryDirectory() as folder:
        data, out = f"{folder}/data.npz", f"{folder}/out.npy"
        arrays = {"X": drawn.arrays["X"]} if method == PLAIN else drawn.arrays
        np.savez(data, **arrays)
        command = [python, str(HERE / "rival_fit.py"), method, data, str(K), str(delta), out]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        try:
            done = subprocess.run(  # noqa: S603
                command, capture_output=True, text=True, timeout=limit, env=environment, check=False
            )
        except subprocess.TimeoutExpired:
            return Found(why=f"did not finish in {limit:.0f} s")
        if done.returncode:
            return Found(why=done.stderr.strip().splitlines()[-1].split(":")[0])
        components, told = np.load(out), json.loads(done.stdout.splitlines()[-1])
    kept = metrics.energy_ratio(np.linalg.qr(components.T)[0].T, drawn.covariance)
    return Found(kept, max(0.0, 1 - kept) ** 0.5, told["seconds"], told["peak"])


def over_seeds(method: str, cell: Cell, seeds: int, limit: float) -> Found:
    """The mean over data sets; the first that fails speaks for all."""
    found = []
    for seed in range(seeds):
        found.append(fitted(method, cell.draw(1000 + seed), cell.delta, limit))
        if found[-1].why:
            return found[-1]
    numbers = [[getattr(one, name) for one in found] for name in ("energy", "zeta", "seconds", "peak")]
    return Found(*(statistics.mean(values) for values in numbers))


def tables(results: dict[str, dict[str, Found]]) -> list[str]:
    """Energy and zeta, then time, then memory: a row per cell, a column per method."""
    lines = []
    for title, tell in (
        (
            "Energy kept over the best possible (zeta in brackets)",
            lambda one, _: f"{one.energy:.3f} ({one.zeta:.2g})",
        ),
        (
            "Seconds over scikit-learn's",
            lambda one, plain: "" if plain.why else f"{one.seconds / plain.seconds:.2g}",
        ),
        ("Peak memory, MB", lambda one, _: f"{one.peak:.0f}"),
    ):
        lines += [f"## {title}", "", f"| cell | {' | '.join(METHODS)} |", "|---" * (len(METHODS) + 1) + "|"]
        for cell, found in results.items():
            row = [one.why or tell(one, found[PLAIN]) for one in found.values()]
            lines.append(f"| {cell} | {' | '.join(row)} |")
        lines.append("")
    return lines


def main() -> None:
    """Run, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", default="", help="only cells whose name contains this; nothing is written")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds that a fit may take")
    options = parser.parse_args()
    results: dict[str, dict[str, Found]] = {}
    text = ""
    for cell in cells():
        if options.cells not in cell.name or not available(cell):
            continue
        results[cell.name] = {}
        for method in METHODS:
            results[cell.name][method] = over_seeds(method, cell, options.seeds, options.limit)
            print(f"{cell.name}, {method}: {results[cell.name][method]}", file=sys.stderr)
        text = "\n".join([*_head(options.seeds, options.limit), *tables(results)])
        if not options.cells:
            (HERE / "results" / "rivals.md").write_text(text)
    print(text)


def _head(seeds: int, limit: float) -> list[str]:
    return [
        "# Rivals: k = 2, epsilon = 1",
        "",
        f"Made by `make rivals` ({seeds} data set(s) a cell, {limit:.0f} s a fit).",
        "`benchmarks/rivals.py` says what each is given, and what `signs` is. delta is .01 for spiked, 1e-6 else.",
        "",
    ]


if __name__ == "__main__":
    main()
