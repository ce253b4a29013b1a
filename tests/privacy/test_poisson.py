import sys

import pytest

from eigenveil.errors import BudgetExceededError, InvalidInputError, MissingExtraError
from eigenveil.privacy import Budget, Ledger
from eigenveil.privacy.gaussian import gaussian_mu
from eigenveil.privacy.poisson import charge_poisson, poisson_epsilon, poisson_noise_multiplier


def test_rate_one_is_the_plain_gaussian_mechanism():
    sigma = poisson_noise_multiplier(rate=1.0, rounds=1, epsilon=1.0, delta=1e-6, relation="add-remove")
    assert sigma == pytest.approx(1 / gaussian_mu(1.0, 1e-6), rel=2e-4)
    sigma = poisson_noise_multiplier(rate=1.0, rounds=4, epsilon=1.0, delta=1e-6, relation="replace")
    assert sigma == pytest.approx(2 * 2 / gaussian_mu(1.0, 1e-6), rel=5e-4)


@pytest.mark.parametrize(("rounds", "delta", "sigma"), [(10**4, 1e-6, 0.553)])
def test_published_multipliers(rounds, delta, sigma):
    found = poisson_noise_multiplier(
        rate=1 / rounds, rounds=rounds, epsilon=1.0, delta=delta, relation="add-remove"
    )
    assert found == pytest.approx(sigma, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rounds", "delta", "sigma"),
    [(10**4, 1e-2, 0.359), (10**5, 1e-6, 0.464), (10**5, 1e-2, 0.309), (10**6, 1e-6, 0.402), (10**6, 1e-2, 0.275)],
)
def test_published_multipliers_at_large_n(rounds, delta, sigma):
    found = poisson_noise_multiplier(
        rate=1 / rounds, rounds=rounds, epsilon=1.0, delta=delta, relation="add-remove"
    )
    assert found == pytest.approx(sigma, rel=0.01)


def test_replace_costs_at_least_add_remove():
    options = {"rate": 0.01, "rounds": 50, "noise_multiplier": 1.0, "delta": 1e-5}
    assert poisson_epsilon(relation="replace", **options) > poisson_epsilon(relation="add-remove", **options)


def test_charge_goes_to_the_part_set_aside_before_anything_is_drawn():
    ledger = Ledger(Budget.from_epsilon_delta(1, 1e-5, epsilon_aside=0.5, delta_aside=5e-6))
    options = {"rate": 0.01, "rounds": 20, "delta": 1e-6, "draws": 20}
    with pytest.raises(BudgetExceededError):
        charge_poisson(ledger, "rounds", noise_multiplier=0.5, **options)
    assert ledger.entries == ()
    entry = charge_poisson(ledger, "rounds", noise_multiplier=2.0, **options)
    assert 0 < entry.epsilon < 0.5
    assert "Poisson rate 0.01" in entry.note
    assert entry.epsilon == poisson_epsilon(
        rate=0.01, rounds=20, noise_multiplier=2.0, delta=1e-6, relation="add-remove"
    )


@pytest.mark.parametrize(
    ("rate", "rounds", "sigma"),
    [(0, 1, 1.0), (1.1, 1, 1.0), (0.5, 0, 1.0), (0.5, 1, 0.0), (0.5, 1, float("nan"))],
)
def test_invalid_plans(rate, rounds, sigma):
    with pytest.raises(InvalidInputError):
        poisson_epsilon(rate=rate, rounds=rounds, noise_multiplier=sigma, delta=1e-6, relation="replace")


def test_missing_extra_is_explained(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(MissingExtraError, match=r"eigenveil\[poisson\]"):
        poisson_epsilon(rate=0.5, rounds=1, noise_multiplier=1.0, delta=1e-6, relation="add-remove")


def test_importing_eigenveil_does_not_import_dp_accounting():
    import subprocess

    code = "import sys, eigenveil.privacy.poisson, eigenveil.mechanisms; assert 'dp_accounting' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603


def test_refused_under_empty_slot():
    with pytest.raises(InvalidInputError, match="add-remove and replace only"):
        poisson_epsilon(rate=0.1, rounds=2, noise_multiplier=1.0, delta=1e-5, relation="empty-slot")
