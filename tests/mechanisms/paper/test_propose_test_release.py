import math

import numpy as np
import pytest
from scipy import stats

from eigenveil.errors import BudgetExceededError, InvalidInputError
from eigenveil.mechanisms import Veil, no_noise, propose_test_release
from eigenveil.privacy import Budget, Ledger

EPSILON, DELTA, MU = 0.5, 1e-3, 0.4


def make_veil(source=None):
    return Veil(Ledger(Budget(mu=MU, epsilon_aside=EPSILON, delta_aside=DELTA)), source=source)


def run(value, margin, *, veil=None, sensitivity_at=lambda y: 1 / y if y > 1 else None, **options):
    options = {"margin_sensitivity": 2.0, "epsilon": EPSILON, "delta": DELTA, "mu": MU, **options}
    veil = veil or make_veil(no_noise)
    return propose_test_release(np.asarray(value), margin, sensitivity_at=sensitivity_at, veil=veil, **options)


def test_without_noise_it_is_the_pseudo_code():
    seen = []

    def sensitivity_at(y):
        seen.append(y)
        return 1.0

    out = run([1.5, -2.0], 100.0, sensitivity_at=sensitivity_at)
    np.testing.assert_allclose(out, [1.5, -2.0], atol=1e-5)
    assert seen[0] == pytest.approx(100 - 2 / EPSILON * math.log(1 / (2 * DELTA)), rel=1e-4)
    assert seen[0] <= 100 - 2 / EPSILON * math.log(1 / (2 * DELTA))


def test_lower_bound_is_above_the_margin_with_probability_delta():
    """delta is large here, so that it can be measured."""
    delta, rounds, above = 0.05, 4000, 0
    for _ in range(rounds):
        veil = Veil(Ledger(Budget(mu=MU, epsilon_aside=EPSILON, delta_aside=delta)))
        seen = []
        run([0.0], 10.0, delta=delta, veil=veil, sensitivity_at=seen.append)
        above += bool(seen) and seen[0] > 10.0
    assert above / rounds <= delta + 5 * math.sqrt(delta / rounds)
    assert above / rounds >= delta - 5 * math.sqrt(delta / rounds)


def test_bottom_costs_the_test_only_and_releases_nothing():
    veil = make_veil()
    assert run([1.0], -1e6, veil=veil) is None
    assert [entry.what for entry in veil.ledger.entries] == ["propose-test-release: test"]


def test_noise_is_for_the_proven_sensitivity():
    veil = make_veil()
    out = run(np.zeros(4000), 1e9, veil=veil, sensitivity_at=lambda _: 3.0, value_error=0.5)
    test, release = veil.ledger.entries
    assert (test.epsilon, test.delta) == (EPSILON, DELTA)
    assert release.sensitivity == pytest.approx(4.0, rel=1e-4)
    assert release.scale == pytest.approx(4.0 / MU, rel=1e-4)
    assert stats.kstest(out / release.scale, "norm").pvalue > 1e-6


@pytest.mark.parametrize("error", [0.0, 0.25, 3.0, 100.0])
def test_the_error_of_the_margin_is_paid_for(error):
    """mutant: `margin_error` missing from the Laplace sensitivity. It is also subtracted from the margin."""
    veil, seen = make_veil(no_noise), []
    run([1.0], 1e4, veil=veil, margin_error=error, sensitivity_at=lambda y: seen.append(y) or 1.0)
    test, _ = veil.ledger.entries
    assert test.sensitivity >= 2.0 + 2 * error
    assert test.sensitivity == pytest.approx(2.0 + 2 * error, rel=1e-4)
    assert test.scale >= test.sensitivity / EPSILON
    assert test.scale == pytest.approx(test.sensitivity / EPSILON, rel=1e-6)
    assert seen[0] == pytest.approx(1e4 - error - test.scale * math.log(1 / (2 * DELTA)), rel=1e-5)


def test_nothing_is_drawn_unless_both_halves_fit():
    veil = make_veil(source=lambda _: pytest.fail("bytes were drawn"))
    for options in ({"mu": MU * 1.1}, {"epsilon": EPSILON * 1.1}, {"delta": DELTA * 1.1}):
        with pytest.raises(BudgetExceededError):
            run([1.0], 100.0, veil=veil, **options)
    assert veil.ledger.entries == ()


def test_edge_cases():
    assert run([1.0], math.nan) is None
    assert run([1.0], -math.inf) is None
    assert run([1.0], -5.0, sensitivity_at=lambda _: 1.0) is None
    out = run([math.nan, 1.0, math.inf], 100.0)
    np.testing.assert_allclose(out, [0, 1, 0], atol=1e-4)
    with pytest.raises(InvalidInputError, match="sensitivity"):
        run([1.0], 100.0, sensitivity_at=lambda _: 0.0)
    with pytest.raises(InvalidInputError, match="sensitivity"):
        run([1.0], 100.0, margin_sensitivity=0.0)
