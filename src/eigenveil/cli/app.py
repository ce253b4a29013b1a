"""The commands, put together; each is loaded when it is called for."""

from __future__ import annotations

import signal
from importlib import import_module
from inspect import cleandoc
from typing import Any

import typer
from typer.core import TyperGroup

from eigenveil.cli.overview import COMMANDS, show_overview


class Commands(TyperGroup):
    """All commands by name, of which one is loaded."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        not_loaded: dict[str, Any] = dict.fromkeys(COMMANDS)
        self.commands.update(not_loaded)  # typer lists and suggests names from here

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name; None if there is none."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        room = import_module(f"eigenveil.cli.{cmd_name}")
        alone = typer.Typer(add_completion=False)
        alone.command(name=cmd_name, help=_flowing(room.command.__doc__), epilog=room.EXAMPLES)(room.command)
        return typer.main.get_command(alone)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The overview, for those who come here without passing the front desk."""
        del ctx, formatter
        show_overview()


app = typer.Typer(
    name="eigenveil",
    cls=Commands,
    add_completion=False,
    pretty_exceptions_enable=False,  # local variables may be values of the data
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _any_command() -> None:
    """Typer's sign for an app that has commands."""


def _flowing(text: str | None) -> str:
    """Paragraphs as one line each, for the terminal to break."""
    paragraphs = cleandoc(text or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def run() -> None:
    """Run the command of this process; a request to end is like Ctrl-C, so that nothing is left half done."""
    signal.signal(signal.SIGTERM, _interrupt)
    app(prog_name="eigenveil")
