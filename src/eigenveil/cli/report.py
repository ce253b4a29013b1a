"""``eigenveil report``: a saved model as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenveil.cli.choosing import check_target
from eigenveil.cli.speaking import ending_well, say
from eigenveil.cli.targets import COMMAND_FILE
from eigenveil.persistence import load
from eigenveil.persistence.score_maps import load_map

EXAMPLES = "\n\n".join(["Examples:", "eigenveil report model/ --out report.html"])  # noqa: FLY002


@ending_well
def command(
    model: Annotated[Path, typer.Argument(help="Folder of a model.")],
    *,
    out: Annotated[Path, typer.Option(help="The HTML file.")] = Path("report.html"),
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write one HTML file on a saved model: pictures, ledger, what the guarantee means; it opens offline."""
    loaded = load(model)
    scores = load_map(loaded, model)
    check_target(out, force=force, folder=False)
    from eigenveil.report import write_report  # noqa: PLC0415  # matplotlib takes its time to import

    made_by = model / COMMAND_FILE
    command_line = made_by.read_text(encoding="utf-8").strip() if made_by.exists() else None
    write_report(loaded, out, command=command_line, scores=scores)
    say(f"report: {out}")
