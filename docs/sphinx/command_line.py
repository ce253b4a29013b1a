"""Appends every command to docs/reference/command-line.md, from typer's own description of it."""

import re
from collections.abc import Iterator
from typing import Any

import typer

from eigenveil.cli.app import app as application
from eigenveil.cli.overview import ABOUT, COMMANDS, EXIT_CODES, OPTIONS, STREAMS, USAGE

PAGE = "docs/reference/command-line"


def lines() -> Iterator[str]:
    """Yield the reference as lines of Markdown."""
    yield from (f"`{USAGE}`", "", ABOUT, "", _plain(f"{STREAMS} {EXIT_CODES}"), "")
    yield from _definitions(OPTIONS)
    group: Any = typer.main.get_command(application)
    context = group.make_context("eigenveil", ["plan"], resilient_parsing=True)
    for name in COMMANDS:
        yield from _command(name, group.get_command(context, name), context)


def _command(name: str, command: Any, parent: Any) -> Iterator[str]:
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    yield from (f"## eigenveil {name}", "", f"`{command.get_usage(context).removeprefix('Usage: ')}`", "")
    yield from (_plain(command.help), "")
    for title, kind in (("Arguments", "argument"), ("Options", "option")):
        shown = [one for one in command.get_params(context) if one.param_type_name == kind]
        records = [one.get_help_record(context) for one in shown]
        if any(records):
            yield from (f"**{title}**", "")
            yield from _definitions(dict(filter(None, records)))
    examples = command.epilog.split("\n\n")[1:]
    yield from ("**Examples**", "", "```sh", *examples, "```", "")


def _definitions(described: dict[str, str]) -> Iterator[str]:
    for name, text in described.items():
        yield from (f"`{name}`", f": {_plain(text)}", "")


def _plain(text: str) -> str:
    """Return help text as Markdown: options become code, and nothing else is markup."""
    escaped = re.sub(r"([\\*_<\[])", r"\\\1", text)
    return re.sub(r"(?<!\S)(\(?)(--[a-z][a-z-]*)", r"\1`\2`", escaped)


def _append(_app: Any, page: str, source: list[str]) -> None:
    if page == PAGE:
        source[0] += "\n" + "\n".join(lines())


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", _append)
    return {"parallel_read_safe": True}
