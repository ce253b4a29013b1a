"""How often intervals hold the truth, and whether angles are what `component_angles` predicts.

    python benchmarks/uncertainty.py             # writes benchmarks/results/uncertainty.md
    python benchmarks/uncertainty.py --fits 10   # a quick look; prints only

Every fit has new data and new noise, (epsilon, delta) = (1, 1e-6), rows as they are (of mean 0, not bought).
The truth is u^T Sigma u for the released u and the true covariance. The oracle's interval has the same released
numbers in its middle, and to either side 1.96 times their true standard deviation around the truth (and knows the
bias). Every fit counts several times: variances along its directions are bought again from new units (people take
20 times as long to fit as rows: there directions come from a few fits).
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import raw
import real_data
import stamp
from cells import Drawn, arena, decay, from_rows, gaussian, heavy_tails
from harness import in_parallel, kept, parser, say, table, write

from eigenveil import tracked_pca
from eigenveil.algorithms.release import Release
from eigenveil.algorithms.tracked.algorithm import VARIANCES_SHARE
from eigenveil.algorithms.uncertainty import component_angles, variance_errors
from eigenveil.algorithms.variances import NoisyVariances, buy_variances
from eigenveil.engines import LocalEngine
from eigenveil.mechanisms import Veil
from eigenveil.operators import samples
from eigenveil.privacy import Budget, Ledger
from eigenveil.units import Units

FloatArray = np.typing.NDArray[np.float64]
FITS, ROWS_BATCH, PEOPLE_BATCH = 200, 4, 50
BUDGET = Budget.from_epsilon_delta(1.0, 1e-6)


@dataclass(frozen=True)
class Case:
    """A data set, how many components, the share of all fits it gets, and whether its units are people."""

    name: str
    draw: Callable[[int], Drawn]
    k: int
    part: float = 1.0
    people: bool = False

    @property
    def batch(self) -> int:
        """How often variances are bought along the directions of one fit."""
        return PEOPLE_BATCH if self.people else ROWS_BATCH


def heavy(
    n: int, d: int, factor: Callable[[np.random.Generator, tuple[int, int]], FloatArray]
) -> Callable[[int], Drawn]:
    """Rows of independent columns of variance 10 * .7^j + .1, with heavy tails."""

    def draw(seed: int) -> Drawn:
        return from_rows(factor(np.random.default_rng(seed), (n, d)) * np.sqrt(decay(d)), np.diag(decay(d)))

    return draw


def log_normal(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    """Of mean 0 and variance 1; the logarithm has standard deviation .8."""
    square = 0.8**2
    out: FloatArray = np.exp(0.8 * rng.standard_normal(shape)) - math.exp(square / 2)
    return out / math.sqrt(math.exp(square) * (math.exp(square) - 1))


def student(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    """Student's t with 5 degrees of freedom, of variance 1."""
    out: FloatArray = rng.standard_t(5, shape) * math.sqrt(3 / 5)
    return out


def cases() -> list[Case]:
    """Normal cells first, then one with twins (equal eigenvalues), then what the model does not cover."""
    known = {cell.name: cell.draw for cell in [*arena(), *heavy_tails()]}
    twins = gaussian(20_000, np.array([10.0, 10.0, 5.0] + [1.0] * 47))
    rows = [(name, k) for k in (2, 5) for name in ("decay d=100 n=20,000", "flat d=100 n=20,000")]
    return [
        *(Case(name, known[name], k) for name, k in rows),
        Case("decay d=200 n=20,000", known["decay d=200 n=20,000"], 2),
        *(Case("people 10 rows", known["people 10 rows"], k, people=True) for k in (2, 5)),
        Case("twins d=50 n=20,000", twins, 2),
        Case("log-normal d=20 n=20,000", heavy(20_000, 20, log_normal), 2, part=0.3),
        Case("student t5 d=20 n=20,000", heavy(20_000, 20, student), 2, part=0.3),
        Case("pareto 4.5 d=50 n=10,000", known["pareto 4.5 d=50 n=10,000"], 2, part=0.3),
    ]


@dataclass(frozen=True)
class Fit:
    """Truth, released variances, intervals, and angles (none where only variances were bought)."""

    truth: FloatArray
    raw: FloatArray
    interval: FloatArray
    ratio_holds: FloatArray
    total_holds: bool
    angles: tuple[FloatArray, FloatArray, FloatArray] | None


def fit(job: tuple[int, int]) -> list[Fit]:
    """One fit, and then again and again new units for the same directions."""
    index, seed = job
    case = cases()[index]
    drawn = case.draw(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = tracked_pca(drawn.units, case.k, epsilon=1.0, delta=1e-6, engine=LocalEngine(1))
    assert release.variances is not None
    found = [_measured(release.variances, release, drawn, angles=True)]
    again = range(case.batch - 1)
    return found + [_bought_again(release, _like(drawn, case.draw(1000 * (seed + 1) + index))) for index in again]


def _like(first: Drawn, other: Drawn) -> Drawn:
    """Another data set turned so that its covariance is that of the first: draws have directions of their own."""
    turn = np.linalg.eigh(other.covariance)[1] @ np.linalg.eigh(first.covariance)[1].T
    X = other.arrays["X"] @ turn
    units = samples.people(X, other.arrays["ids"]) if "ids" in other.arrays else samples.rows(X)
    return replace(other, units=units, covariance=first.covariance, arrays={**other.arrays, "X": X})


def _bought_again(release: Release, drawn: Drawn) -> Fit:
    """Variances along the same directions, from other people of the same kind."""
    assert release.variances is not None
    units = Units(drawn.units, Veil(Ledger(BUDGET)), BUDGET, engine=LocalEngine(1))
    bought = buy_variances(
        units,
        release.components,
        guess=release.variances.centre,
        n_hat=release.variances.n_hat,
        mu=BUDGET.mu * math.sqrt(VARIANCES_SHARE),
    )
    return _measured(bought, release, drawn, angles=False)


def _measured(bought: NoisyVariances, release: Release, drawn: Drawn, *, angles: bool) -> Fit:
    U, covariance = release.components, drawn.covariance
    truth, total = np.einsum("kd,de,ke->k", U, covariance, U), float(np.trace(covariance))
    errors = variance_errors(bought)
    turned = None
    if angles:
        nearest = np.abs(U @ np.linalg.eigh(covariance)[1]).max(axis=1)
        true = np.arccos(np.minimum(nearest, 1.0))
        turned = (true, component_angles(release), component_angles(release, level=0.95))
    return Fit(
        truth,
        bought.explained,
        errors.interval(),
        _holds(errors.ratio_interval(), truth / total),
        bool(_holds(errors.total_interval()[None], np.array([total]))[0]),
        turned,
    )


def _holds(intervals: FloatArray, truth: FloatArray) -> FloatArray:
    out: FloatArray = ((intervals[:, 0] <= truth) & (truth <= intervals[:, 1])).astype(float)
    return out


COLUMNS = (
    *("data", "k", "fits", "coverage, %", "by rank", "width / oracle's", "bias, %", "after correction, %"),
    *("ratios, %", "total, %", "true angle", "predicted", "below bound, %"),
)


def row(case: Case, fits: list[Fit]) -> list[str]:
    """A line of the table."""
    truth, raw = np.array([one.truth for one in fits]), np.array([one.raw for one in fits])
    ends = np.array([one.interval for one in fits])
    holds = np.array([_holds(one.interval, one.truth) for one in fits])
    oracle = 2 * 1.96 * np.std(raw - truth, axis=0, ddof=1)
    width = np.mean(ends[:, :, 1] - ends[:, :, 0], axis=0) / oracle
    middle = ends.mean(axis=2)
    numbers = [
        f"{100 * holds.mean():.1f} ± {100 * math.sqrt(0.95 * 0.05 / holds.size):.1f}",
        " ".join(f"{100 * one:.0f}" for one in holds.mean(axis=0)),
        f"{width.mean():.2f}",
        f"{100 * np.mean(raw / truth - 1):+.1f}",
        f"{100 * np.mean(middle / truth - 1):+.1f}",
        f"{100 * np.mean([one.ratio_holds for one in fits]):.1f}",
        f"{100 * np.mean([one.total_holds for one in fits]):.1f}",
        *_angles([one.angles for one in fits if one.angles is not None]),
    ]
    return [case.name, f"{case.k}", f"{len(fits)}", *numbers]


def _angles(found: list[tuple[FloatArray, FloatArray, FloatArray]]) -> list[str]:
    true, predicted, bound = (np.degrees([one[part] for one in found]) for part in range(3))
    typical = [np.sqrt(np.mean(one**2, axis=0)) for one in (true, predicted)]
    return [*(" ".join(f"{x:.1f}" for x in one) for one in typical), f"{100 * np.mean(true < bound):.0f}"]


REAL = "real tables"


def real_tables(seeds: int, processes: int | None) -> str:
    """Intervals and limits of the raw tables of raw.py, whose fits are used again if they are of this code."""
    try:
        names = list(real_data.raw_tables())
    except real_data.UnavailableError as error:
        say(f"{REAL} are left out: {error}")
        return ""
    fits, rows = raw.fits(names, seeds, processes), []
    for mode, said in raw.SAID.items():
        found = [fit for name in names for fit in fits[name, mode]]
        holds = np.array([fit.intervals for fit in found])
        typical = (np.median([getattr(fit, what) for fit in found]) for what in ("limit", "angle"))
        rows.append(
            [
                said,
                f"{len(found):,}",
                f"{100 * holds.mean():.0f}",
                " ".join(f"{100 * one:.0f}" for one in holds.mean(axis=0)),
                f"{100 * np.mean([fit.holds for fit in found]):.0f}",
                *(f"{one:.1f}" for one in typical),
            ]
        )
    head = ("what is known", "fits", "intervals, %", "by rank", "pc1 within its limit, %", "median limit", "angle")
    return f"{ABOUT_REAL}\n\n{table(head, rows)}"


def main() -> None:
    """Fit, measure, print, and write."""
    options = parser(__doc__)
    options.add_argument("--fits", type=int, default=FITS, help="per normal cell")
    options.add_argument("--only", default="", help="part of the name of cells; prints only")
    options.add_argument("--processes", type=int, default=os.cpu_count())
    given = options.parse_args()
    stamped, mark = stamp.line(*raw.PARTS), stamp.stamp("uncertainty")
    rows = []
    for index, case in enumerate(cases()):
        if given.only not in case.name:
            continue

        def measure(index: int = index, case: Case = case) -> list[str]:
            count = max(2, round(given.fits * case.part) // case.batch)
            answers = in_parallel(fit, [(index, seed) for seed in range(count)], given.processes)
            return row(case, [one for answer in answers for one in answer])

        rows.append(kept(f"uncertainty-{case.name}-{case.k}-{given.fits}-{mark}", measure))
        say(rows[-1])
    seeds = raw.SEEDS if given.fits == FITS else 1
    parts = [table(COLUMNS, rows), real_tables(seeds, given.processes) if given.only in REAL else ""]
    write(
        "uncertainty",
        title="Uncertainty: intervals of 95 %, and angles",
        about=ABOUT,
        stamp=stamped,
        command="python benchmarks/uncertainty.py",
        body="\n\n".join(part for part in parts if part),
        keep=given.fits == FITS and not given.only,
    )


ABOUT = """(epsilon, delta) = (1, 1e-6). `benchmarks/uncertainty.py` says what truth and oracle are.
Coverage is that of intervals for the variance along each released component, all together (with the standard error
of a true 95 %) and by rank; width is over that of an oracle who knows bias and standard deviation. Bias is of
`explained_variance_`, and of the middle of the interval, over the truth. Then coverage for ratios and the total.
Angles, in degrees, are root mean squares per component: to the nearest true direction, and as predicted; and how
often the true one lies below the bound of 95 %. "twins" has two equal eigenvalues, so that ranks are chance, and
any direction in their plane is a true one: its angles mean nothing. The last three rows have tails that the model
does not cover. Seeds of data are counted from 0; noise is that of the operating system."""

ABOUT_REAL = """## Real tables

The 63 raw tables of raw.md, two components. The truth is the table itself, so that limits and intervals, which
include the sampling error, have room. Coverage of 95 % intervals for the variance along each component, and how
often pc1 is within its limit of 95 %, in degrees."""


if __name__ == "__main__":
    main()
