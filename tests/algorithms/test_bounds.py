import math

import numpy as np
import pytest

from eigenveil.algorithms.bounds import Declared, buy_bounds
from eigenveil.errors import InvalidInputError
from eigenveil.operators import samples
from support.baselines import BUDGET, units_of

ROWS = np.random.default_rng(0).normal(size=(400, 3))


def test_public_bounds_cost_nothing_and_are_in_the_ledger():
    units = units_of(ROWS)
    bounds = buy_bounds(units, Declared(beta=3.0, n=400))
    assert (bounds.radius, bounds.n_hat, bounds.mu, bounds.n_noise) == (9.0, 400.0, BUDGET.mu, 0.0)
    assert units.veil.ledger.mu == 0
    assert [entry.kind for entry in units.veil.ledger.entries] == ["declared", "declared"]
    assert "beta = 3" in str(units.veil.ledger)


def test_bought_bounds_and_remaining_mu_add_up_to_the_budget():
    units = units_of(ROWS)
    bounds = buy_bounds(units, Declared())
    count, histogram, radius = units.veil.ledger.entries
    assert count.mu == pytest.approx(0.1 * BUDGET.mu)
    assert math.hypot(histogram.mu, radius.mu) == pytest.approx(math.sqrt(0.06) * BUDGET.mu)
    assert units.veil.ledger.mu**2 + bounds.mu**2 == pytest.approx(BUDGET.mu**2)
    assert bounds.n_noise == pytest.approx(count.scale)


def test_under_replace_the_count_is_free():
    units = units_of(ROWS, relation="replace")
    bounds = buy_bounds(units, Declared())
    assert bounds.n_hat == 400
    assert [entry.kind for entry in units.veil.ledger.entries] == ["declared", "gaussian", "gaussian"]
    assert units.veil.ledger.mu**2 + bounds.mu**2 == pytest.approx(BUDGET.mu**2)


def test_no_count_is_bought_where_none_is_needed():
    bounds = buy_bounds(units_of(ROWS), Declared(beta=1.0), count=False)
    assert bounds.n_hat is None
    assert bounds.mu == BUDGET.mu
    assert buy_bounds(units_of(ROWS), Declared(), count=False).n_hat == 400  # the search needs one


def test_radius_includes_the_quantile():
    rows = np.random.default_rng(1).normal(size=(20_000, 3))
    for by_rows, ratio in ((False, 2**0.25), (True, 2**0.5)):
        for quantile in (0.5, 0.9):
            true = np.quantile(np.sum(rows**2, axis=1), quantile)
            found = buy_bounds(units_of(rows), Declared(quantile=quantile), by_rows=by_rows).radius
            assert true * 0.99 <= found <= true * ratio * 1.01
    # by_rows applies to rows only: a person's mean row does not determine the norm of their matrix
    people = samples.factors([np.array([[3.0, 0.0], [-3.0, 0.0]])] * 500)
    assert buy_bounds(units_of(people), Declared(), by_rows=True).radius >= 9.0
    for few in (np.zeros((0, 2)), np.full((5, 2), np.nan), np.zeros((5, 2))):
        bounds = buy_bounds(units_of(few), Declared())
        assert bounds.n_hat >= 1
        assert bounds.radius > 0


@pytest.mark.parametrize(
    "bad",
    [{"beta": b} for b in (0.0, -1.0, math.inf, math.nan, 1e200, 1e-200, "1", True)]
    + [{"n": n} for n in (0, -1, 2.0, True)]
    + [{"quantile": q} for q in (0.0, 1.0, math.nan, "half")],
)
def test_invalid_declarations_are_refused(bad):
    with pytest.raises(InvalidInputError, match=next(iter(bad))):
        Declared(**bad)
