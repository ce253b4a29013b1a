"""The directive ``commands``: arguments and options of every command, from typer's own description of them."""  # noqa: INP001

from collections.abc import Iterator
from typing import Any

import typer
from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from eigenveil.cli.app import app as application
from eigenveil.cli.overview import ABOUT, COMMANDS, EXIT_CODES, OPTIONS, STREAMS, USAGE


def lines() -> Iterator[str]:
    """Yield the reference as lines of Markdown."""
    yield from (f"`{USAGE}`", "", ABOUT, "", f"{STREAMS} {EXIT_CODES}", "")
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
        records = [one.get_help_record(context) for one in command.get_params(context) if one.param_type_name == kind]
        if any(records):
            yield from (f"**{title}**", "")
            yield from _definitions(dict(filter(None, records)))
    examples = command.epilog.split("\n\n")[1:]
    yield from ("**Examples**", "", "```sh", *examples, "```", "")


def _definitions(described: dict[str, str]) -> Iterator[str]:
    for name, text in described.items():
        yield from (f"`{name}`", f": {_plain(text)}", "")


def _plain(text: str) -> str:
    """Return help text as Markdown: nothing in it is markup."""
    for sign in "\\*_<[":
        text = text.replace(sign, "\\" + sign)
    return text


class Commands(Directive):
    """Insert the reference of the command line."""

    def run(self) -> list[nodes.Node]:
        """Return the parsed reference."""
        found = nodes.section()
        self.state.nested_parse(StringList(list(lines()), source="eigenveil --help"), 0, found, match_titles=True)
        return list(found.children)


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True}
