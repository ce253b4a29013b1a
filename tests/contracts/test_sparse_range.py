"""Sparse rows whose mean is far larger than their spread: no integer overflows on the way to a release."""

import dataclasses
import sys
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from eigenveil import DPPCA
from eigenveil.engines import LocalEngine
from eigenveil.operators import samples

D = 3
# mean, spread and number of the rows; and the centre, if it is declared
CASES = {
    "ordinary": (1.0, 1.0, 4000, True),
    "declared centre, mean 1e7 times the spread": (1e7, 1.0, 4000, [1e7, 0.0, 0.0]),
    "all rows equal": (1.0, 0.0, 100_000, True),
    "mean 1e8 times the spread": (1e8, 1.0, 100_000, True),
}


@pytest.mark.filterwarnings("ignore::eigenveil.errors.PrivacyWarning")
@pytest.mark.filterwarnings("ignore:the eigengap is too small")  # whether noise hides it depends on chance
@pytest.mark.parametrize("case", CASES)
def test_sums_of_dp_gauss_2_over_neighbours_lie_at_most_the_radius_apart(case, monkeypatch):
    mean, spread, n, center = CASES[case]
    rng = np.random.default_rng(0)
    X = sparse.csr_array(np.array([mean, 0.0, 0.0]) + spread * rng.normal(size=(n, D)) * [3, 2, 1])
    gauss_2 = sys.modules["eigenveil.algorithms.baselines.dp_gauss_2"]
    honest = gauss_2._gap_and_projector
    apart = []

    def watched(units, k, R, cap):
        fewer = dataclasses.replace(units.operator, source=samples.rows(X[:-1]).source)
        sums = [
            dataclasses.replace(units, operator=operator)
            .matrices()
            .clipped_sum(np.zeros((D, D)), R, gauss_2._grid(R))
            for operator in (units.operator, fewer)
        ]
        step = np.triu(sums[0] - sums[1])
        step = step + np.triu(step, 1).T
        square = sum(int(v) ** 2 for v in step.ravel()) * Fraction(4) ** gauss_2._grid(R)
        apart.append(square / Fraction(R) ** 2)
        return honest(units, k, R, cap)

    monkeypatch.setattr(gauss_2, "_gap_and_projector", watched)
    center = center if center is True else np.array(center)
    options = {"epsilon": 2.0, "delta": 1e-5, "engine": LocalEngine(threads=1), "center": center}
    DPPCA(1, algorithm="dp-gauss-2", **options).fit(X)
    assert len(apart) == 1
    assert apart[0] <= 1
