"""Runs what is missing of some figures: trials side by side, each result kept as it comes.

1  cells of all figures x trials, less those that the cache has; cells that two figures share are run once
2  what is to run on the same data goes together: a job
3  jobs over processes, the largest first; only this process writes to the cache
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from eigenveil.experiments.cache import Cache
from eigenveil.experiments.figure import Figure
from eigenveil.experiments.fingerprint import fingerprint
from eigenveil.experiments.methods import METHODS
from eigenveil.experiments.setting import Setting
from eigenveil.metrics import zeta

Heard = Callable[[int, int, str], None]
"""Told how many fits are done, of how many, and what was done last."""


@dataclass(frozen=True)
class Fit:
    """One method on one data set."""

    method: str
    setting: Setting

    def key(self, trial: int, seed: int) -> str:
        """Stands for all that decides on the result, the code included."""
        return _digest(fingerprint(), self.method, asdict(self.setting), trial, seed)[:24]


@dataclass(frozen=True)
class Job:
    """Fits that see the same data."""

    data: Setting
    trial: int
    seed: int
    fits: tuple[Fit, ...]


@dataclass(frozen=True)
class Done:
    """What came of a fit, and how long a processor was busy with it."""

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
    heard: Heard = lambda *_: None,
) -> int:
    """Run all fits of the figures that the cache does not have; returns how many."""
    jobs = list(_jobs(figures, trials=trials, seed=seed, quick=quick, cache=cache))
    total, count = sum(len(job.fits) for job in jobs), 0
    heard(0, total, "")
    with _mapped(jobs, workers) as results:
        for job, done in results:
            for one in done:
                about = {"method": one.fit.method, "trial": job.trial, "seed": seed, "seconds": one.seconds}
                cache.add(one.fit.key(job.trial, seed), one.zeta, **about, **asdict(one.fit.setting))
            count += len(done)
            heard(count, total, f"n = {job.data.n:,}, d = {job.data.d}, trial {job.trial + 1}")
    return total


def results(
    figure: Figure, *, trials: int, seed: int, quick: bool, cache: Cache
) -> dict[tuple[float | None, float, str], list[float]]:
    """Zeta of every trial, by panel, x and method; bounds are computed here."""
    out = {}
    for cell in figure.cells(quick=quick):
        method = METHODS[cell.method]
        fit = Fit(cell.method, cell.setting)
        values = [cache[fit.key(trial, seed)] for trial in range(method.trials(trials))]
        out[cell.panel, cell.x, cell.method] = values if method.fit is not None else [cell.setting.lower_bound()]
    return out


def run_job(job: Job) -> tuple[Job, list[Done]]:
    """Draw the data, and run every fit on them."""
    data = job.data.draw(_seed("data", asdict(job.data), job.trial, job.seed))
    done = []
    for fit in job.fits:
        method = METHODS[fit.method]
        assert method.fit is not None, "bounds are not run"
        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of seeds, of bottoms: the figure says so, and shows it
            # seeded, so that the figure can be made again: for experiments only, never where data are someone's
            release = method.fit(data, fit.setting, _seed(fit.method, asdict(fit.setting), job.trial, job.seed))
        seconds = round(time.process_time() - begin, 3)
        done.append(Done(fit, zeta(release.components, data.covariance), seconds))
    return job, done


def _jobs(figures: Iterable[Figure], *, trials: int, seed: int, quick: bool, cache: Cache) -> Iterator[Job]:
    """What is missing, the largest data first."""
    together: dict[tuple[Setting, int], dict[Fit, None]] = {}
    for figure in figures:
        for cell in figure.cells(quick=quick):
            fit = Fit(cell.method, cell.setting)
            for trial in range(METHODS[cell.method].trials(trials)):
                if fit.key(trial, seed) not in cache:
                    together.setdefault((cell.setting.without_rate(), trial), {})[fit] = None
    largest_first = sorted(together, key=lambda at: (-at[0].n * at[0].d, at[1]))
    return (Job(data, trial, seed, tuple(together[data, trial])) for data, trial in largest_first)


@contextmanager
def _mapped(jobs: list[Job], workers: int) -> Iterator[Iterable[tuple[Job, list[Done]]]]:
    """Jobs done, in any order; within this process where one worker is enough."""
    if workers <= 1 or len(jobs) <= 1:
        yield map(run_job, jobs)
        return
    with _one_thread_each():
        pool = multiprocessing.get_context("spawn").Pool(min(workers, len(jobs)), initializer=_leave_interrupts)
    with pool:
        yield pool.imap_unordered(run_job, jobs)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes started within it do not compete by threads of their own."""
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _leave_interrupts() -> None:
    """Ctrl-C is for the process that started this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _seed(*parts: object) -> int:
    return int(_digest(*parts)[:15], 16)


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
