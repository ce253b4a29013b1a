"""Mixed tables: bought scales against standard deviations, and against the PCA of correlations that they lead to.

    python benchmarks/tables.py                      # writes benchmarks/results/tables.md
    python benchmarks/tables.py --scales 5 --fits 1  # a quick look; prints only

(epsilon, delta) = (1, 1e-6). All noise is drawn as in any fit. Tables are made up here; nothing is read.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import itertools
import warnings
from collections.abc import Callable

import numpy as np
import stamp
from harness import in_parallel, kept, parser, table, write

from eigenveil import DPPCA
from eigenveil.algorithms.release_warnings import Code
from eigenveil.engines import LocalEngine
from eigenveil.metrics import energy_ratio

FloatArray = np.typing.NDArray[np.float64]
SCALES, FITS, K = 300, 10, 3
MEASURES = {"energy": 3, "loadings": 3, "intervals": 2, "angles": 2}
"""What is told of components, and for how many of three ways to scale."""

Column = Callable[[np.random.Generator, int], FloatArray]


def flag(p: float) -> Column:
    """0 or 1."""
    return lambda rng, n: (rng.random(n) < p) * 1.0


KINDS: dict[str, Column] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "normal, mean 50 sd": lambda rng, n: rng.normal(size=n) + 50,
    "normal, mean 300 sd": lambda rng, n: 7 * rng.normal(size=n) + 2100,
    "uniform": lambda rng, n: rng.random(n),
    "exponential": lambda rng, n: 1e3 * rng.exponential(size=n),
    "log-normal .5": lambda rng, n: rng.lognormal(sigma=0.5, size=n),
    "log-normal 1": lambda rng, n: rng.lognormal(sigma=1.0, size=n),
    "log-normal 1.2": lambda rng, n: 1e4 * rng.lognormal(sigma=1.2, size=n),
    "30 % log-normal 1, else 0": lambda rng, n: flag(0.3)(rng, n) * rng.lognormal(sigma=1.0, size=n),
    "student t3": lambda rng, n: rng.standard_t(3, size=n),
    "poisson 4": lambda rng, n: rng.poisson(4, n) * 1.0,
    "poisson .3": lambda rng, n: rng.poisson(0.3, n) * 1.0,
    **{f"flag {p:g}": flag(p) for p in (0.5, 0.2, 0.1, 0.06, 0.03, 0.01, 0.8, 0.9, 0.94, 0.97, 0.99)},
    "5 % 81.1, else 37.3": lambda rng, n: np.where(rng.random(n) < 0.05, 81.1, 37.3),
    "constant 0": lambda _, n: np.zeros(n),
    "constant 5": lambda _, n: np.full(n, 5.0),
    "1 % at 1e6, else normal": lambda rng, n: np.where(rng.random(n) < 0.01, 1e6, rng.normal(size=n)),
}
"""One column of each in every table of the first part; normal ones fill it up to 40."""


# -- scales ------------------------------------------------------------------------------------------


def some_scales(job: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
    """Scale over standard deviation of one of each kind, and the relative errors that the release states.

    An error is infinite where a warning says that noise may explain the whole variance.
    """
    seed, n = job
    rng = np.random.default_rng(seed)
    columns = [make(rng, n) for make in KINDS.values()]
    X = np.column_stack([*columns, rng.normal(size=(n, 40 - len(columns)))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pca = DPPCA(K, epsilon=1.0, delta=1e-6, scale="private", engine=LocalEngine(1)).fit(X)
    spread = X.std(axis=0)
    errors = pca.release_.scale_errors
    assert errors is not None
    hidden = {name for one in pca.warnings_ if one.code is Code.UNKNOWN_SCALES for name in one.numbers}
    stated = [np.inf if f"column {j}" in hidden else float(errors[j]) for j in range(len(columns))]
    return (pca.scale_ / np.where(spread > 0, spread, 1.0))[: len(columns)], np.array(stated)


def table_of_scales(fits: int, n: int) -> str:
    """The first table."""
    results = list(in_parallel(some_scales, [(seed, n) for seed in range(fits)]))
    ratios, errors = (np.array([result[part] for result in results]) for part in (0, 1))
    rows = []
    for j, name in enumerate(KINDS):
        of_one = ratios[:, j]
        known = np.isfinite(errors[:, j])
        told = [*np.quantile(of_one, [0.5, 0.05, 0.95]), of_one.min(), of_one.max()]
        stated = f"{np.median(errors[known, j]):.2f}" if known.any() else ""
        shown = (f"{value:.2f}" if value >= 0.01 or value == 0 else f"{value:.0e}" for value in told)
        rows.append([name, *shown, stated, f"{1 - known.mean():.0%}"])
    return table(("column", "median", "5 %", "95 %", "least", "most", "stated error", "hidden"), rows)


# -- components --------------------------------------------------------------------------------------


def clinic(rng: np.random.Generator, n: int, *, labs: int, flags: int, money: int, counts: int) -> FloatArray:
    """Columns that four hidden traits drive: labs of scales 1e-3 to 1e4, flags, skewed money, counts."""
    hidden = rng.normal(size=(n, 4)) * [1.0, 0.8, 0.6, 0.5]

    def driven(columns: int) -> FloatArray:
        weights = rng.normal(size=(4, columns)) * 0.9
        out: FloatArray = hidden @ weights + rng.normal(size=(n, columns))
        return out / out.std(axis=0)

    units = 10.0 ** rng.uniform(-3, 4, size=labs)
    parts = [
        (driven(labs) + rng.uniform(-5, 20, size=labs)) * units,
        (driven(flags) > rng.normal(size=flags) * 0.8) * 1.0,
        np.exp(rng.uniform(0.4, 0.9, size=money) * driven(money)) * 1e3,
        np.floor(np.exp(0.5 * driven(counts) + rng.uniform(0, 2, size=counts))),
    ]
    return np.concatenate(parts, axis=1)


def tables() -> dict[str, dict[str, int]]:
    """Ten recipes."""
    return {
        "labs": {"n": 20_000, "labs": 20, "flags": 0, "money": 0, "counts": 0},
        "labs and flags": {"n": 20_000, "labs": 15, "flags": 5, "money": 0, "counts": 0},
        "flags": {"n": 20_000, "labs": 0, "flags": 20, "money": 0, "counts": 0},
        "counts": {"n": 20_000, "labs": 0, "flags": 0, "money": 0, "counts": 20},
        "money": {"n": 20_000, "labs": 0, "flags": 0, "money": 20, "counts": 0},
        "mixed": {"n": 20_000, "labs": 8, "flags": 4, "money": 4, "counts": 4},
        "mixed, wide": {"n": 20_000, "labs": 30, "flags": 10, "money": 10, "counts": 10},
        "mixed, 10 columns": {"n": 10_000, "labs": 4, "flags": 2, "money": 2, "counts": 2},
        "mixed, n = 10,000": {"n": 10_000, "labs": 20, "flags": 8, "money": 4, "counts": 8},
        "mixed, n = 100,000": {"n": 100_000, "labs": 16, "flags": 8, "money": 8, "counts": 8},
    }


def one_fit(job: tuple[str, int]) -> dict[str, tuple[float, ...]]:
    """What `compared` finds, or found in an earlier run."""
    name = f"tables-{job[0]}-{job[1]}-{stamp.stamp('estimators')}"
    found: dict[str, tuple[float, ...]] = kept(name, lambda: compared(*job))
    return found


def compared(name: str, seed: int) -> dict[str, tuple[float, ...]]:
    """Energy and loadings against the PCA of correlations, and coverage, for three ways to scale."""
    recipe = dict(tables()[name])
    n = recipe.pop("n")
    X = clinic(np.random.default_rng(seed), n, **recipe)
    spread = X.std(axis=0)
    correlations = np.corrcoef(X.T)
    vectors = np.linalg.eigh(correlations)[1]
    best = vectors[:, ::-1][:, :K]
    out: dict[str, tuple[float, ...]] = {}
    for how, scale in (("private", "private"), ("public", spread), ("none", None)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pca = DPPCA(K, scale=scale, engine=LocalEngine(1)).fit(X)
        U = pca.components_.T if scale is not None else np.linalg.qr(spread[:, None] * pca.components_.T)[0]
        energy = energy_ratio(U.T, correlations)
        loading = float(np.mean([np.max(np.abs(best[:, j] @ U)) for j in range(K)]))
        truth = np.einsum("dk,de,ek->k", U, correlations, U)
        low, high = pca.explained_variance_interval().T
        angle = np.degrees(np.arccos(np.clip(np.max(np.abs(U.T @ vectors), axis=1), 0, 1)))
        inside = float(np.mean((low <= truth) & (truth <= high)))
        seen = float(np.mean(angle <= pca.component_angles(level=0.95)))
        out[how] = (energy, loading, inside, seen)
    return out


def table_of_components(fits: int) -> str:
    """The second table."""
    jobs = [(name, seed) for name in tables() for seed in range(fits)]
    found = dict(zip(jobs, in_parallel(one_fit, jobs), strict=True))
    ways = ("private", "public", "none")
    told = [[f"{what}: {ways[0]}", *ways[1:many]] for what, many in MEASURES.items()]
    rows = []
    for name, recipe in tables().items():
        mean = {how: np.mean([found[name, seed][how] for seed in range(fits)], axis=0) for how in ways}
        columns = sum(recipe.values()) - recipe["n"]
        cells = [f"{mean[how][part]:.3f}" for part in (0, 1) for how in mean]
        cells += [f"{mean[how][part]:.2f}" for part in (2, 3) for how in ("private", "public")]
        rows.append([name, f"{recipe['n']:,}", f"{columns}", *cells])
    return table(["table", "n", "columns", *itertools.chain(*told)], rows)


BODY = """## Scale over standard deviation

Tables of 40 columns and n = {n:,} rows: one of each kind below, and normal ones. {scales} tables, so {fits:,}
columns. What the scale came out as, over the standard deviation of the column (over 1 for constants): median, 5 %
and 95 % quantile, least and most. *Stated error*: the relative standard error of the scale that the release
states (median); it is about noise, not about what clipping removes from a tail. *Hidden*: the share of tables
where a warning says that noise may explain the whole variance; the scale is then that of the noise.

{first}

The same with n = 50,000:

{second}

## Components

Over {each} fits of each recipe, three components. *Energy*: share of the variance that three components hold
at best, in the correlation matrix of the table. *Loadings*: mean absolute cosine between each principal
direction of the correlations and the component nearest to it. *Public*: the table's own standard deviations,
declared. *None*: no scaling; directions are then compared after division by the standard deviations.
*Intervals*: share of the 95 % intervals of variances that hold the variance of the correlation matrix along
the component. *Angles*: share of components that lie within the angle that `component_angles(level=0.95)`
gives.

{third}"""


def main() -> None:
    """Run, and print or write."""
    options = parser(__doc__)
    options.add_argument("--scales", type=int, default=SCALES)
    options.add_argument("--fits", type=int, default=FITS)
    given = options.parse_args()
    stamped = stamp.line("estimators")
    body = BODY.format(
        n=10_000,
        scales=given.scales,
        fits=40 * given.scales,
        each=given.fits,
        first=table_of_scales(given.scales, 10_000),
        second=table_of_scales(max(1, given.scales // 10), 50_000),
        third=table_of_components(given.fits),
    )
    write(
        "tables",
        title="Mixed tables: private scales, and components of correlations",
        about="epsilon 1, delta 1e-6, scales and mean bought from it.\n"
        "Seeds of tables are counted from 0; noise is that of the operating system.",
        stamp=stamped,
        command="python benchmarks/tables.py",
        body=body,
        keep=(given.scales, given.fits) == (SCALES, FITS),
    )


if __name__ == "__main__":
    main()
