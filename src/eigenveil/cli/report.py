"""``eigenveil report``: a saved model as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenveil.cli.speaking import at_work

EXAMPLES = "\n\n".join(["Examples:", "eigenveil report model/ --out report.html"])  # noqa: FLY002


@at_work
def command(
    model: Annotated[Path, typer.Argument(help="Folder of a model.")],
    *,
    out: Annotated[Path, typer.Option(help="The HTML file.")] = Path("report.html"),
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write one HTML file on a saved model: pictures, ledger, what the guarantee means; it opens offline."""
