"""Options of ``eigenveil app``: a local web page to plan and run a fit."""

from __future__ import annotations

from typing import Annotated

import typer

from eigenveil.cli.console import runs_work_module

EXAMPLES = "\n\n".join(  # noqa: FLY002
    ["Examples:", "eigenveil app", "eigenveil app visits.parquet", "eigenveil app --port 8000 --no-browser"]
)


@runs_work_module
def command(
    *,
    data: Annotated[str | None, typer.Argument(help="File to begin with.", metavar="[FILE]")] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on. Default: any free port.", show_default=False)
    ] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
) -> None:
    """Open a local web page: choose a file, plan, see the cost, fit, and read the report.

    The page is served on 127.0.0.1 and loads nothing from the network. Its address, printed to stderr, contains a
    random token. The page shows names and types of columns, and no values. Needs: pip install 'eigenveil[app]'.
    """
