"""How zeta falls as n grows from 1,000 to 1,000,000, beside what a sample allows and the paper's lower bound.

    python benchmarks/growth.py                          # writes results/growth.md and docs/pictures/growth.svg
    python benchmarks/growth.py --rows 3162 --seeds 2    # n up to 3,162; prints only

epsilon = 1, delta = 1e-7, add-remove. Data are drawn from a seed; noise comes from the operating system. Rows have
mean 0 (of patches: less the mean of all), which is not bought, for all alike. Everything else is: number of rows,
radii, sums, variances. DP-Gauss-1 has our noise and buys its clip. PCA without privacy gets the same rows: its
zeta is the error that the sample has anyway.

The lower bound (corollary-lower-bound-spiked-cov) is for normal rows with k eigenvalues above others that are all
equal, so two families have one. Its constant is not known and is set to 1: compare slopes, and ratios between
families, not single values. Synthetic data have 50 columns; 1,000,000 rows of them take 400 MB. Patches of
photographs (192 columns) are taken without replacement, up to 316,228 of 531,720. All of these are the truth, so
the largest n has less sampling error than as many new rows would have.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import functools
import math
import pathlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import real_data
import stamp
from cells import decay, factors, flat, root
from curves import BOUND, GAUSS, OURS, PICTURES, PLAIN, Mean, draw, picture
from harness import in_parallel, kept, parser, table, write

from eigenveil import dp_gauss_1, metrics, tracked_pca
from eigenveil.engines import LocalEngine
from eigenveil.operators import Operator, samples
from eigenveil.theory import lower_bound_spiked

FloatArray = np.typing.NDArray[np.float64]
D, EPSILON, DELTA, SEEDS = 50, 1.0, 1e-7, 5
SCRIPT = stamp.digest([pathlib.Path(__file__)])
SIZES = (1_000, 3_162, 10_000, 31_623, 100_000, 316_228, 1_000_000)
METHODS = (OURS, GAUSS, PLAIN)
SHARED, SIGMA = (10.0, 5.0), 0.025
"""The signal that units have in common in the paper's experiments, and the deviation of what they add to it."""


@dataclass(frozen=True)
class Sample:
    """Units, the true covariance, and the mean of the units."""

    units: Operator
    covariance: FloatArray
    mean: FloatArray


@dataclass(frozen=True)
class Family:
    """What is drawn, from n and a seed; the number of components; spikes and sigma, if the bound is about it."""

    name: str
    about: str
    k: int
    draw: Callable[[int, int], Sample]
    spikes: tuple[float, ...] = ()
    sigma: float = math.nan
    most: int = SIZES[-1]

    def bound(self, n: int) -> float | None:
        """The paper's lower bound with constant 1."""
        if not self.spikes:
            return None
        return lower_bound_spiked(n, d=D, spikes=self.spikes, sigma=self.sigma, epsilon=EPSILON)


def spiked(d: int) -> FloatArray:
    """The eigenvalues 10, 5, .01, .01, ...."""
    return np.array([10.0, 5.0] + [0.01] * (d - 2))


def normal(eigenvalues: FloatArray) -> Callable[[int, int], Sample]:
    """Normal rows."""

    def draw(n: int, seed: int) -> Sample:
        drawn = factors(n, eigenvalues, skewed=False)(seed)
        return _of_rows(drawn.arrays["X"], drawn.covariance)

    return draw


def shared(n: int, seed: int) -> Sample:
    """V diag(10, 5) V^T + z z^T: the same signal in every unit."""
    rng = np.random.default_rng(seed)
    V = np.linalg.qr(rng.standard_normal((D, len(SHARED))))[0]
    Z = rng.standard_normal((n, D))
    Z *= SIGMA
    S = (V * SHARED) @ V.T
    return Sample(samples.spiked(V, SHARED, Z), S + SIGMA**2 * np.eye(D), S + Z.T @ Z / n)


def patches(n: int, seed: int) -> Sample:
    """Windows of photographs, less the mean of all windows."""
    X, (mean, covariance) = real_data.load("patches8"), _all_patches()
    chosen = np.sort(np.random.default_rng(seed).choice(len(X), n, replace=False))
    rows = X[chosen].astype(float)
    rows -= mean
    return _of_rows(rows, covariance)


@functools.cache
def _all_patches() -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of all windows, block by block."""
    X = real_data.load("patches8")
    total, moment = np.zeros(X.shape[1]), np.zeros((X.shape[1], X.shape[1]))
    for start in range(0, len(X), 2**14):
        block = X[start : start + 2**14].astype(float)
        total += block.sum(axis=0)
        moment += block.T @ block
    mean = total / len(X)
    return mean, moment / len(X) - np.outer(mean, mean)


def _of_rows(X: FloatArray, covariance: FloatArray) -> Sample:
    return Sample(samples.rows(X), covariance, X.T @ X / len(X))


FAMILIES = {
    one.name: one
    for one in (
        Family("spiked", "10, 5, .01, .01, ...", 2, normal(spiked(D)), (9.99, 4.99), 0.1),
        Family("flat", "10, 8, 6, 5, 4, 1, 1, ...", 5, normal(flat(D)), (9.0, 7.0, 5.0, 4.0, 3.0), 1.0),
        Family("decay", "10 * .7^i + .1", 2, normal(decay(D))),
        Family("slow", "10 / sqrt(i)", 2, normal(root(D))),
        Family("shared signal", "units of the paper's experiments, sigma = .025", 2, shared),
        Family("patches", "windows of two photographs, 192 columns", 5, patches, most=316_228),
    )
}


def one(job: tuple[str, int, int]) -> dict[str, float]:
    """Zeta of all methods on one data set; what was found is kept, so that a run that was stopped goes on."""
    name, n, seed = job
    found: dict[str, float] = kept(f"growth {name} {n} {seed} {stamp.code()} {SCRIPT}", lambda: zetas(*job))
    return found


def zetas(name: str, n: int, seed: int) -> dict[str, float]:
    """Zeta of all methods on the same units."""
    family = FAMILIES[name]
    sample = family.draw(n, 5000 + seed)
    options: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "engine": LocalEngine(1)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of noise
        components = {
            OURS: tracked_pca(sample.units, family.k, **options).components,
            GAUSS: dp_gauss_1(sample.units, family.k, **options).components,
            PLAIN: np.linalg.eigh(sample.mean)[1][:, ::-1][:, : family.k].T,
        }
    return {method: metrics.zeta(found, sample.covariance) for method, found in components.items()}


Found = dict[tuple[str, int], list[dict[str, float]]]
"""What was measured: by family and n, one for each seed."""


def mean_of(found: Found, name: str, n: int, method: str) -> Mean:
    """Geometric mean of a method's zeta."""
    return Mean.of_logarithms([one[method] for one in found[name, n]])


def rows(found: Found) -> list[list[str]]:
    """The lines of the table."""
    out = []
    for name, n in found:
        means = [mean_of(found, name, n, method) for method in METHODS]
        bound = FAMILIES[name].bound(n)
        ours, gauss, plain = (mean.value for mean in means)
        out.append(
            [
                *(name, f"{FAMILIES[name].k}", f"{n:,}"),
                *(f"{mean.value:.3g} ± {100 * mean.error:.0f} %" for mean in means),
                "" if bound is None else f"{bound:.3g}",
                *(f"{ours / plain:.3g}", f"{gauss / plain:.3g}"),
                "" if bound is None else f"{ours / bound:.3g}",
            ]
        )
    return out


def draw_picture(found: Found, path: pathlib.Path | None, seeds: int) -> None:
    """Draw a panel for each family."""
    note = (
        f"epsilon = {EPSILON:g}, delta = {DELTA:g}; geometric means of {seeds} data sets, "
        "bars: two standard errors. The bound holds for two families; its constant is unknown and set to 1."
    )
    names = list(dict.fromkeys(name for name, _ in found))
    with picture(path, rows=2, columns=3, size=(9.0, 5.6), note=note) as panels:
        for axes, name in zip([axes for row in panels for axes in row], names, strict=False):
            family, sizes = FAMILIES[name], [n for one, n in found if one == name]
            for method in METHODS:
                draw(axes, method, sizes, [mean_of(found, name, n, method) for n in sizes])
            if family.spikes:
                draw(axes, BOUND, sizes, [Mean(family.bound(n) or math.nan, 0.0) for n in sizes])
            axes.set(xscale="log", yscale="log", xlim=(SIZES[0] / 1.4, 1.4 * SIZES[-1]))
            axes.set_xticks(SIZES[::2], ["1k", "10k", "100k", "1M"])
            axes.yaxis.set_major_formatter("{x:g}")
            axes.minorticks_off()
            axes.set_title(f"{name}, k = {family.k}")
        for row in panels:
            row[0].set_ylabel("zeta (lower is better)")
        for axes in panels[-1]:
            axes.set_xlabel("number of rows n")


def main() -> None:
    """Run, print, write and draw."""
    options = parser(__doc__)
    options.add_argument("--rows", type=int, default=SIZES[-1], help="largest n; with another nothing is written")
    options.add_argument("--seeds", type=int, default=SEEDS, help="with another number nothing is written")
    options.add_argument("--processes", type=int, default=os.cpu_count())
    given = options.parse_args()
    stamped = stamp.line()
    whole = (given.rows, given.seeds) == (SIZES[-1], SEEDS)
    chosen = [
        name
        for name in FAMILIES
        if name != "patches" or real_data.here(name, functools.partial(real_data.ready, "patches8"))
    ]
    cases = [(name, n) for name in chosen for n in SIZES if n <= min(FAMILIES[name].most, given.rows)]
    jobs = [(*case, seed) for case in cases for seed in range(given.seeds)]
    found: Found = {case: [] for case in cases}
    for (name, n, _), measured in zip(jobs, in_parallel(one, jobs, given.processes), strict=True):
        found[name, n].append(measured)
    head = ("family", "k", "n", *METHODS, BOUND)
    write(
        "growth",
        title="Growth: zeta from a thousand to a million rows",
        about=_about(given.seeds),
        stamp=stamped,
        command="python benchmarks/growth.py",
        body="\n\n".join(
            [
                table((*head, f"{OURS} / PCA", f"{GAUSS} / PCA", f"{OURS} / bound"), rows(found)),
                "Families:",
                table(
                    ("family", "eigenvalues, or what it is"), [(one.name, one.about) for one in FAMILIES.values()]
                ),
            ]
        ),
        keep=whole,
    )
    draw_picture(found, PICTURES / "growth.svg" if whole else None, given.seeds)


def _about(seeds: int) -> str:
    return f"""zeta, smaller is better; geometric mean of {seeds} data sets ± standard error, in
percent (seeds from 0).
epsilon = {EPSILON:g}, delta = {DELTA:g}, add-remove; noise from the operating system.
PCA without privacy gets the same rows: its zeta is the error of the sample. The bound is a rate whose constant is
unknown and set to 1. `benchmarks/growth.py` says what is bought, and for which data the bound holds.
Patches: the largest n is more than half of all rows, which are the truth; the sample's error is small for that
reason too."""


if __name__ == "__main__":
    main()
