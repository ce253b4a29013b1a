"""What a private fit of wide sparse data costs over TruncatedSVD, and how much of the variance it finds.

    python benchmarks/wide.py                              # writes benchmarks/results/wide.md; on an idle machine
    python benchmarks/wide.py --rows 20000 --columns 20000  # one smaller size; prints only

Rows are documents of about 100 words that differ, out of as many as there are columns: word j is drawn in
proportion to 1/(j + 1)^.8, and half of a row's words are moved to the nearest word of its topic, one of 50.
Everything is paid for.

Time: `DPPCA(10).fit`, which buys a mean and centres, over `TruncatedSVD(10).fit`, which does not; in turn in one
process, the shortest of three each. Memory: the largest resident size of a process that makes the data and fits
once, with the interpreter, libraries and data in it. Energy: the variance along the private components over the
most that as many directions can have (`PCA` with ARPACK, which keeps rows sparse too), of centred data where a fit
centres; and around the origin, over that along the components of `TruncatedSVD`, where it does not.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import stamp
from harness import MB, alone, answered, parser, peak, say, seconds, table, write
from scipy import sparse
from sklearn.decomposition import PCA, TruncatedSVD

from eigenveil import DPPCA

COMPONENTS, TOPICS, WORDS = 10, 50, 113
"""So many words are drawn for a row; about 100 of them differ."""
SIZES = [(100_000, 100_000), (100_000, 1_000_000)]
EPSILONS = (1.0, 4.0, 16.0)


def data(n: int, d: int) -> sparse.csr_array[Any, Any]:
    """Documents, made some at a time, so that little but them is ever in memory."""
    rng = np.random.default_rng(0)
    upto = np.cumsum(np.arange(1.0, d + 1) ** -0.8)
    values, columns = np.empty(n * WORDS), np.empty(n * WORDS, dtype=np.int32)
    starts = np.zeros(n + 1, dtype=np.int32)
    for first in range(0, n, 2_000):
        rows = min(2_000, n - first)
        words = np.searchsorted(upto, rng.random((rows, WORDS)) * upto[-1])
        topic = rng.integers(TOPICS, size=(rows, 1))
        moved = np.minimum(words // TOPICS * TOPICS + topic, d - 1)
        words = np.where(rng.random((rows, WORDS)) < 0.5, moved, words)
        pointer = np.arange(rows + 1) * WORDS
        part = sparse.csr_array((np.ones(words.size), words.ravel(), pointer), shape=(rows, d))
        part.sum_duplicates()
        here = slice(starts[first], starts[first] + part.nnz)
        values[here], columns[here] = part.data, part.indices
        starts[first + 1 : first + rows + 1] = starts[first] + part.indptr[1:]
    return sparse.csr_array((values[: starts[-1]], columns[: starts[-1]], starts), shape=(n, d))


def private(X: Any, *, epsilon: float = 1.0, center: bool = True) -> DPPCA:
    """A private fit."""
    return DPPCA(COMPONENTS, epsilon=epsilon, delta=1e-6, center=center).fit(X)


def along(X: Any, components: np.typing.NDArray[np.float64], *, center: bool) -> float:
    """The variance along all of some orthonormal components, around the mean or the origin."""
    scores = X @ components.T
    return float(np.sum(scores.var(axis=0) if center else np.mean(scores**2, axis=0)))


def memory(n: int, d: int) -> dict[str, float]:
    """Megabytes: the most that a process with data and one fit ever has, and the data."""
    X = data(n, d)
    private(X)
    return {
        "most": peak(),
        "data": (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / MB,
        "entries": X.nnz / n,
    }


def ratio(n: int, d: int) -> dict[str, float]:
    """The time of a private fit over that of TruncatedSVD."""
    X = data(n, d)
    both = [(seconds(lambda: private(X)), seconds(lambda: TruncatedSVD(COMPONENTS).fit(X))) for _ in range(3)]
    ours, theirs = np.min(both, axis=0)
    return {"time": ours / theirs}


def energy(n: int, d: int) -> dict[str, float]:
    """The share of the variance that could be found, by epsilon, centred and not."""
    X = data(n, d)
    best = PCA(COMPONENTS, svd_solver="arpack").fit(X).components_
    svd = np.linalg.qr(TruncatedSVD(COMPONENTS).fit(X).components_.T)[0].T
    out = {}
    for epsilon in EPSILONS:
        for center, rival in ((True, best), (False, svd)):
            found = along(X, private(X, epsilon=epsilon, center=center).components_, center=center)
            out[f"{epsilon:g} {'centred' if center else 'not'}"] = found / along(X, rival, center=center)
    return out


TASKS = {"memory": memory, "ratio": ratio, "energy": energy}


def measured(case: tuple[str, int, int]) -> dict[str, float]:
    """Run one task on data of one size."""
    task, n, d = case
    warnings.simplefilter("ignore")
    return TASKS[task](n, d)


def main() -> None:
    """Run, print and write the tables."""
    if answered(measured):
        return
    options = parser(__doc__)
    options.add_argument("--rows", type=int, help="nothing is written")
    options.add_argument("--columns", type=int, help="nothing is written")
    given = options.parse_args()
    stamped = stamp.line("estimators")
    smaller = given.rows is not None or given.columns is not None
    sizes = [(given.rows or 100_000, given.columns or 100_000)] if smaller else SIZES
    costs = []
    for n, d in sizes:
        held, taken = alone(__file__, ("memory", n, d)), alone(__file__, ("ratio", n, d))
        numbers = (f"{held['entries']:.0f}", f"{taken['time']:.1f}", f"{held['most']:.0f}", f"{held['data']:.0f}")
        costs.append((f"{n:,} x {d:,}", *numbers))
        say(costs[-1])
    n, d = sizes[0]
    found = alone(__file__, ("energy", n, d))
    shares = [(f"{e:g}", f"{found[f'{e:g} centred']:.3f}", f"{found[f'{e:g} not']:.3f}") for e in EPSILONS]
    write(
        "wide",
        title="Wide sparse data",
        about=f"`DPPCA({COMPONENTS}).fit` over `TruncatedSVD({COMPONENTS}).fit`; megabytes of the whole process.\n"
        "Data have seed 0; noise has none.",
        stamp=stamped,
        command="python benchmarks/wide.py",
        body=table(("rows", "entries per row", "time", "memory", "data"), costs)
        + f"\n\nShare of the largest possible variance, {n:,} x {d:,}, delta = 1e-6:\n\n"
        + table(("epsilon", "centred", "not centred, over TruncatedSVD"), shares),
        keep=not smaller,
    )


if __name__ == "__main__":
    main()
