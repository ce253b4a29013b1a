"""Numbers that README, benchmarks/README.md and docs quote are those of the tables."""

import importlib.util
import re
import shutil
import sys

import pytest

from .pages import HOUSE


@pytest.fixture(scope="module")
def script():
    found = importlib.util.spec_from_file_location("quoted_numbers", HOUSE / "docs" / "quoted_numbers.py")
    module = importlib.util.module_from_spec(found)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path])
        patch.setitem(sys.modules, "quoted_numbers", module)
        found.loader.exec_module(module)
        yield module


def text_of(page):
    return (HOUSE / page).read_text("utf-8")


def test_pages_quote_the_tables(script):
    wrong = [
        one
        for page in script.PAGES
        if page not in script.GENERATED
        for one in script.compared(page, text_of(page))[1]
    ]
    assert not wrong, "run python docs/quoted_numbers.py --write"


def test_every_number_about_a_table_is_registered(script):
    assert [
        one
        for page in script.PAGES
        if page not in script.GENERATED
        for one in script.unregistered(page, text_of(page))
    ] == []


def test_quotes_and_settings_are_of_pages_that_exist(script):
    assert {one.page for one in (*script.QUOTES, *script.BLOCKS)} | set(script.SETTINGS) <= set(script.PAGES)
    for page, phrases in script.SETTINGS.items():
        for phrase in phrases:
            assert script.Quote(page, phrase, tuple).pattern.search(text_of(page)), (
                f"{page} has no {phrase!r}: remove it"
            )


def test_line_breaks_stay(script):
    text = "It takes 3\n  to 5 times as long."
    start, end = text.index("3"), text.index(" times")
    assert script._replaced(text, start, end, "4 to 6") == "It takes 4\n  to 6 times as long."
    assert script._replaced(text, start, end, "4") == "It takes\n  4 times as long."
    assert script._replaced("It takes 3 times", 9, 10, "4 to 6") == "It takes 4 to 6 times"


# -- each check can fail ---------------------------------------------------------------------------


def test_numbers_that_differ_are_found_and_written(script):
    for quote in [one for one in script.QUOTES if one.pattern.groups]:
        right = text_of(quote.page)
        start, end = quote.pattern.search(right).span(1)
        text, wrong = script.compared(quote.page, f"{right[:start]}987{right[end:]}")
        assert len(wrong) == 1
        assert "'987' should be " in wrong[0]
        assert text.split() == right.split()


def test_a_table_that_differs_is_found_and_written(script):
    right = text_of("README.md")
    planted = right.replace("| digits, 1797 x 64 | **", "| digits, 1797 x 64 | **9")
    assert planted != right
    text, wrong = script.compared("README.md", planted)
    assert len(wrong) == 1
    assert text == right


def test_a_sentence_that_was_changed_is_found(script):
    _, wrong = script.compared("docs/scale.md", text_of("docs/scale.md").replace("times as long as on Dask", "x"))
    assert "found 0 times" in wrong[0]


@pytest.mark.parametrize(
    ("change", "page", "says"),
    [
        (("spark", r"(over one Dask worker.* \|) [\d.]+", r"\1 987.2"), "docs/scale.md", "should be '987'"),
        (("rivals", "digits, k=5", "digits, k=6"), "README.md", "has no row ('digits, k=5',)"),
        (("rivals", r"OpenDP 0\.16", "OpenDP 0.17"), "README.md", "no column 'OpenDP 0.16'"),
        (("speed", r"k = 2 \| \d+", "k = 2 | x"), "benchmarks/README.md", "'x' does not begin with a number"),
        (("side-channels", r"(row of nan.*)not seen", r"\1yes"), "docs/sharp-edges.md", "['a row of nan']"),
        (("arena", "geometric mean", "mean"), "benchmarks/README.md", "results/arena.md says"),
    ],
)
def test_a_new_table_makes_a_page_differ(script, tmp_path, monkeypatch, change, page, says):  # noqa: PLR0917
    results = tmp_path / "results"
    shutil.copytree(HOUSE / "benchmarks" / "results", results)
    monkeypatch.setattr(sys.modules["lookup"], "RESULTS", results)
    table, pattern, instead = change
    file = results / f"{table}.md"
    planted, count = re.subn(pattern, instead, file.read_text("utf-8"))
    assert count
    file.write_text(planted, "utf-8")
    wrong = script.compared(page, text_of(page))[1]
    assert any(says in one for one in wrong), wrong


@pytest.mark.parametrize(
    ("paragraph", "found"),
    [
        ("It takes 7.3 times as long ([speed.md](../benchmarks/results/speed.md)).", 1),
        ("It takes 7.3 times as long.", 0),
        ("Only .05 of `benchmarks/results/rivals.md`, 1e-6 of it, and +42 MB.", 3),
        ("See real.md, for DP-Gauss-1 of float64 at `n = 7`.", 0),
        ("[The table](../benchmarks/results/audit.md) says:\n\n- 3 of 4\n- x", 2),
        ("[The table](../benchmarks/results/audit.md) says:\n\n| a |\n|---|\n| 9 |", 1),
        ("A list:\n\n- 3 of 4\n- 2 in real.md\n- 7", 1),
        ("```\n3 of benchmarks/results/audit.md\n```", 0),
        ("8 pages like audit.md", 0),
    ],
)
def test_numbers_that_are_not_registered_are_found(script, paragraph, found):
    page = "docs/scale.md"
    assert len(script.unregistered(page, f"{text_of(page)}\n\n{paragraph}\n")) == found


def test_values_of_several_words_are_quoted(script):
    pattern = script.Quote("README.md", "takes {} times as {} long", tuple).pattern
    assert pattern.search("it takes .5, 1, 2\nand 4 times as many, many long").groups() == (
        ".5, 1, 2\nand 4",
        "many, many",
    )
    assert not pattern.search("it takes (1) times as long long")
