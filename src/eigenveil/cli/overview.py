"""``eigenveil --help``, drawn as typer draws help, but without typer: its own drawing takes twice as long."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

USAGE = "eigenveil [OPTIONS] COMMAND [ARGS]..."
ABOUT = "Private principal components from files: useful directions, with a guarantee for everyone in the data."
STREAMS = "Data and --json go to stdout, progress and messages to stderr."
EXIT_CODES = "Exit codes: 0 done, 1 failed, 2 usage, 3 the budget refused."
OPTIONS = {"--version": "Show it.", "--help, -h": "Show this message and exit."}
COMMANDS = {
    "plan": "What energy to expect at each epsilon, or which epsilon or how many people reach a target.",
    "fit": "Find private principal components of the rows, or people, in files.",
    "transform": "Scores of rows: their coordinates along the components, one line per row.",
    "inspect": "Show a saved model: components, variances, what it cost and whether it is private.",
    "report": (
        "Write one HTML file on a saved model: pictures, ledger, what the guarantee means; it opens offline."
    ),
    "demo": "Plan, fit 1797 handwritten digits (8 x 8 pixels, no download) and write a report; then compare.",
    "reproduce": "Make the paper's figures again: tables as CSV, pictures as SVG and PNG.",
}
"""Every command, and the first paragraph of its own help."""
FIRST_STEP = "Start with: eigenveil demo"


def show_overview() -> None:
    """Print it to stdout."""
    console = Console(highlight=False)
    usage = Text.assemble(("Usage: ", "yellow"), (USAGE, "bold"))
    for paragraph in (usage, Text(ABOUT), Text(f"{STREAMS} {EXIT_CODES}", "dim")):
        console.print(Padding(paragraph, (1, 1, 0, 1)))
    console.print()
    console.print(_panel("Options", OPTIONS))
    console.print(_panel("Commands", COMMANDS))
    console.print(Padding(Text(FIRST_STEP), 1))


def _panel(title: str, lines: dict[str, str]) -> Panel:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold cyan", no_wrap=True)
    table.add_column()
    for name, text in lines.items():
        table.add_row(Text(name), Text(text))
    return Panel(table, title=title, title_align="left", border_style="dim")
