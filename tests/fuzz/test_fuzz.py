"""Fuzzing in the time of a test: all inputs that are kept, and a few more. `fuzz.run` searches for longer."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenveil.sources.files import csv_lines
from fuzz.run import changed
from fuzz.scratch import clean
from fuzz.targets import CORPUS, TARGETS

pytestmark = pytest.mark.ledger_beyond_recomputation  # forged ledgers state any sensitivity

SEEDS = {name: [file.read_bytes() for file in sorted((CORPUS / name).iterdir())] for name in TARGETS}


@pytest.fixture(autouse=True, scope="module")
def _no_files_left():
    yield
    clean()


def test_every_target_has_inputs():
    assert {folder.name for folder in CORPUS.iterdir()} == set(TARGETS)
    assert all(SEEDS.values())


@pytest.mark.parametrize("name", TARGETS)
def test_inputs_that_are_kept(name):
    for data in SEEDS[name]:
        TARGETS[name](data)


@pytest.mark.parametrize("name", [name for name in TARGETS if name != "report"])
@given(data=st.data())
@settings(max_examples=25)
def test_inputs_nearby(name, data):
    seed = data.draw(st.sampled_from(SEEDS[name]))
    TARGETS[name](changed(seed, random.Random(data.draw(st.integers(0, 2**32)))))


@pytest.mark.parametrize("name", ["lines", "csv_file", "strict_json", "ledger", "command_line", "encoding"])
@given(data=st.binary(max_size=200))
@settings(max_examples=25)
def test_any_bytes(name, data):
    TARGETS[name](data)


def test_a_broken_reader_is_found(monkeypatch):
    """The targets can fail: a reader in which a quote changes other lines is noticed."""
    right = csv_lines.well_formed

    def wrong(lines, width):
        return right(lines, width).replace(b"1", b"2") if b'"' in lines else right(lines, width)

    monkeypatch.setattr(csv_lines, "well_formed", wrong)
    with pytest.raises(AssertionError, match="depends on others"):
        TARGETS["lines"](b'\x01"a",3\n1,2')
