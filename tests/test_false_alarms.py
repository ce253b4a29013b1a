"""Tests fail by chance less than once in 1,000 runs, and none is repeated until it passes."""

import ast
import re
from pathlib import Path

import pytest

from eigenveil.mechanisms import system_bytes
from support.false_alarms import QUICK, SEEDED, SLOW
from support.fixed_noise import fix_noise

ROOT = Path(__file__).parents[1]
FILES = [*(ROOT / "tests").rglob("*.py")]
BUDGET = 1e-3
STATISTICAL = re.compile(r"pvalue|chi_square_p|\bALARM\b|\bbinom\.|\bpoisson\.|mu_lower_bound|attack\(|coverage\(")
"""What a test function says if it decides by a probability."""
REPEATS = re.compile(r"\bflaky\b|\breruns?\b|rerunfailures|pytest_retry|\bretries\b|\btenacity\b", re.IGNORECASE)


def _functions(path):
    source = path.read_text("utf-8")
    return {
        node.name: ast.get_source_segment(source, node)
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
    }


def loops_until_it_passes(source):
    """Lines of loops that go on after a failed assertion."""
    return [
        handler.lineno
        for loop in ast.walk(ast.parse(source))
        if isinstance(loop, ast.For | ast.While)
        for handler in ast.walk(loop)
        if isinstance(handler, ast.ExceptHandler)
        and (handler.type is None or re.search(r"AssertionError|\bException\b", ast.unparse(handler.type)))
        and not any(isinstance(node, ast.Raise | ast.Assert) for node in ast.walk(handler))
    ]


def test_all_together_fail_by_chance_less_than_once_in_a_thousand_runs():
    chances = [*SLOW, *QUICK]
    assert all(0 <= one.probability < 2e-4 for one in chances)
    assert sum(one.probability for one in chances) < BUDGET
    assert len({one.test for one in chances}) == len(chances)


@pytest.mark.parametrize("chance", [*SLOW, *QUICK], ids=lambda one: one.test)
def test_the_test_exists(chance):
    file, name = chance.test.split("::")
    assert name in _functions(ROOT / file)


def test_slow_tests_are_slow_and_quick_ones_are_not():
    for chances, slow in ((SLOW, True), (QUICK, False)):
        for one in chances:
            file, name = one.test.split("::")
            source = (ROOT / file).read_text("utf-8")
            marks = re.search(rf"((?:^@.*\n(?:^[ )\]].*\n)*)*)^def {name}\(", source, re.MULTILINE)[1]
            assert ("mark.slow" in marks or bool(re.search(r"^pytestmark = .*slow", source, re.MULTILINE))) == slow


def test_statistical_tests_are_listed():
    listed = {one.test for one in (*SLOW, *QUICK)}
    found = {
        f"{path.relative_to(ROOT)}::{name}"
        for path in (ROOT / "tests").rglob("test_*.py")
        if str(path.relative_to(ROOT)) not in SEEDED and path != Path(__file__)
        for name, source in _functions(path).items()
        if STATISTICAL.search(source)
    }
    assert len(found) > 15
    assert found - listed == set()


def test_nothing_is_repeated_until_it_passes():
    settings = [ROOT / name for name in ("pyproject.toml", "Makefile", "constraints.txt")]
    for path in [*FILES, *settings]:
        if path != Path(__file__):
            assert not REPEATS.search(path.read_text("utf-8")), path
    tests = [path for path in FILES if path.name.startswith("test_")]
    assert {path.name: lines for path in tests if (lines := loops_until_it_passes(path.read_text("utf-8")))} == {}


def test_a_planted_loop_is_found():
    loop = "for _ in range(3):\n    try:\n        check()\n        break\n    except {}:\n        pass\n"
    assert loops_until_it_passes(loop.format("AssertionError")) == [5]
    assert loops_until_it_passes(loop.format("(ValueError, Exception)")) == [5]
    assert loops_until_it_passes(loop.format("KeyError")) == []


def test_fixed_noise_is_the_same_in_every_run(monkeypatch):
    drawn = []
    for name in ("a", "a", "b"):
        fix_noise(monkeypatch, name)
        drawn.append((system_bytes(32), system_bytes(32)))
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0][0] != drawn[0][1]


@pytest.mark.parametrize("package", ["app", "docs", "report"])
def test_pages_and_reports_draw_fixed_noise(package):
    names = {"noise_of_a_test", "noise_of_shared_fixtures"}
    imported = {
        alias.name
        for node in ast.parse((ROOT / "tests" / package / "conftest.py").read_text("utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert names <= imported
