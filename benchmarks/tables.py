"""Mixed tables: private scales against standard deviations, and against the PCA of correlations that they lead to.

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

from eigenveil import DPPCA, samples
from eigenveil.algorithms.release_warnings import Code
from eigenveil.engines import LocalEngine
from eigenveil.estimators.standardise import Standard, standardise
from eigenveil.mechanisms import Veil
from eigenveil.metrics import energy_ratio
from eigenveil.privacy import Budget, Ledger
from eigenveil.units import Units

FloatArray = np.typing.NDArray[np.float64]
BUDGET = Budget.from_epsilon_delta(1.0, 1e-6)
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
    """Scale over standard deviation of one of each kind, and which of them were warned of and how."""
    seed, n = job
    rng = np.random.default_rng(seed)
    columns = [make(rng, n) for make in KINDS.values()]
    X = np.column_stack([*columns, rng.normal(size=(n, 40 - len(columns)))])
    units = Units(samples.rows(X), Veil(Ledger(BUDGET)), BUDGET, engine=LocalEngine(1))
    found = standardise(units, Standard(buy_mean=True, private=np.arange(40)))
    assert found.scale is not None
    told = {warning.code: set(warning.numbers) for warning in found.warnings}
    codes = (Code.UNKNOWN_SCALES, Code.NOISY_SCALES, Code.HEAVY_TAILS)
    warned = [[f"column {j}" in told.get(code, ()) for code in codes] for j in range(len(columns))]
    spread = X.std(axis=0)[: len(columns)]
    return found.scale[: len(columns)] / np.where(spread > 0, spread, 1.0), np.array(warned, dtype=float)


def table_of_scales(fits: int, n: int) -> str:
    """The first table."""
    results = list(in_parallel(some_scales, [(seed, n) for seed in range(fits)]))
    ratios, warned = (np.array([result[part] for result in results]) for part in (0, 1))
    known_as = ("known: median", "5 %", "95 %", "least", "most")
    rows = []
    for j, name in enumerate(KINDS):
        unknown = warned[:, j, 0] > 0
        known, safe = ratios[~unknown, j], ratios[unknown, j]
        told = [*np.quantile(known, [0.5, 0.05, 0.95]), known.min(), known.max()] if known.size else [np.nan] * 5
        cells = [f"{value:.2f}" if np.isfinite(value) else "" for value in told]
        shares = [f"{share:.0%}" for share in warned[:, j].mean(axis=0)]
        least = f"{safe.min():.2f}" if safe.size else ""
        rows.append([name, *cells, shares[0], least, *shares[1:]])
    return table(("column", *known_as, "unknown", "then: least", "noisy", "heavy"), rows)


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
column fits. *Known*: what the scale came out as where no warning says that it is unknown. *Unknown*: the
share of tables in which one does; the scale is then too large on purpose, and *then: least* is the least that
it was over the standard deviation (over 1 for constants). *Noisy* and *heavy*: shares of tables with these
warnings.

{first}

A count of units in a column has noise of standard deviation 120 here (all columns are counted at once:
sqrt(40) over mu), and a bin counts from 5.5 of these on: 660 units, or 6.6 % of 10,000. So a flag of 6 % is
seen in some tables and not in others, and one of 3 % or 1 % hardly ever: they would need n = 22,000 and
66,000. Declared bounds (0, 1) tell where to look. Outliers of 1 % are as invisible: the scale is that of all
other units.

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
