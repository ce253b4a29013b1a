import numpy as np
import pytest

from eigenveil.algorithms.deflation.k_dp_ojas import k_dp_ojas
from eigenveil.algorithms.deflation.oja import oja
from eigenveil.errors import InvalidInputError
from eigenveil.operators import samples

X = np.random.default_rng(0).normal(size=(30_000, 5)) * [5, 3, 0.5, 0.5, 0.5]


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_it_learns_with_valid_noise(relation):
    release = k_dp_ojas(X, 2, epsilon=2.0, delta=1e-4, relation=relation, random_state=0)
    assert np.abs(release.components[:, :2]).max(axis=1).min() > 0.95
    assert release.ledger.epsilon(1e-4) <= 2 * (1 + 1e-9)
    assert len(release.diagnostics["noise_over_clip"]) == 2


def test_two_components_cost_as_much_as_one():
    one, two = (k_dp_ojas(X[:2000], k, epsilon=1.0, delta=1e-4, clip=5.0) for k in (1, 2))
    assert one.private
    assert one.ledger.mu == pytest.approx(two.ledger.mu)
    assert two.ledger.epsilon(1e-4) == pytest.approx(1.0, rel=1e-6)


def test_printed_form_is_marked_not_private_with_the_reason():
    options = {"epsilon": 1.0, "delta": 1e-2, "clip": 30.0}
    release = k_dp_ojas(X[:600], 2, **options, not_private=True)
    assert not release.private
    for text in (repr(release), repr(release.ledger), str(release.ledger), release.ledger.to_json()):
        assert "printed noise" in text
    assert "NOT PRIVATE" in repr(release)
    assert release.diagnostics["steps"][0] + release.diagnostics["steps"][1] == 600
    with pytest.raises(InvalidInputError, match="not_private"):
        k_dp_ojas(X, 2, **options, C_printed=2.0)
    with pytest.raises(InvalidInputError, match="public clip"):
        k_dp_ojas(X, 2, epsilon=1.0, delta=1e-2, not_private=True)


def test_non_symmetric_units():
    A = np.random.default_rng(0).normal(size=(6000, 4, 4)) * 0.1 + np.diag([5.0, 1, 0, 0])
    release = k_dp_ojas(samples.matrices(A), 1, epsilon=2.0, delta=1e-2, random_state=0)
    assert abs(release.components[0, 0]) > 0.95


def test_oja_is_not_private_and_learns():
    release = oja(X[:6000], 2, random_state=1)
    assert not release.private
    assert "no noise" in repr(release)
    assert np.abs(np.diag(release.components[:, :2])).min() > 0.9
    assert release.diagnostics["steps"] == (3000, 3000)
