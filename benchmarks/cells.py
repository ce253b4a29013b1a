"""The data sets of the benchmarks: the public cells of the arena, growing n, heavy tails, and real data.

Every cell draws data from a seed, knows the true covariance, and what DP-Gauss-1 needs to be run in plain numpy.
Real data are rows of a data set of real_data.py, taken without replacement; their own covariance is the true one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import real_data

from eigenveil import datasets
from eigenveil.operators import Operator, samples

FloatArray = np.typing.NDArray[np.float64]


@dataclass(frozen=True)
class Drawn:
    """One data set: units, what the rival needs of them, and the truth."""

    units: Operator
    covariance: FloatArray
    norms: FloatArray
    clipped_sum: Callable[[FloatArray], FloatArray]
    """Sum of c_i A_i for factors c."""
    arrays: dict[str, FloatArray]
    """What the units were made of, by name: X; X and ids; V, values and Z."""


@dataclass(frozen=True)
class Cell:
    """A name, how to draw data from a seed, the numbers of components, and delta."""

    name: str
    draw: Callable[[int], Drawn]
    ks: tuple[int, ...]
    delta: float
    source: str = ""
    """The data set of real_data.py that it needs."""


def from_rows(X: FloatArray, covariance: FloatArray) -> Drawn:
    """One unit per row."""
    parts = [slice(start, start + 8192) for start in range(0, len(X), 8192)]

    def clipped_sum(factors: FloatArray) -> FloatArray:
        total: FloatArray = sum((X[part] * factors[part, None]).T @ X[part] for part in parts) + np.zeros(
            2 * X.shape[1:]
        )
        return total

    return Drawn(samples.rows(X), covariance, np.einsum("ij,ij->i", X, X), clipped_sum, {"X": X})


def spiked(n: int, sigma: float) -> Callable[[int], Drawn]:
    """V diag(10, 5) V^T + z z^T."""

    def draw(seed: int) -> Drawn:
        rng = np.random.default_rng(seed)
        V = np.linalg.qr(rng.standard_normal((200, 2)))[0]
        Z = sigma * rng.standard_normal((n, 200))
        S = (V * [10.0, 5.0]) @ V.T
        cross = np.sum((Z @ S) * Z, axis=1)
        norms = np.sqrt(np.sum(S**2) + 2 * cross + np.sum(Z**2, axis=1) ** 2)
        return Drawn(
            samples.spiked(V, [10.0, 5.0], Z),
            S + sigma**2 * np.eye(200),
            norms,
            lambda c: c.sum() * S + (Z * c[:, None]).T @ Z,
            {"V": V, "values": np.array([10.0, 5.0]), "Z": Z},
        )

    return draw


def gaussian(n: int, eigenvalues: FloatArray) -> Callable[[int], Drawn]:
    """Gaussian rows."""

    def draw(seed: int) -> Drawn:
        data = datasets.gaussian(n, eigenvalues, random_state=seed)
        X = np.concatenate([np.asarray(block.values) for block in data.samples.source.blocks()])
        return from_rows(X, data.covariance)

    return draw


def people(rows: int) -> Callable[[int], Drawn]:
    """5000 people with as many Gaussian rows each."""

    def draw(seed: int) -> Drawn:
        data = datasets.gaussian(5000 * rows, decay(100), random_state=seed)
        X = np.concatenate([np.asarray(block.values) for block in data.samples.source.blocks()])
        cube, ids = X.reshape(5000, rows, 100), np.repeat(np.arange(5000), rows)
        grams = np.matmul(cube, cube.transpose(0, 2, 1))
        return Drawn(
            samples.people(X, ids),
            data.covariance,
            np.sqrt(np.sum(grams**2, axis=(1, 2))) / rows,
            lambda c: (X * c[ids, None]).T @ X / rows,
            {"X": X, "ids": ids},
        )

    return draw


def real(load: Callable[[], FloatArray]) -> Callable[[int], Drawn]:
    """Rows of a real data set, its mean removed for free, for all alike."""

    def draw(_: int) -> Drawn:
        X = load()
        X = X - X.mean(axis=0)
        return from_rows(X, X.T @ X / len(X))

    return draw


def digits() -> FloatArray:
    """1797 handwritten digits of 64 pixels."""
    return np.array(real_data.load("digits"))


def mnist() -> FloatArray:
    """5000 handwritten digits of 784 pixels."""
    return np.array(real_data.load("mnist"))


def decay(d: int) -> FloatArray:
    """The eigenvalues 10 * .7^i + .1."""
    return 10 * 0.7 ** np.arange(d) + 0.1


def flat(d: int) -> FloatArray:
    """The eigenvalues 10, 8, 6, 5, 4, 1, 1, ...."""
    return np.concatenate([[10.0, 8.0, 6.0, 5.0, 4.0], np.ones(d - 5)])


def arena() -> list[Cell]:
    """The public cells of the arena."""
    cells = []

    def add(name: str, draw: Callable[[int], Drawn], ks: tuple[int, ...], delta: float = 1e-6) -> None:
        source = name if name in real_data.SOURCES else ""
        cells.append(Cell(name, draw, ks, delta, source))

    for sigma in (0.001, 0.025, 1.0):
        for n in (2_000, 10_000, 50_000):
            name = f"{sigma:g}".lstrip("0")
            add(f"spiked sigma={name} n={n:,}", spiked(n, sigma), (2,), 0.01)
    for d in (100, 200, 500):
        for n in (20_000, 50_000):
            add(f"decay d={d} n={n:,}", gaussian(n, decay(d)), (2, 5))
    for d, n in ((100, 20_000), (200, 50_000), (500, 50_000), (2000, 50_000)):
        add(f"flat d={d} n={n:,}", gaussian(n, flat(d)), (2, 5) if d < 2000 else (2,))
    for rows in (1, 10, 100):
        add(f"people {rows} rows", people(rows), (2, 5))
    add("digits", real(digits), (2, 5))
    add("mnist", real(mnist), (2, 5))
    return cells


def root(d: int) -> FloatArray:
    """The eigenvalues 10/sqrt(j)."""
    return 10 / np.sqrt(np.arange(1, d + 1))


def factors(n: int, eigenvalues: FloatArray, *, skewed: bool) -> Callable[[int], Drawn]:
    """Rows of independent factors: normal, or log-normal (.8 the deviation of the logarithm) and standardised."""
    d = len(eigenvalues)

    def draw(seed: int) -> Drawn:
        rng = np.random.default_rng(seed)
        Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
        F = rng.standard_normal((n, d))
        if skewed:
            variance = 0.8**2
            F *= 0.8
            F = np.exp(F, out=F)
            F -= np.exp(variance / 2)
            F /= np.sqrt(np.exp(variance) * (np.exp(variance) - 1))
        F *= np.sqrt(eigenvalues)
        return from_rows(F @ Q.T, (Q * eigenvalues) @ Q.T)

    return draw


def growing() -> list[Cell]:
    """Slow spectra of 300 columns, symmetric and skewed, as n grows; trace/lambda_1 is 33, as for word vectors."""
    return [
        Cell(f"{'skewed' if skewed else 'slow'} n={n:,}", factors(n, root(300), skewed=skewed), (2, 10), 1e-6)
        for skewed in (False, True)
        for n in (20_000, 100_000, 500_000)
    ]


def skewed() -> list[Cell]:
    """Log-normal factors, most of them of few effective columns: there clipping bends directions most."""
    return [
        Cell(f"skewed {name} d={d} n={n:,}", factors(n, spectrum(d), skewed=True), (2, 5), 1e-6)
        for name, spectrum in (("decay", decay), ("root", root))
        for d, n in ((10, 20_000), (30, 20_000), (30, 100_000), (100, 20_000), (100, 50_000), (200, 50_000))
    ]


def small() -> list[Cell]:
    """Few columns, where noise on Sigma itself is small."""
    return [
        Cell(f"{name} d={d} n={n:,}", gaussian(n, spectrum(d)), (2,), 1e-6)
        for name, spectrum in (("decay", decay), ("flat", flat))
        for d in (8, 15, 30)
        for n in (2_000, 20_000)
    ]


def made(make: Callable[[int], datasets.Dataset]) -> Callable[[int], Drawn]:
    """Rows of one of the house's data sets."""

    def draw(seed: int) -> Drawn:
        data = make(seed)
        X = np.concatenate([np.asarray(block.values) for block in data.samples.source.blocks()])
        return from_rows(X, data.covariance)

    return draw


def heavy_tails() -> list[Cell]:
    """What violates the paper's assumption A.4, at sizes where DP-Gauss-1 learns something."""

    def pareto(n: int, d: int) -> Callable[[int], Drawn]:
        return made(lambda seed: datasets.pareto(n, decay(d), alpha=4.5, random_state=seed))

    def spikes(n: int, d: int) -> Callable[[int], Drawn]:
        return made(lambda seed: datasets.rare_spikes(n, d, alpha=0.01, random_state=seed))

    cells = [
        Cell(f"pareto 4.5 d={d} n={n:,}", pareto(n, d), (2, 5), 1e-6)
        for d, n in ((50, 10_000), (100, 20_000), (200, 50_000))
    ]
    return cells + [
        Cell(f"rare spikes .01 d={d} n={n:,}", spikes(n, d), (1,), 1e-6)
        for d, n in ((5, 20_000), (10, 50_000), (20, 200_000), (50, 500_000))
    ]


TUNED = tuple(name for name, source in real_data.SOURCES.items() if source.tuned)
"""Real data that methods may be tuned on: digits, image patches, flights, caravan, and tables of KEEL."""

REPORTED = tuple(name for name in real_data.SOURCES if name not in TUNED)
"""Real data that no method is tuned on, and that are reported apart."""

SIZES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "digits": ((1_797,), (2, 5, 10)),
    "patches8": ((5_000, 20_000, 100_000, 531_720), (2, 5, 10)),
    "patches16": ((5_000, 20_000, 100_000), (2, 5, 10)),
    "flights": ((5_000, 20_000, 100_000, 327_346), (2, 5)),
    "caravan": ((2_000, 5_822), (2, 5, 10)),
    "texture": ((5_500,), (2, 5)),
    "optdigits": ((5_620,), (2, 5)),
    "penbased": ((10_992,), (2, 5)),
    "letter": ((20_000,), (2, 5)),
    "magic": ((19_020,), (2, 5)),
    "spambase": ((4_597,), (2, 5)),
    "segment": ((2_310,), (2, 5)),
    "page-blocks": ((5_472,), (2, 5)),
    "wdbc": ((569,), (2, 5)),
    "mnist": ((2_000, 5_000), (2, 5, 10)),
    "weather": ((5_000, 23_007), (2, 5)),
    "mortgages": ((5_000, 20_000, 100_000, 214_144), (2,)),
    "satimage": ((2_000, 6_435), (2, 5, 10)),
    "marketing": ((6_876,), (2, 5)),
    "diamonds": ((5_000, 53_940), (2,)),
    "bikeshare": ((8_645,), (2, 5)),
    "politicians": ((5_593,), (2, 5)),
    "words": ((5_000, 26_423), (2, 5, 10)),
    "pbmc68k": ((700,), (2, 5, 10)),
}
"""Numbers of rows and of components (fewer than half the columns). The last n is all rows, except of patches16."""


def taken(name: str, n: int) -> Callable[[int], Drawn]:
    """So many rows of a real data set, their mean removed for free. If these are all, seeds share them."""

    def draw(seed: int) -> Drawn:
        X = real_data.load(name)
        assert n <= len(X)
        if n < len(X):
            X = X[np.sort(np.random.default_rng(seed).choice(len(X), n, replace=False))]
        X = np.array(X, dtype=float)
        X -= X.mean(axis=0)
        return from_rows(X, X.T @ X / n)

    return draw


def real_rows() -> list[Cell]:
    """Real data at several n: first what methods may be tuned on, then what is only reported."""
    cells = []
    for name in (name for name in TUNED + REPORTED if name in SIZES):
        sizes, ks = SIZES[name]
        cells += [Cell(f"real {name} n={n:,}", taken(name, n), ks, 1e-6, source=name) for n in sizes]
    return cells


FEW: dict[str, tuple[int, ...]] = {
    "wdbc": (300, 569),
    "digits": (300, 600, 1_000),
    "segment": (300, 1_000),
    "texture": (500, 1_000),
    "letter": (300, 1_000),
    "optdigits": (500, 1_500),
    "penbased": (300, 1_000),
    "spambase": (1_000,),
    "caravan": (700,),
    "magic": (300, 1_000),
    "wine": (178,),
    "satimage": (300, 1_000),
    "mnist": (1_000,),
    "politicians": (500, 1_500),
    "weather": (500,),
}
"""Numbers of rows of real data sets where any private method has few."""


def few() -> list[Cell]:
    """Few rows of real data: first what methods may be tuned on, then what is only reported."""
    return [
        Cell(f"few {name} n={n:,}", taken(name, n), (2, 5), 1e-6, source=name)
        for name, sizes in FEW.items()
        for n in sizes
    ]


def available(cell: Cell) -> bool:
    """Whether the data of a cell are here, or can be fetched."""
    return not cell.source or _here(cell.source)


@functools.cache
def _here(source: str) -> bool:
    return real_data.here(source, lambda: real_data.ready(source))


FAMILIES = {
    "arena": arena,
    "growing": growing,
    "heavy-tails": heavy_tails,
    "small": lambda: small() + few(),
    "skewed": skewed,
    "real": real_rows,
}
