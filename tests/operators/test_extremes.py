"""One row of extreme values makes no operator warn, compiled or not (warnings are errors here)."""

import numpy as np
import pytest
from scipy import sparse

from eigenveil.engines import SampledPopulation
from eigenveil.kernels import Clip, loops
from eigenveil.operators import Matrices, Products, Variances, samples
from kernels.test_number_range import extreme_rows
from support.blocks import blocks_of

W = np.array([[0.3, -0.7], [0.5, 0.1], [-0.2, 0.6]])
U = np.linalg.qr(W)[0]
IDS = np.arange(144) % 40
FORMS = {
    "rows": samples.rows,
    "sparse rows": lambda rows: samples.rows(sparse.csr_array(rows)),
    "people": lambda rows: samples.people(rows, IDS),
    "sparse people": lambda rows: samples.people(sparse.csr_array(rows), IDS),
    "spiked": lambda rows: samples.spiked(U, [4.0, 2.0], rows),
}


@pytest.fixture(params=["compiled", "numpy"], autouse=True)
def _variant(request, monkeypatch):
    if request.param == "numpy":
        monkeypatch.setattr(loops, "_LIBRARY", None)


def survey_all(operator):
    clips = [Clip(1.0, -20), Clip(2.0**100, 80)]
    for block in blocks_of(operator):
        operator.products(block, W)
        operator.variances(block, U)
        for tensor, centre in (
            (Products(W), np.full((3, 2), 0.5)),
            (Matrices(), np.zeros((3, 3))),
            (Variances(U), np.zeros(3)),
        ):
            surveyor = operator.surveyor(tensor, centre, clips)
            for piece, _ in operator.pieces(tensor, block):
                surveyor.add(piece, None)
            surveyor.sums()


@pytest.mark.parametrize("shift", [None, [1.0, -1e-300, 0.5], [-1.7e308, 1.7e308, 1e300]])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", FORMS)
def test_rows_and_people(form, dtype, shift):
    operator = FORMS[form](extreme_rows(dtype))
    operator = operator if shift is None else operator.shifted(np.array(shift))
    survey_all(operator)
    survey_all(operator.projected(U[:, :1]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_matrices(dtype):
    rows = extreme_rows(dtype)
    survey_all(samples.matrices(np.ascontiguousarray(rows.reshape(-1, 3, 3))))
    survey_all(samples.matrices(np.ascontiguousarray(rows.reshape(-1, 3, 3))).projected(U[:, :1]))


@pytest.mark.parametrize("entries", [0, 1])
def test_a_block_of_sparse_rows_without_entries_is_like_any_other(entries):
    """One unit must not decide whether a fit fails."""
    rows = sparse.csr_array(([1.0][:entries], ([0][:entries], [0][:entries])), shape=(300, 5))
    operator = samples.rows(rows).shifted(np.arange(5.0))
    population = SampledPopulation(operator, Variances(np.eye(5, 2)))
    assert population.count() == 300
