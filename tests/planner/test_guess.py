"""Spectra and spreads, as stated by users."""

import numpy as np
import pytest

from eigenveil.planner.guess import PRESETS, distance, make_guess
from eigenveil.planner.simulated import draw


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize(("d", "k"), [(1, 1), (4, 2), (50, 8)])
def test_presets_decrease(name, d, k):
    values = make_guess(d, k, spectrum=name, spread="rows").eigenvalues
    assert values.shape == (d,)
    assert (np.diff(values) <= 0).all()
    assert values.min() > 0


def test_flat_has_k_eigenvalues_above_the_rest():
    values = make_guess(20, 8, spectrum="flat", spread="rows").eigenvalues
    assert values[7] > 3 * values[8]


def test_the_rest_of_the_variance_is_spread_evenly():
    values = make_guess(12, 2, spectrum=[0.5, 0.3], spread="rows").eigenvalues
    assert values == pytest.approx([0.5, 0.3] + [0.02] * 10)


def test_a_list_is_sorted():
    assert make_guess(3, 1, spectrum=[1, 3, 2], spread="rows").eigenvalues.tolist() == [3.0, 2.0, 1.0]


def test_a_float_as_spread_is_the_distance_of_the_units():
    guess = make_guess(40, 2, spectrum=[11.0, 6.0] + [1.0] * 38, spread=float(np.sqrt(40 * 41)))
    assert guess.constant == pytest.approx([10.0, 5.0] + [0.0] * 38, abs=1e-9)
    assert _rms(guess) == pytest.approx(np.sqrt(40 * 41), rel=0.05)
    between = make_guess(40, 2, spectrum=[11.0, 6.0] + [1.0] * 38, spread=46.0)
    assert _rms(between) == pytest.approx(46.0, rel=0.05)
    all_of_it = make_guess(3, 2, spectrum=[3.0, 2.0, 1.0], spread=distance(np.array([3.0, 2.0, 1.0])))
    assert all_of_it.constant == pytest.approx([0.0, 0.0, 0.0], abs=1e-9)


@pytest.mark.parametrize("rows", [4, 20, 500])
def test_people_are_closer_to_their_mean_by_the_root_of_their_rows(rows):
    guess = make_guess(10, 2, spectrum="slow decay", spread=rows)
    alone = make_guess(10, 2, spectrum="slow decay", spread="rows")
    assert _rms(alone) / _rms(guess) == pytest.approx(np.sqrt(rows), rel=0.1)
    assert guess.rows_each <= 20


def test_a_public_sample_provides_covariance_and_rows():
    rng = np.random.default_rng(0)
    sample = rng.exponential(size=(500, 4)) * [4.0, 2.0, 1.0, 1.0] + 7
    guess = make_guess(4, 2, spectrum=sample, spread="rows")
    assert guess.eigenvalues == pytest.approx(np.linalg.eigvalsh(np.cov(sample.T, bias=True))[::-1])
    assert not guess.sign_symmetric
    own = guess.rows[:, 0]
    assert own.T @ own / len(own) == pytest.approx(np.diag(guess.eigenvalues), abs=1e-9)
    assert make_guess(4, 2, spectrum=sample, spread=5).rows.shape == (100, 5, 4)
    assert make_guess(4, 2, spectrum=sample, spread=1.0).sign_symmetric


@pytest.mark.parametrize("n", [3, 40, 1000])
def test_drawn_covariances_vary_like_sample_covariances(n):
    guess = make_guess(8, 2, spectrum=[4.0, 3.0, 2.0, 2.0, 1.0, 1.0, 1.0, 0.0], spread="rows")
    drawn = [draw(guess, n, np.random.default_rng(i)) for i in range(1500)]
    matrices = np.array([one.varying for one in drawn])
    assert matrices.mean(axis=0) == pytest.approx(np.diag(guess.eigenvalues), abs=0.5 / np.sqrt(n))
    assert matrices[:, 0, 1].var() == pytest.approx(12 / n, rel=0.2)
    assert matrices[:, 0, 0].var() == pytest.approx(32 / n, rel=0.2)
    V = np.eye(8, 3)
    assert drawn[0].times(V) == pytest.approx(matrices[0] @ V)


def _rms(guess):
    """Root mean square of ||A_i - Sigma||_F over the sample of units."""
    moved = np.einsum("srd,sre->sde", guess.rows, guess.rows) / guess.rows_each
    off = moved + np.diag(guess.constant) - np.diag(guess.eigenvalues)
    return np.sqrt(np.mean(np.sum(off**2, axis=(1, 2))))
