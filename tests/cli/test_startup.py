"""Modules that the command line imports before it answers, and consistency of the overview with the commands."""

import inspect
import subprocess
import sys
from importlib import import_module

import pytest

from eigenveil.cli import implementations, options
from eigenveil.cli.app import _unwrap_paragraphs
from eigenveil.cli.overview import COMMANDS

HEAVY = {
    *("numpy", "scipy", "sklearn", "pandas", "pyarrow", "narwhals", "duckdb", "matplotlib", "jinja2"),
    *("safetensors", "threadpoolctl", "eigenveil.algorithms", "eigenveil.kernels", "eigenveil.privacy"),
}
CLICKING = {"typer", "click", "pydantic"}
RUN = """
import sys
from eigenveil.cli import main
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""


def modules_after(*words):
    """Return the modules that a process has imported when the command line has answered."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", RUN, *words], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout
    return set(done.stderr.split())


def test_the_version_imports_almost_nothing():
    assert not (HEAVY | CLICKING | {"rich"}) & modules_after("--version")


@pytest.mark.parametrize("word", ["--help", "-h"])
def test_the_overview_imports_only_rich(word):
    loaded = modules_after(word)
    assert "rich" in loaded
    assert not (HEAVY | CLICKING) & loaded


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_does_not_import_its_implementation(name):
    loaded = modules_after(name, "--help")
    assert "typer" in loaded
    assert not HEAVY & loaded
    assert f"eigenveil.cli.implementations.{name}" not in loaded
    assert {other for other in COMMANDS if f"eigenveil.cli.commands.{other}" in loaded} == {name}


def test_the_test_can_fail():
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", f"import eigenveil; eigenveil.Budget\n{RUN}", "--version"],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert HEAVY & set(done.stderr.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_overview_and_command_have_the_same_help(name):
    text = _unwrap_paragraphs(import_module(f"eigenveil.cli.commands.{name}").command.__doc__)
    assert text.split("\n\n")[0] == COMMANDS[name]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_and_its_implementation_have_the_same_options(name):
    face = inspect.signature(import_module(f"eigenveil.cli.commands.{name}").command, eval_str=True)
    done = inspect.signature(import_module(f"{implementations.__name__}.{name}").run, eval_str=True)
    assert {one.name: plain(one.annotation) for one in face.parameters.values()} == {
        one.name: plain(one.annotation) for one in done.parameters.values()
    }
    assert all(one.default is one.empty for one in done.parameters.values())


def plain(annotation):
    """Return a type without its typer annotation."""
    return getattr(annotation, "__origin__", annotation) if hasattr(annotation, "__metadata__") else annotation


def test_plain_types_are_distinguished():
    assert plain(options.Units) == str | None
    assert plain(options.Units) != plain(options.Delta)


def test_without_a_command_the_overview_is_shown(eigenveil):
    answer = eigenveil()
    assert (answer.code, answer.out, answer.err) == (2, eigenveil("--help").out, "")


def test_unknown_commands_and_options_are_reported(eigenveil):
    answer = eigenveil("fitt")
    assert (answer.code, answer.out) == (2, "")
    assert "Did you mean 'fit'?" in answer.err
    assert "'eigenveil -h'" in answer.err
    assert eigenveil("--oops").code == 2


def test_typer_help_shows_the_overview_too(capsys):
    from eigenveil.cli.app import app

    with pytest.raises(SystemExit):
        app(["--help"], prog_name="eigenveil")
    told = capsys.readouterr().out
    assert all(name in told for name in COMMANDS)
