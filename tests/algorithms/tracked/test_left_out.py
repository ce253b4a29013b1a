"""A fit buys and reports counts of the rows excluded from people, and of values that are in no list."""

from dataclasses import replace

import numpy as np
import pytest

from eigenveil import samples, tracked_pca
from eigenveil.algorithms.release_warnings import Code
from eigenveil.operators import ColumnGroup

COST = {"epsilon": 1.0, "delta": 1e-6, "random_state": 0}


def people(missing=0.0, n=20_000):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, 5)) * [4, 2, 1, 1, 1]
    rows[rng.random(n) < missing, 2] = np.nan
    return samples.people(rows, np.arange(n) // 4)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("center", [True, False])
def test_a_third_of_the_rows_is_not_excluded_silently(relation, center):
    with pytest.warns(UserWarning, match="of a person's rows"):
        release = tracked_pca(people(0.34), 2, relation=relation, center=center, **COST)
    found = release.diagnostics.left_out
    assert found.rows / 5000 == pytest.approx(0.34, abs=0.01 + 6 * found.noise / 5000)
    assert found.people / 5000 == pytest.approx(1 - 0.66**4, abs=0.02 + 6 * found.noise / 5000)
    (warning,) = (one for one in release.warnings if one.code is Code.ROWS_LEFT_OUT)
    assert warning.numbers["share"] == pytest.approx(found.rows / 5000, abs=0.05)
    shares = {entry.what: (entry.mu / release.ledger.budget.mu) ** 2 for entry in release.ledger.entries}
    assert shares["rows and values left out"] == pytest.approx(0.005)


def test_valid_rows_give_no_warning():
    assert tracked_pca(people(), 2, **COST).warnings == ()


def test_single_rows_do_not_pay_for_it():
    release = tracked_pca(samples.rows(np.random.default_rng(0).normal(size=(2000, 3))), 1, **COST)
    assert "left_out" not in release.diagnostics
    assert "rows and values left out" not in [entry.what for entry in release.ledger.entries]


@pytest.mark.parametrize("form", ["rows", "people"])
def test_unknown_values_of_groups_are_counted(form):
    """North and south are listed, and one unit in five is from elsewhere."""
    rng = np.random.default_rng(1)
    site = rng.choice(3, size=10_000, p=[0.5, 0.3, 0.2])
    rows = np.column_stack([rng.normal(size=10_000) * 3, site == 0, site == 1]).astype(float)
    operator = samples.rows(rows) if form == "rows" else samples.people(rows, np.arange(10_000))
    groups = (ColumnGroup("site", slice(1, 3)), ColumnGroup("first", slice(0, 1)))
    with pytest.warns(UserWarning, match="'site'"):
        release = tracked_pca(replace(operator, groups=groups), 1, center=True, **COST)
    found = release.diagnostics.left_out
    assert found.unknown["site"] == pytest.approx(np.sum(site == 2), abs=6 * found.noise)
    assert abs(found.unknown["first"]) < 6 * found.noise
    assert [one.code for one in release.warnings] == [Code.UNKNOWN_VALUES]
    assert (found.people is None) == (form == "rows")
