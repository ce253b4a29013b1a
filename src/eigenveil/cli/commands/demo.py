"""Options of ``eigenveil demo``: plan, fit handwritten digits, write a report, compare with other methods."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenveil.cli.console import runs_work_module

EXAMPLES = "\n\n".join(["Examples:", "eigenveil demo", "eigenveil demo --out somewhere/"])  # noqa: FLY002


@runs_work_module
def command(
    *,
    out: Annotated[Path, typer.Option(help="Folder for the model and the report.")] = Path("demo-output"),
    components: Annotated[
        int, typer.Option("-k", "--components", min=2, max=20, help="Number of components.")
    ] = 3,
    epsilon: Annotated[float, typer.Option(min=0.01, max=100.0, help="Privacy budget epsilon of the fit.")] = 1.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> None:
    """Fit 1797 handwritten digits (8 x 8 pixels, no download), write a report, compare with other methods.

    Before the fit, a plan shows the accuracy to expect. The table at the end gives, for each method, the variance
    its components capture relative to plain PCA: on the digits, and on a synthetic sample with two components and
    little noise (1,000 units, 200 columns). The table is computed from the data without noise. Do not publish it.
    """
