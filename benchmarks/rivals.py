"""eigenveil beside every alternative, on the same data at the same epsilon: energy, zeta, time, memory.

    make rivals                                   # builds environments for diffprivlib and OpenDP, and runs this
    python benchmarks/rivals.py --others          # few columns, slow spectra, skewed rows and heavy tails
    python benchmarks/rivals.py --cells digits    # cells whose name contains this; prints only
    python benchmarks/rivals.py --diffprivlib PYTHON --opendp PYTHON     # environments elsewhere

Every fit is a process of its own with one thread and a time limit (with its start and the reading of data). Two
cells are worked on at a time, on two cores, so that a fit has another one beside it (but for the last). A method
that fails on a data set is not tried on the next ones of that cell. What was found is kept (benchmarks/.cache), so
that a run that was stopped goes on.

All have epsilon = 1 (OpenDP half of it, since by its own map it spends twice that), the cell's delta, rows of mean
0 and, where a method knows it, one row added or removed. What they are given besides:

- eigenveil and the paper's methods: nothing. DP-Gauss-1 buys its clip as `eigenveil.dp_gauss_1` does, and has the
  exact noise of the Gaussian mechanism or, "as printed", the paper's noise.
- CoinPress and AdaptiveCov: the number of rows; the largest eigenvalue, or the largest norm; more of rho than
  their papers take (`rival_covariances.py`).
- diffprivlib and OpenDP: the largest norm and, OpenDP, the number of rows. Both are pure epsilon-DP.

None of the last four knows units of several rows, or matrices ("rows only"). k-DP-PCA as printed takes parts of
the data by their places, which people that are found by their ids do not have ("no people"). R's dppca is not run
(CRAN). Its private directions rest on a bounded transformation of rows and noise on their covariance; "signs" does
that in numpy with rows scaled to length 1. (Its default directions are not private.) Seconds are over those of
scikit-learn's PCA in the same run; peaks are of the whole process, with what it imports.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import functools
import math
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace

import numpy as np
import stamp
from cells import FAMILIES, TUNED, Cell, Drawn, arena, available, decay, gaussian, real_rows
from harness import alone, kept, parser, say, table, write
from rival_fit import METHODS

from eigenveil import metrics

HERE = pathlib.Path(__file__).parent
OTHERS = {"diffprivlib 0.6.6": "diffprivlib", "OpenDP 0.16": "opendp"}
"""Libraries with an environment of their own, .venv-NAME."""
PLAIN, HOUSE, LITERAL = "scikit-learn, not private", "eigenveil", "k-DP-PCA as printed"
ROWS_ONLY = {PLAIN, "CoinPress", "AdaptiveCov", "signs, as R's dppca", *OTHERS}
SEEDS, LIMIT, AT_A_TIME = 3, 45.0, 2
REAL = (
    *("letter n=20,000", "caravan n=5,822", "patches8 n=100,000"),
    *("diamonds n=53,940", "weather n=23,007", "satimage n=6,435", "words n=26,423", "bikeshare n=8,645"),
)
"""Of the real data of cells.py, besides digits and mnist."""
OTHER_CELLS = (
    *("flat d=8 n=2,000", "slow n=20,000", "skewed decay d=10 n=20,000", "skewed root d=100 n=20,000"),
    *("pareto 4.5 d=50 n=10,000", "pareto 4.5 d=100 n=20,000"),
    *("rare spikes .01 d=5 n=20,000", "rare spikes .01 d=20 n=200,000"),
)
"""Of the families small, growing, skewed and heavy-tails of cells.py, for a table of their own."""
TUNED_HERE = ("digits", *(name for name in TUNED if any(one.startswith(f"{name} ") for one in REAL)))
REAL_DATA = f"Of the real data, methods may be tuned on {', '.join(TUNED_HERE)}; never on the others.\n"
FAILED = "did not finish"


@dataclass(frozen=True)
class Found:
    """What became of a method's fits to a cell: numbers, or why there are none."""

    energy: float = math.nan
    zeta: float = math.nan
    seconds: float = math.nan
    peak: float = math.nan
    why: str = ""


@dataclass(frozen=True)
class Setting:
    """How every fit is run: seconds that it may take, and interpreters of other libraries by method."""

    limit: float
    pythons: dict[str, pathlib.Path]


class Data:
    """A data set of a cell, drawn and written to a folder once a fit needs it."""

    def __init__(self, cell: Cell, seed: int, folder: pathlib.Path) -> None:
        self.cell, self.seed, self.folder = cell, seed, folder

    @functools.cached_property
    def drawn(self) -> Drawn:
        """Rows or matrices, and the truth."""
        drawn = self.cell.draw(1000 + self.seed)
        np.savez(self.folder / "data.npz", **drawn.arrays)
        if "ids" in drawn.arrays:
            np.savez(self.folder / "rows.npz", X=drawn.arrays["X"])
        return drawn

    def file(self, method: str) -> pathlib.Path | None:
        """What a method reads; None if it takes rows only, and these are not. To PLAIN, people are their rows."""
        arrays = set(self.drawn.arrays)
        if method == PLAIN and arrays == {"X", "ids"}:
            return self.folder / "rows.npz"
        return None if method in ROWS_ONLY and arrays != {"X"} else self.folder / "data.npz"


def cells() -> list[Cell]:
    """Two with few enough columns for all, then the arena's and real ones; matrices and many columns last."""
    small = [Cell(f"decay d={d} n=20,000", gaussian(20_000, decay(d)), (2, 5), 1e-6) for d in (6, 8)]
    real = [replace(cell, ks=cell.ks[:2]) for cell in real_rows() if cell.name.removeprefix("real ") in REAL]
    first = ("digits", "decay d=100", "flat d=100", "mnist", "real", "decay", "people", "flat", "spiked")
    rest = sorted(arena() + real, key=lambda cell: next(i for i, name in enumerate(first) if name in cell.name))
    return small + rest


def other_cells() -> list[Cell]:
    """Those of other families."""
    return [cell for family in FAMILIES.values() for cell in family() if cell.name in OTHER_CELLS]


def fitted(method: str, data: Data, k: int, setting: Setting) -> Found:
    """One fit in a process of its own, and the energy that its components keep."""
    if method == LITERAL and "ids" in data.drawn.arrays:
        return Found(why="no people")
    file = data.file(method)
    if file is None:
        return Found(why="rows only")
    out = data.folder / f"{list(METHODS).index(method)}.npy"
    case = {"method": method, "data": str(file), "k": k, "delta": data.cell.delta, "out": str(out)}
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    python = setting.pythons.get(method, sys.executable)
    try:
        took = alone(HERE / "rival_fit.py", case, python=python, timeout=setting.limit, env=environment)
    except subprocess.TimeoutExpired:
        return Found(why=FAILED)
    components = np.linalg.qr(np.load(out).T)[0].T
    energy = float(metrics.energy_ratio(components, data.drawn.covariance))
    return Found(energy, max(0.0, 1 - energy) ** 0.5, took["seconds"], took["peak"])


def found(method: str, data: Data, k: int, setting: Setting) -> Found:
    """The same, or what an earlier run found. Errors and missing libraries are not kept."""
    if method in setting.pythons and not setting.pythons[method].exists():
        return Found(why="not installed")
    code = re.sub(r"\W+", "-", stamp.stamp("rivals"))
    name = f"rival-{method}-{data.cell.name}-k={k}-{data.seed}-{setting.limit:g}s-{code}"
    try:
        return Found(**kept(name, lambda: asdict(fitted(method, data, k, setting))))
    except subprocess.CalledProcessError as error:
        named = re.findall(r"^[\w.]*?(\w*(?:Error|Exception))\b", error.stderr, flags=re.MULTILINE)
        return Found(why=named[-1] if named else f"exit {error.returncode}")


def over_seeds(cell: Cell, seeds: int, setting: Setting) -> dict[int, dict[str, Found]]:
    """For every k, means over data sets; a method that fails on one is not tried on the next, and says why."""
    results: dict[int, dict[str, list[Found]]] = {k: {method: [] for method in METHODS} for k in cell.ks}
    for seed in range(seeds):
        with tempfile.TemporaryDirectory() as folder:
            data = Data(cell, seed, pathlib.Path(folder))
            for k, so_far in results.items():
                going = [method for method, ones in so_far.items() if not any(one.why for one in ones)]
                for method in going:
                    one = found(method, data, k, setting)
                    so_far[method].append(one)
                    say(f"{cell.name}, k={k}, {method}: {one}")
    return {k: {method: _mean(ones) for method, ones in of_k.items()} for k, of_k in results.items()}


def _mean(ones: list[Found]) -> Found:
    if ones[-1].why:
        return ones[-1]
    numbers = [[getattr(one, name) for one in ones] for name in ("energy", "zeta", "seconds", "peak")]
    return Found(*(statistics.mean(values) for values in numbers))


def tables(results: dict[str, dict[str, Found]]) -> str:
    """A summary; then energy and zeta, time, and memory: a row per cell, a column per method."""
    lines = ["## Over all cells", summary(results)]
    for title, shown in (
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
            [cell, *(one.why or shown(one, of_cell[PLAIN]) for one in of_cell.values())]
            for cell, of_cell in results.items()
        ]
        lines += [f"## {title}", table(["cell", *METHODS], rows)]
    return "\n\n".join(lines)


def summary(results: dict[str, dict[str, Found]]) -> str:
    """How every method's zeta compares with eigenveil's on the cells that it finished, and how many these are."""
    rows = []
    for method in METHODS:
        pairs = [(of_cell[method], of_cell[HOUSE]) for of_cell in results.values()]
        done = [(one.zeta, ours.zeta) for one, ours in pairs if not one.why and not ours.why]
        ratios = [zeta / ours for zeta, ours in done if zeta > 0 and ours > 0]
        over = f"{statistics.geometric_mean(ratios):.2f}" if len(ratios) == len(done) > 0 else "-"
        worse = sum(zeta > ours for zeta, ours in done)
        unfinished = sum(one.why == FAILED for one, _ in pairs)
        rows.append((method, over, worse, len(done) - worse, unfinished, len(pairs) - len(done) - unfinished))
    head = ("method", "zeta over eigenveil's", "larger in", "not larger in", FAILED, "not run")
    return table(head, rows)


def main() -> None:
    """Run, print and write."""
    options = parser(__doc__)
    options.add_argument("--cells", default="", help="only cells whose name contains this; nothing is written")
    options.add_argument("--others", action="store_true", help="cells of other families, for another table")
    options.add_argument("--seeds", type=int, default=SEEDS, help="data sets a cell; only with 3 it is written")
    options.add_argument("--limit", type=float, default=LIMIT, help="seconds a fit; only with 45 it is written")
    for name in OTHERS.values():
        default = HERE.parent / f".venv-{name}" / "bin" / "python"
        options.add_argument(f"--{name}", type=pathlib.Path, default=default, help=f"a Python that has {name}")
    given = options.parse_args()
    stamped = stamp.line("rivals")
    setting = Setting(given.limit, {method: getattr(given, name) for method, name in OTHERS.items()})
    chosen = [
        cell
        for cell in (other_cells() if given.others else cells())
        if given.cells in cell.name and available(cell)
    ]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        of_cells = list(pool.map(lambda cell: over_seeds(cell, given.seeds, setting), chosen))
    results = {
        f"{cell.name}, k={k}": of_k
        for cell, of_cell in zip(chosen, of_cells, strict=True)
        for k, of_k in of_cell.items()
    }
    write(
        "rivals-others" if given.others else "rivals",
        title=f"Rivals{' on few columns, slow spectra, skewed rows and heavy tails' * given.others}: epsilon = 1",
        about=f"Means over {given.seeds} data sets a cell (seeds from 1000; noise has none), "
        f"{given.limit:.0f} s a fit at most. Every fit has one core, and another fit beside it.\n"
        "delta is .01 for spiked, 1e-6 else. Zeta over eigenveil's is a geometric mean over cells.\n"
        f"{REAL_DATA * (not given.others)}"
        "For free, CoinPress gets n and the largest eigenvalue; AdaptiveCov and OpenDP n and the largest norm;\n"
        "diffprivlib the largest norm; eigenveil and the paper's methods nothing.\n"
        "`benchmarks/rivals.py` says more, and what `signs` is.",
        stamp=stamped,
        command="python benchmarks/rivals.py --others" if given.others else "make rivals",
        body=tables(results),
        keep=(given.cells, given.seeds, given.limit) == ("", SEEDS, LIMIT),
    )


if __name__ == "__main__":
    main()
