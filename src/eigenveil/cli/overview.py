"""Overview printed by ``eigenveil --help``, in typer's style but without importing typer, which takes longer."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

USAGE = "eigenveil [OPTIONS] COMMAND [ARGS]..."
ABOUT = "Differentially private PCA of files: principal components with a guarantee for everyone in the data."
STREAMS = "Data and --json go to stdout, progress and messages to stderr."
EXIT_CODES = "Exit codes: 0 success, 1 failure, 2 usage error, 3 privacy budget exceeded."
OPTIONS = {"--version": "Show the version and exit.", "--help, -h": "Show this message and exit."}
COMMANDS = {
    "plan": "Show the expected energy for each epsilon, or the epsilon or number of people that reach a target.",
    "fit": "Compute differentially private principal components of the rows, or people, in files.",
    "transform": "Compute scores: the coordinates of each row along the components, one output line per row.",
    "inspect": "Show a saved model: components, variances, privacy budget spent, and whether it is private.",
    "report": "Write a saved model as one HTML file with figures, ledger and guarantee. It opens offline.",
    "app": "Open a local web page: choose a file, plan, see the cost, fit, and read the report.",
    "demo": "Fit 1797 handwritten digits (8 x 8 pixels, no download), write a report, compare with other methods.",
    "example": "Write an example table of made-up visits to a clinic: 4000 people, two rows each, mixed columns.",
    "audit": "Attack the algorithms with a canary, and compare lower bounds on epsilon with the claims.",
    "reproduce": "Reproduce the paper's figures: tables as CSV, figures as SVG and PNG.",
}
"""All commands, with the first paragraph of their help."""
FIRST_STEP = "Start with: eigenveil demo"


def show_overview() -> None:
    """Print the overview to stdout."""
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
