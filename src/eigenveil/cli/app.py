"""The commands, put together."""

from __future__ import annotations

import signal
from inspect import cleandoc
from typing import Annotated, Any

import typer

from eigenveil.cli import demo, fit, inspect, plan, report, reproduce, transform

_HELP = """Private principal components from files: useful directions, with a guarantee for everyone in the data.

Data and --json go to stdout, progress and messages to stderr. Exit codes: 0 done, 1 failed, 2 usage, 3 the budget
refused."""

app = typer.Typer(
    name="eigenveil",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # local variables may be values of the data
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: eigenveil demo",
)


def _flowing(text: str | None) -> str:
    """Paragraphs as one line each, for the terminal to break."""
    paragraphs = cleandoc(text or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


for room in (plan, fit, transform, inspect, report, demo, reproduce):
    name = room.__name__.rsplit(".", 1)[-1]
    app.command(name=name, help=_flowing(room.command.__doc__), epilog=room.EXAMPLES)(room.command)


def _show_version(wanted: bool) -> None:  # noqa: FBT001  # typer calls it so
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415

        typer.echo(f"eigenveil {version('eigenveil')}")
        raise typer.Exit


@app.callback(help=_flowing(_HELP))
def _options(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show it.")
    ] = False,
) -> None:
    del version


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """Run the command line; a request to end is treated as Ctrl-C, so that nothing is left half done."""
    signal.signal(signal.SIGTERM, _interrupt)
    app(prog_name="eigenveil")
