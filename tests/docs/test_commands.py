"""Every command that README.md or docs show works as they say, and every piece of Python in them is run."""

import shlex

import pytest
import typer

from eigenveil.cli.app import app
from eigenveil.cli.commands import app as page
from eigenveil.cli.commands import audit, demo, example, fit, inspect, plan, report, transform

from .pages import HOUSE, PAGES, blocks, commands, is_long, write_data, wrong_commands

WITH_COMMANDS = [page for page in PAGES if any(not is_long(line) for line, _ in commands(page.read_text("utf-8")))]


FROM_AN_EMPTY_FOLDER = {"README.md", "guide.md"}
"""Pages whose commands make their own data, with `eigenveil example`."""

USAGE_ERROR = typer.BadParameter.__bases__[0]
"""Of whichever click typer uses."""


def parse(command):
    """Read the words of a command as the command line does, without running it."""
    words = shlex.split(command.partition("  #")[0].partition(" | ")[0].partition(" > ")[0])
    group = typer.main.get_command(app)
    assert words[0] == "eigenveil"
    if words[1].startswith("-"):
        return
    context = group.make_context("eigenveil", [words[1]])
    group.get_command(context, words[1]).make_context(words[1], words[2:], parent=context)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=() if page.name == "README.md" else pytest.mark.slow)
        for page in WITH_COMMANDS
    ],
)
def test_commands_do_what_the_page_says(page, tmp_path):
    if page.name not in FROM_AN_EMPTY_FOLDER:
        write_data(tmp_path)
    wrong = wrong_commands(page.read_text("utf-8"), tmp_path)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_long_commands_are_written_right(page):
    for command, _ in commands(page.read_text("utf-8")):
        parse(command)


def test_readme_and_guide_are_among_them():
    assert {page.name for page in WITH_COMMANDS} >= FROM_AN_EMPTY_FOLDER
    assert len(commands((HOUSE / "README.md").read_text("utf-8"))) >= 3


@pytest.mark.parametrize(
    "room",
    [page, audit, demo, example, fit, inspect, plan, report, transform],
    ids=lambda room: room.__name__,
)
def test_examples_of_help_are_written_right(room):
    examples = room.EXAMPLES.split("\n\n")[1:]
    assert examples
    for line in examples:
        parse(line)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_all_python_is_run_as_doctest(page):
    for block in blocks(page.read_text("utf-8"), "python"):
        assert ">>> " in block, f"this piece would not be run:\n{block}"


# -- the tests can fail --------------------------------------------------------------------------


def page_of(*lines):
    return "words\n\n```sh\n" + "\n".join(lines) + "\n```\n"


def test_a_wrong_command_is_found(tmp_path):
    write_data(tmp_path)
    good = "eigenveil fit data.parquet -k 1 --plan-only --units person_id"
    text = page_of(
        "make demo", good, f"{good} --no-such-flag", "eigenveil inspect nowhere/  # exit code 1: no model"
    )
    assert [line.split("\n")[0] for line in wrong_commands(text, tmp_path)] == [f"{good} --no-such-flag"]
    assert wrong_commands(page_of(f"{good}  # exit code 3"), tmp_path)


def test_wrong_words_are_found_without_running():
    parse("eigenveil demo --out somewhere/")
    for wrong in ("eigenveil demo --oops", "eigenveil fit", "eigenveil fit a.csv -k many"):
        with pytest.raises(USAGE_ERROR):
            parse(wrong)


def test_lines_that_go_on_are_one_command():
    assert commands(page_of("eigenveil fit a.csv \\", "  -k 2   # exit code 2")) == [
        ("eigenveil fit a.csv    -k 2", 2)
    ]
