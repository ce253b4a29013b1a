"""eigenveil beside every alternative, on the same data at the same epsilon: energy, zeta, time, memory.

    make rivals                                   # builds environments for diffprivlib and OpenDP, and runs this
    python benchmarks/rivals.py --cells digits    # cells whose name contains this; prints only

Every fit is a process of its own, with a time limit; one after the other, but for diffprivlib beside OpenDP. All
have epsilon = 1 (OpenDP half of it, since by its own map it spends twice that), the cell's delta, and rows of
mean 0. eigenveil and the house's other methods are given nothing; diffprivlib and OpenDP the largest norm and,
OpenDP, the number of rows. Both are pure epsilon-DP, and neither knows units of several rows or matrices ("rows
only"). R's dppca is not run (CRAN). Its private directions rest on a bounded transformation of rows and noise on
their covariance; "signs" does that in numpy with rows scaled to length 1. (Its default directions are not
private.) Seconds are over those of scikit-learn's PCA in the same run; peaks are of the whole process, with what
it imports.
"""

from __future__ import annotations

import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np
import stamp
from cells import Cell, Drawn, arena, available, decay, gaussian
from harness import alone, parser, say, table, write
from rival_fit import METHODS

from eigenveil import metrics

HERE = pathlib.Path(__file__).parent
OTHERS = {"diffprivlib 0.6.6": "diffprivlib", "OpenDP 0.16": "opendp"}
"""Libraries with an environment of their own, .venv-NAME."""
PLAIN = "scikit-learn, not private"
ROWS_ONLY = {PLAIN, "signs, as R's dppca", *OTHERS}


@dataclass(frozen=True)
class Found:
    """What became of a method's fits to a cell: numbers, or why there are none."""

    energy: float = float("nan")
    zeta: float = float("nan")
    seconds: float = float("nan")
    peak: float = float("nan")
    why: str = ""
    components: np.typing.NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)), repr=False)


def cells() -> list[Cell]:
    """Two with few enough columns for all, then the arena's: real data first, matrices and many columns last."""
    small = [Cell(f"decay d={d} n=20,000", gaussian(20_000, decay(d)), (2, 5), 1e-6) for d in (6, 8)]
    first = ("digits", "decay d=100", "flat d=100", "mnist", "decay", "people", "flat", "spiked")
    return small + sorted(arena(), key=lambda cell: next(i for i, name in enumerate(first) if name in cell.name))


def fitted(method: str, folder: pathlib.Path, arrays: set[str], *, k: int, delta: float, limit: float) -> Found:
    """One fit in a process of its own; energy is still to be measured on what it leaves in the folder."""
    rows = arrays == {"X"} or (method == PLAIN and "X" in arrays)  # without noise, people are their rows
    if method in ROWS_ONLY and not rows:
        return Found(why="rows only")
    python = pathlib.Path(sys.executable)
    if method in OTHERS:
        python = HERE.parent / f".venv-{OTHERS[method]}" / "bin" / "python"
        if not python.exists():
            return Found(why="not installed")
    data = folder / ("X.npz" if method == PLAIN else "data.npz")
    out = folder / f"{list(METHODS).index(method)}.npy"
    case = {"method": method, "data": str(data), "k": k, "delta": delta, "out": str(out)}
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    try:
        told = alone(HERE / "rival_fit.py", case, python=python, timeout=limit, env=environment)
    except subprocess.TimeoutExpired:
        return Found(why=f"did not finish in {limit:.0f} s")
    except subprocess.CalledProcessError as error:
        named = re.findall(r"^\w*(?:Error|Exception)\b", error.stderr, flags=re.MULTILINE)
        return Found(why=named[-1] if named else f"exit {error.returncode}")
    return Found(seconds=told["seconds"], peak=told["peak"], components=np.load(out))


def on_data(drawn: Drawn, k: int, delta: float, limit: float, *, methods: list[str]) -> dict[str, Found]:
    """Every method on one data set: the house's one after the other, other libraries side by side."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        np.savez(folder / "data.npz", **drawn.arrays)
        if "X" in drawn.arrays:
            np.savez(folder / "X.npz", X=drawn.arrays["X"])

        def fit(method: str) -> Found:
            return fitted(method, folder, set(drawn.arrays), k=k, delta=delta, limit=limit)

        found = {method: fit(method) for method in methods if method not in OTHERS}
        others = [method for method in methods if method in OTHERS]
        with ThreadPoolExecutor() as pool:
            found |= dict(zip(others, pool.map(fit, others), strict=True))
    return {method: one if one.why else measured(one, drawn) for method, one in found.items()}


def measured(found: Found, drawn: Drawn) -> Found:
    """With the energy that its components keep."""
    kept = metrics.energy_ratio(np.linalg.qr(found.components.T)[0].T, drawn.covariance)
    return replace(found, energy=kept, zeta=max(0.0, 1 - kept) ** 0.5, components=np.zeros((0, 0)))


def over_seeds(cell: Cell, seeds: int, limit: float) -> dict[int, dict[str, Found]]:
    """For every k, means over data sets; a method that fails on one is not tried on the next, and says why."""
    found: dict[int, dict[str, list[Found]]] = {k: {method: [] for method in METHODS} for k in cell.ks}
    for seed in range(seeds):
        drawn = cell.draw(1000 + seed)
        for k, so_far in found.items():
            going = [method for method, ones in so_far.items() if not any(one.why for one in ones)]
            for method, one in on_data(drawn, k, cell.delta, limit, methods=going).items():
                so_far[method].append(one)
                say(f"{cell.name}, k={k}, {method}: {one}")
    return {k: {method: _mean(ones) for method, ones in of_k.items()} for k, of_k in found.items()}


def _mean(found: list[Found]) -> Found:
    if found[-1].why:
        return found[-1]
    numbers = [[getattr(one, name) for one in found] for name in ("energy", "zeta", "seconds", "peak")]
    return Found(*(statistics.mean(values) for values in numbers))


def tables(results: dict[str, dict[str, Found]]) -> str:
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
        rows = [
            [cell, *(one.why or tell(one, found[PLAIN]) for one in found.values())]
            for cell, found in results.items()
        ]
        lines += [f"## {title}", table(["cell", *METHODS], rows)]
    return "\n\n".join(lines)


def main() -> None:
    """Run, print and write."""
    options = parser(__doc__)
    options.add_argument("--cells", default="", help="only cells whose name contains this; nothing is written")
    options.add_argument("--seeds", type=int, default=3, help="data sets a cell")
    options.add_argument("--limit", type=float, default=60.0, help="seconds that a fit may take")
    given = options.parse_args()
    stamped = stamp.line()
    results: dict[str, dict[str, Found]] = {}
    chosen = [cell for cell in cells() if given.cells in cell.name and available(cell)]
    for cell in chosen:
        for k, found in over_seeds(cell, given.seeds, given.limit).items():
            results[f"{cell.name}, k={k}"] = found
        write(
            "rivals",
            title="Rivals: epsilon = 1",
            about=f"Means over {given.seeds} data sets a cell, {given.limit:.0f} s a fit at most.\n"
            "delta is .01 for spiked, 1e-6 else.\n"
            "`benchmarks/rivals.py` says what each is given, and what `signs` is.",
            stamp=stamped,
            command="make rivals",
            body=tables(results),
            keep=not given.cells,
            show=cell is chosen[-1],
        )


if __name__ == "__main__":
    main()
