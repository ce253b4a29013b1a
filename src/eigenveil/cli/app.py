"""Typer application with all commands. A command's module is imported only when the command is called."""

from __future__ import annotations

import signal
from importlib import import_module
from inspect import cleandoc
from typing import Any

import typer
from typer.core import TyperGroup

from eigenveil.cli.overview import COMMANDS, show_overview


class Commands(TyperGroup):
    """Command group that imports a command's module on first use."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        not_loaded: dict[str, Any] = dict.fromkeys(COMMANDS)
        self.commands.update(not_loaded)  # typer lists and suggests commands from these names

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command `cmd_name`, or None if it does not exist."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"eigenveil.cli.commands.{cmd_name}")
        single = typer.Typer(add_completion=False)
        help_text = _unwrap_paragraphs(module.command.__doc__)
        single.command(name=cmd_name, help=help_text, epilog=module.EXAMPLES)(module.command)
        return typer.main.get_command(single)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the overview. Needed for callers that bypass `front.main`."""
        del ctx, formatter
        show_overview()


app = typer.Typer(
    name="eigenveil",
    cls=Commands,
    add_completion=False,
    pretty_exceptions_enable=False,  # pretty tracebacks print local variables, which may hold values of the data
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _any_command() -> None:
    """Tell typer that the application has subcommands."""


def _unwrap_paragraphs(text: str | None) -> str:
    """Join the lines of each paragraph, so that the terminal can wrap them."""
    paragraphs = cleandoc(text or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def run() -> None:
    """Run the command given in `sys.argv`. SIGTERM is handled like Ctrl-C, so that cleanup code runs."""
    signal.signal(signal.SIGTERM, _interrupt)
    app(prog_name="eigenveil")
