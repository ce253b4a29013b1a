"""Every promise of docs/guarantees.md has a test that exists, and a module that argues for it."""

import ast
import re

import pytest

from .pages import HOUSE

PAGE = (HOUSE / "docs" / "guarantees.md").read_text("utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for section in PAGE.split("## The promises")[1].split("## What is not")[0].split("###")[1:]
    for line in section.splitlines()
    if line.startswith("| ") and not line.startswith("| promise")
]


def named_tests(text):
    return re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)


def functions(path):
    """Names of the test functions of a file; none if there is no such file."""
    if not path.is_file():
        return set()
    return {node.name for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.FunctionDef)}


def missing(text):
    return [f"{file}::{name}" for file, name in named_tests(text) if name not in functions(HOUSE / file)]


def test_there_are_promises():
    assert len(ROWS) > 25
    assert {len(row) for row in ROWS} == {4}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:40])
def test_a_promise_has_tests_that_exist(row):
    assert named_tests(row[3])
    assert missing(row[3]) == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:40])
def test_the_modules_that_argue_for_it_exist(row):
    for name in re.findall(r"`([\w/]+\.py)`", row[2]):
        assert (HOUSE / "src" / "eigenveil" / name).is_file(), name


def test_a_test_that_does_not_exist_is_noticed():
    here = "tests/docs/test_guarantees.py"
    text = f"`{here}::test_there_are_promises`, `{here}::test_no`, `tests/docs/test_none.py::test_x`"
    assert missing(text) == [f"{here}::test_no", "tests/docs/test_none.py::test_x"]


def test_pages_link_to_each_other():
    for name in ("privacy.md", "sharp-edges.md", "guide.md"):
        assert "(guarantees.md)" in (HOUSE / "docs" / name).read_text("utf-8")
        assert name == "guide.md" or f"({name}" in PAGE
