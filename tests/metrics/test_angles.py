import math

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

from eigenveil.errors import InvalidInputError
from eigenveil.metrics import projector_distance, sin_angle


def basis(k, d, rng):
    return np.linalg.qr(rng.normal(size=(d, k)))[0].T


@given(st.floats(0, math.pi / 2), st.floats(1e-100, 1e150), st.booleans())
def test_sine_of_a_known_angle(angle, length, flip):
    u = np.array([3.0, 0.0, 0.0])
    v = length * np.array([math.cos(angle), 0.0, math.sin(angle)]) * (-1 if flip else 1)
    assert sin_angle(u, v) == pytest.approx(math.sin(angle), rel=1e-12, abs=1e-150)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_distances_are_the_norms_of_the_projectors(k):
    rng = np.random.default_rng(k)
    for other in (1, k, 7):
        U, V = basis(k, 9, rng), basis(other, 9, rng)
        difference = U.T @ U - V.T @ V
        assert projector_distance(U, V) == pytest.approx(np.linalg.norm(difference))
        assert projector_distance(U, V, norm="spectral") == pytest.approx(np.linalg.norm(difference, 2))


def test_distances_are_sines_of_principal_angles():
    rng = np.random.default_rng(0)
    U, V = basis(3, 8, rng), basis(3, 8, rng)
    sines = np.sin(scipy.linalg.subspace_angles(U.T, V.T))
    assert projector_distance(U, V) == pytest.approx(math.sqrt(2) * np.linalg.norm(sines))
    assert projector_distance(U, V, norm="spectral") == pytest.approx(sines.max())
    assert projector_distance(U[:1], V[:1]) == pytest.approx(math.sqrt(2) * sin_angle(U[0], V[0]))


def test_tiny_distances_are_accurate():
    U = np.array([[1.0, 0.0]])
    V = np.array([[1.0, 1e-13]])
    assert projector_distance(U, V) == pytest.approx(math.sqrt(2) * 1e-13)
    assert projector_distance(U, U) == sin_angle(U[0], -U[0]) == 0


def test_invalid_arguments_raise():
    with pytest.raises(InvalidInputError, match="zero vector"):
        sin_angle([1.0, 0.0], [0.0, 0.0])
    with pytest.raises(InvalidInputError, match="same number of dimensions"):
        sin_angle([1.0, 0.0], [1.0, 0.0, 0.0])
    with pytest.raises(InvalidInputError, match="1 non-empty"):
        sin_angle([[1.0]], [1.0])
    with pytest.raises(InvalidInputError, match="same number of dimensions"):
        projector_distance(np.eye(1, 3), np.eye(1, 4))
    with pytest.raises(InvalidInputError, match="orthonormal"):
        projector_distance(np.ones((1, 3)), np.eye(1, 3))
    with pytest.raises(InvalidInputError, match="norm"):
        projector_distance(np.eye(1, 3), np.eye(1, 3), norm="nuclear")
