"""The catalogue of mutants fits the tree; whether each is found takes `make mutants`."""

from pathlib import Path

import pytest

from mutants.catalogue import MUTANTS
from mutants.run import TABLE

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_fits_the_tree(mutant):
    assert (ROOT / mutant.file).read_text(encoding="utf-8").count(mutant.right) == 1
    assert mutant.wrong != mutant.right
    assert all((ROOT / test.partition("::")[0]).exists() for test in mutant.tests)


def test_the_table_has_every_mutant_and_none_survives():
    table = TABLE.read_text(encoding="utf-8")
    assert "survives" not in table
    for mutant in MUTANTS:
        assert f"| {mutant.name} |" in table
