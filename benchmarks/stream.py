"""A stream whose subspace stands still, turns or jumps: zeta over time, for several ways to forget.

    python benchmarks/stream.py                          # writes benchmarks/results/stream.md
    python benchmarks/stream.py --seeds 1 --batches 4    # smaller; prints only

The covariance is turned a little before every batch (all its directions, the fastest by the angle in the table).
zeta compares the components after a batch with the covariance that the batch came from. Rows are Gaussian, d = 50,
k = 2, 2500 slots a batch, (epsilon, delta) = (1, 1e-6) for the whole stream.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import itertools
import math

import numpy as np
import stamp
from harness import in_parallel, parser, table, write

from eigenveil import metrics
from eigenveil.algorithms import TrackedStream
from eigenveil.algorithms.stream import round as stream_round
from eigenveil.engines import LocalEngine

FloatArray = np.typing.NDArray[np.float64]
D, K, SLOTS, BATCHES, SEEDS = 50, 2, 2500, 40, 2
SPECTRA = {
    "decay": 10 * 0.7 ** np.arange(D) + 0.1,
    "flat": np.array([10.0, 8.0] + [1.0] * (D - 2)),
    "spiked, low noise": np.array([10.0, 5.0] + [0.000625] * (D - 2)),
}
TURNS: dict[str, float | None] = {"none": 0.0, ".02 rad a batch": 0.02, ".1 rad a batch": 0.1, "jump at 20": None}
SETTINGS = {
    "as it is (memory 50, drift seen)": (50.0, stream_round.DRIFT_WEIGHT),
    "never forgets": (math.inf, 0.0),
    "memory 5, blind": (5.0, 0.0),
    "memory 2, blind": (2.0, 0.0),
}
SHOWN = (4, 10, 19, 22, 30, 40)
Job = tuple[str, str, str, int, int]


def rotation(rng: np.random.Generator, angle: float) -> FloatArray:
    """A rotation of R^D whose fastest plane turns by `angle`."""
    A = rng.normal(size=(D, D))
    w, Q = np.linalg.eigh(1j * (A - A.T))
    turned: FloatArray = ((Q * np.exp(-1j * angle * w / np.abs(w).max())) @ Q.conj().T).real
    return turned


def run(job: Job) -> list[float]:
    """Zeta after every batch of one stream."""
    spectrum, turn, setting, seed, batches = job
    memory, stream_round.DRIFT_WEIGHT = SETTINGS[setting]
    rng = np.random.default_rng(seed)
    eigenvalues, angle = SPECTRA[spectrum], TURNS[turn]
    U = np.linalg.qr(rng.normal(size=(D, D)))[0]
    step = rotation(rng, angle or 0.0)
    stream = TrackedStream(
        K,
        epsilon=1.0,
        delta=1e-6,
        batch_size=SLOTS,
        memory=memory,
        random_state=seed,
        engine=LocalEngine(threads=1),
    )
    out = []
    for batch in range(1, batches + 1):
        U = np.linalg.qr(rng.normal(size=(D, D)))[0] if angle is None and batch == 20 else step @ U
        stream.add((rng.normal(size=(SLOTS, D)) * np.sqrt(eigenvalues)) @ U.T)
        out.append(metrics.zeta(stream.release().components, (U * eigenvalues) @ U.T))
    return out


def main() -> None:
    """Run all streams and write the table."""
    options = parser(__doc__)
    options.add_argument("--seeds", type=int, default=SEEDS, help="with another number nothing is written")
    options.add_argument("--batches", type=int, default=BATCHES, help="with another number nothing is written")
    given = options.parse_args()
    stamped = stamp.line("streams")
    jobs: list[Job] = list(itertools.product(SPECTRA, TURNS, SETTINGS, range(given.seeds), [given.batches]))
    answers = dict(zip(jobs, in_parallel(run, jobs), strict=True))
    shown = [batch for batch in SHOWN if batch <= given.batches]
    rows = []
    for kind in itertools.product(SPECTRA, TURNS, SETTINGS):
        zeta = np.mean([answers[*kind, seed, given.batches] for seed in range(given.seeds)], axis=0)
        rows.append([*kind, *(f"{zeta[batch - 1]:.4f}" for batch in shown), f"{zeta[-15:].mean():.4f}"])
    write(
        "stream",
        title="Streams: zeta after a batch, smaller is better",
        about=f"Gaussian rows, d = {D}, k = {K}, batches of {SLOTS}, (1, 1e-6) for all of it.\n"
        f"{given.seeds} seeds, from 0, of data and noise.\n"
        "All directions turn, the fastest by the angle given. Blind settings do not look for drift in answers.",
        stamp=stamped,
        command="python benchmarks/stream.py",
        body=table(
            ["spectrum", "turn", "setting", *(f"batch {batch}" for batch in shown), "mean of last 15"], rows
        ),
        keep=(given.seeds, given.batches) == (SEEDS, BATCHES),
    )


if __name__ == "__main__":
    main()
