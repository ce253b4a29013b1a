"""Noisy counts of excluded rows. tests/support/catalogue.py has it checked for sensitivity, draws and noise."""

from dataclasses import replace

import numpy as np
import pytest

from eigenveil.mechanisms import SeededBytes, noisy_left_out
from eigenveil.operators import ColumnGroup, samples
from support.checks import stated_sensitivity_holds
from support.open import open_quiet

RELATIONS = ["add-remove", "replace", "empty-slot"]
GROUPS = (ColumnGroup("site", slice(0, 2)), ColumnGroup("sex", slice(2, 4)))


def spoilt(n=300, each=3):
    rows = np.ones((n, 4))
    rows[::each] = np.nan
    rows[1::each, 2:] = 0
    return replace(samples.people(rows, np.arange(n) // each), groups=GROUPS)


@pytest.mark.parametrize("relation", RELATIONS)
def test_numbers_and_cost(relation):
    units = open_quiet(spoilt(), relation=relation)
    found = noisy_left_out(units.left_out(), mu=0.1, veil=units.veil)
    assert (found.people.value, found.unknown["site"].value, found.unknown["sex"].value) == (100, 0, 100)
    assert found.rows.value == pytest.approx(100 / 3, abs=0.1), "rounded for each by itself"
    (entry,) = units.veil.ledger.entries
    assert (entry.mu, entry.draws, entry.sensitivity) == (0.1, 4, pytest.approx(2.0))
    assert entry.sensitivity >= 2.0
    assert entry.scale == pytest.approx(found.rows.scale, rel=1e-6) == pytest.approx(20.0)


def test_rows_have_groups_only():
    units = open_quiet(replace(samples.rows(np.zeros((5, 4))), groups=GROUPS[:1]), relation="add-remove")
    found = noisy_left_out(units.left_out(), mu=0.1, veil=units.veil)
    assert (found.people, found.rows, found.unknown["site"].value) == (None, None, 5)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("name", ["rows left out", "values left out of sparse rows"])
def test_the_stated_sensitivity_is_tight(name, relation):
    """A unit with all numbers at 1 comes close to it: half of the rows are excluded, or all groups are 0."""
    worst = [np.nan, np.nan] if name == "rows left out" else [0.0, 0.0]
    before = [[1.0, 1.0], worst]
    after = [[1.0, 1.0], [1.0, 1.0]] if relation == "replace" else [[1.0, 1.0]]
    ratio = stated_sensitivity_holds(name, relation, np.array(before), np.array(after))
    assert ratio == pytest.approx(1.0 if "values" in name else (1 + 0.25) / 2)


def test_noise_has_the_stated_standard_deviation():
    taken = []
    for seed in range(400):
        units = open_quiet(spoilt(30), relation="add-remove", source=SeededBytes(seed))
        found = noisy_left_out(units.left_out(), mu=0.1, veil=units.veil)
        taken.append((found.people.value, found.rows.value, found.unknown["sex"].value))
    np.testing.assert_allclose(np.mean(taken, axis=0), [10, 10 / 3, 10], atol=6 * 20 / np.sqrt(400))
    np.testing.assert_allclose(np.std(taken, axis=0), 20.0, rtol=0.2)
