"""All operators, with the explicit matrices that they represent. A new operator needs one entry here."""

import numpy as np
from scipy import sparse

from eigenveil.operators import samples

N, D = 60, 7
BAD = {3: np.nan, 10: np.inf, 17: 1e200}


def rows_data(seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(N, D)) * rng.lognormal(size=(N, 1))
    rows[rng.random((N, D)) < 0.3] = 0.0
    for index, value in BAD.items():
        rows[index, index % D] = value
    return rows


def outer(rows):
    with np.errstate(all="ignore"):
        return rows[:, :, None] * rows[:, None, :]


def people_data():
    rows = rows_data()
    return rows, np.arange(N) % 13


def people_matrices(rows, ids):
    good = np.isfinite(rows).all(axis=1) & (np.abs(rows) < 1e100).all(axis=1)
    out = []
    for person in np.unique(ids):
        mine = rows[(ids == person) & good]
        out.append((mine[:, :, None] * mine[:, None, :]).mean(axis=0) if len(mine) else np.full((D, D), np.nan))
    return np.array(out)


def _spiked():
    rng = np.random.default_rng(5)
    V = np.linalg.qr(rng.normal(size=(D, 2)))[0]
    return samples.spiked(V, [4.0, 2.0], rows_data()), V @ np.diag([4.0, 2.0]) @ V.T + outer(rows_data())


def _matrices():
    rng = np.random.default_rng(6)
    A = rng.normal(size=(N, D, D))
    A[4, 0, 0] = np.nan
    return samples.matrices(A), A


def _factors():
    rows, ids = people_data()
    order = [rows[ids == person] for person in np.unique(ids)]
    return samples.factors(order), people_matrices(rows, ids)


SHIFT = np.linspace(-0.5, 0.5, D).astype(np.float32).astype(np.float64)


def single_data():
    with np.errstate(over="ignore"):
        return rows_data().astype(np.float32)


OPERATORS = {
    "rows": lambda: (samples.rows(rows_data()), outer(rows_data())),
    "rows float32": lambda: (samples.rows(single_data()), outer(single_data().astype(float))),
    "rows float32 shifted": lambda: (
        samples.rows(single_data()).shifted(SHIFT),
        outer(single_data().astype(float) - SHIFT),
    ),
    "rows shifted": lambda: (samples.rows(rows_data()).shifted(SHIFT), outer(rows_data() - SHIFT)),
    "sparse rows": lambda: (samples.rows(sparse.csr_array(rows_data())), outer(rows_data())),
    "sparse rows shifted": lambda: (
        samples.rows(sparse.csr_array(rows_data())).shifted(SHIFT),
        outer(rows_data() - SHIFT),
    ),
    "people": lambda: (samples.people(*people_data()), people_matrices(*people_data())),
    "people shifted": lambda: (
        samples.people(*people_data()).shifted(SHIFT),
        people_matrices(people_data()[0] - SHIFT, people_data()[1]),
    ),
    "sparse people": lambda: (
        samples.people(sparse.csr_array(people_data()[0]), people_data()[1]),
        people_matrices(*people_data()),
    ),
    "matrices": _matrices,
    "factors": _factors,
    "spiked": _spiked,
}
