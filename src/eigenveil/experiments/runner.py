"""Run the missing fits of some figures, in parallel over trials, and cache each result.

1  collect all cells of all figures x trials that are not cached; cells that two figures share are run once
2  group the fits on the same dataset into a job
3  distribute the jobs over processes, largest first; only the main process writes to the cache
"""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass

from eigenveil._processes import outputs_of
from eigenveil.experiments.cache import Cache
from eigenveil.experiments.figure import Figure
from eigenveil.experiments.fingerprint import fingerprint
from eigenveil.experiments.methods import METHODS
from eigenveil.experiments.setting import Setting
from eigenveil.metrics import zeta

ProgressCallback = Callable[[int, int, str], None]
"""Called with the number of completed fits, the total number, and a description of the last job."""


@dataclass(frozen=True)
class Fit:
    """One method on one dataset."""

    method: str
    setting: Setting

    def key(self, trial: int, seed: int) -> str:
        """Return a cache key that depends on everything that affects the result, including the code."""
        return _digest(fingerprint(), self.method, asdict(self.setting), trial, seed)[:24]


@dataclass(frozen=True)
class Job:
    """Fits on the same dataset."""

    data: Setting
    trial: int
    seed: int
    fits: tuple[Fit, ...]


@dataclass(frozen=True)
class FitResult:
    """Result of a fit, and its processor time in seconds."""

    fit: Fit
    zeta: float
    seconds: float


def run_missing(
    figures: Iterable[Figure],
    *,
    trials: int,
    seed: int,
    quick: bool,
    cache: Cache,
    workers: int = 1,
    on_progress: ProgressCallback = lambda *_: None,
) -> int:
    """Run all fits of the figures that are not cached. Return how many there were."""
    jobs = list(_jobs(figures, trials=trials, seed=seed, quick=quick, cache=cache))
    total, count = sum(len(job.fits) for job in jobs), 0
    on_progress(0, total, "")
    with outputs_of(run_job, jobs, workers) as completed:
        for job, done in completed:
            for one in done:
                about = {"method": one.fit.method, "trial": job.trial, "seed": seed, "seconds": one.seconds}
                cache.add(one.fit.key(job.trial, seed), one.zeta, **about, **asdict(one.fit.setting))
            count += len(done)
            on_progress(count, total, f"n = {job.data.n:,}, d = {job.data.d}, trial {job.trial + 1}")
    return total


def results(
    figure: Figure, *, trials: int, seed: int, quick: bool, cache: Cache
) -> dict[tuple[float | None, float, str], list[float]]:
    """Return zeta of every trial, by panel, x and method. Bounds are computed here."""
    out = {}
    for cell in figure.cells(quick=quick):
        method = METHODS[cell.method]
        fit = Fit(cell.method, cell.setting)
        values = [cache[fit.key(trial, seed)] for trial in range(method.trials(trials))]
        out[cell.panel, cell.x, cell.method] = values if method.fit is not None else [cell.setting.lower_bound()]
    return out


def run_job(job: Job) -> tuple[Job, list[FitResult]]:
    """Draw the dataset, and run every fit on it."""
    data = job.data.draw(_seed("data", asdict(job.data), job.trial, job.seed))
    done = []
    for fit in job.fits:
        method = METHODS[fit.method]
        assert method.fit is not None, "bounds are computed, not run"
        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about seeds and bottom outputs; the figure states both
            # seeded, so that the figure can be reproduced: for experiments only, never for data about people
            release = method.fit(data, fit.setting, _seed(fit.method, asdict(fit.setting), job.trial, job.seed))
        seconds = round(time.process_time() - begin, 3)
        done.append(FitResult(fit, zeta(release.components, data.covariance), seconds))
    return job, done


def _jobs(figures: Iterable[Figure], *, trials: int, seed: int, quick: bool, cache: Cache) -> Iterator[Job]:
    """Return the jobs of all fits that are not cached, largest dataset first."""
    together: dict[tuple[Setting, int], dict[Fit, None]] = {}
    for figure in figures:
        for cell in figure.cells(quick=quick):
            fit = Fit(cell.method, cell.setting)
            for trial in range(METHODS[cell.method].trials(trials)):
                if fit.key(trial, seed) not in cache:
                    together.setdefault((cell.setting.without_rate(), trial), {})[fit] = None
    largest_first = sorted(together, key=lambda at: (-at[0].n * at[0].d, at[1]))
    return (Job(data, trial, seed, tuple(together[data, trial])) for data, trial in largest_first)


def _seed(*parts: object) -> int:
    return int(_digest(*parts)[:15], 16)


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
