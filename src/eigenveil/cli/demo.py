"""``eigenveil demo``: a plan, handwritten digits, a report, and how good that is against other methods."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenveil.cli.speaking import at_work

EXAMPLES = "\n\n".join(["Examples:", "eigenveil demo", "eigenveil demo --out somewhere/"])  # noqa: FLY002


@at_work
def command(
    *,
    out: Annotated[Path, typer.Option(help="Folder for the model and the report.")] = Path("demo-output"),
    components: Annotated[int, typer.Option("-k", "--components", min=2, max=20, help="How many directions.")] = 3,
    epsilon: Annotated[float, typer.Option(min=0.01, max=100.0, help="What the fit may cost every digit.")] = 1.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> None:
    """Plan, fit 1797 handwritten digits (8 x 8 pixels, no download) and write a report; then compare.

    The table at the end says how much of the variance that plain PCA holds each method keeps, of the digits and of
    a synthetic sample with two directions and little noise (1,000 units, 200 columns). It looks at the data, so it
    is for you and not for publication.
    """
