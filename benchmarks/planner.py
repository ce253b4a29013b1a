"""The planner against what is measured: predicted zeta over the mean zeta of 3 seeded fits of tracked_pca.

    python benchmarks/planner.py                  # arena, and growing up to n = 100,000; writes results/planner.md
    python benchmarks/planner.py --cells decay    # cells whose name contains "decay"; prints only

The planner is given n, d, k, epsilon, delta, the true eigenvalues and the true spread. Rows that are not normal
(digits, mnist, skewed) come with a public sample: the digits themselves; 10,000 other rows of the skewed kind.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import math
import re
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import stamp
from cells import Cell, arena, available, decay, digits, factors, flat, growing, mnist, root
from harness import in_parallel, kept, parser, table, write

from eigenveil import metrics, plan
from eigenveil.algorithms import tracked_pca
from eigenveil.engines import LocalEngine

SEEDS = 3
EPSILONS = {"decay d=100 n=20,000": (0.2, 1.0, 5.0), "flat d=100 n=20,000": (0.2, 1.0, 5.0)}
"""Cells that are also shown at other epsilons than 1."""


@dataclass(frozen=True)
class Given:
    """What the planner is told of a cell."""

    n: int
    spectrum: Any
    spread: Any = "rows"


def given(name: str) -> Given:
    """The public numbers of a cell, from its name."""
    number = {key: float(value.replace(",", "")) for key, value in re.findall(r"(\w+)=([\d.,]+)", name)}
    n, d = int(number.get("n", 5000)), int(number.get("d", 200))
    if name.startswith("spiked"):
        square = number["sigma"] ** 2
        return Given(n, np.array([10.0, 5.0] + [0.0] * (d - 2)) + square, square * math.sqrt(d * (d + 1)))
    if name.startswith("people"):
        return Given(n, decay(100), int(name.split()[1]))
    if name.startswith("decay"):
        return Given(n, decay(d))
    if name.startswith("flat"):
        return Given(n, flat(d))
    if name.startswith("slow"):
        return Given(n, root(300))
    public = factors(10_000, root(300), skewed=True)
    rows = {"digits": digits, "mnist": mnist}.get(name, lambda: _rows(public(77).units))()
    return Given(len(rows) if name in ("digits", "mnist") else n, rows)


def _rows(units: Any) -> Any:
    return np.concatenate([np.asarray(block.values) for block in units.source.blocks()])


def measured(cell: Cell, k: int, epsilon: float) -> list[float]:
    """Zeta of seeded fits."""
    zetas = []
    for seed in range(SEEDS):
        data = cell.draw(2000 + seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            release = tracked_pca(
                data.units, k, epsilon=epsilon, delta=cell.delta, random_state=seed, engine=LocalEngine(1)
            )
        zetas.append(metrics.zeta(release.components, data.covariance))
    return zetas


def line(job: tuple[str, int, float]) -> tuple[list[str], bool | None]:
    """What `compared` finds, or found in an earlier run."""
    name = f"planner-{'-'.join(map(str, job))}-{stamp.stamp('planner')}"
    cells, holds = kept(name, lambda: compared(*job))
    return cells, holds


def compared(name: str, k: int, epsilon: float) -> tuple[list[str], bool | None]:
    """A line of the table, and whether the prediction holds (None where it is not trusted)."""
    cell = next(cell for cell in [*arena(), *growing()] if cell.name == name)
    known = given(cell.name)
    d = np.shape(known.spectrum)[-1]
    asked = {"delta": cell.delta, "spectrum": known.spectrum, "spread": known.spread}
    expected = plan(known.n, d, k, epsilon=epsilon, center=False, **asked).rows[0]
    found = measured(cell, k, epsilon)
    mean = sum(found) / len(found)
    ratio = expected.zeta / mean
    low, high = expected.interval
    inside = low <= mean <= high
    trusted = 1e-4 <= expected.zeta <= 0.7
    cells = [
        cell.name,
        f"{k}",
        f"{epsilon:g}",
        f"{expected.zeta:.3g}",
        f"{mean:.3g}",
        f"{ratio:.2f}",
        f"{low:.2g} to {high:.2g}{'' if inside else ' MISSED'}",
        "yes" if trusted else "no",
    ]
    return cells, (1 / 1.5 <= ratio <= 1.5) if trusted else None


def main() -> None:
    """Run, print and write the table."""
    options = parser(__doc__)
    options.add_argument("--cells", default="", help="only cells whose name contains this; nothing is written")
    options.add_argument("--skip", nargs="*", default=[], help="cells whose name contains one of these")
    given = options.parse_args()
    stamped = stamp.line("planner")
    cells = [cell for cell in [*arena(), *growing()] if given.cells in cell.name and "500,000" not in cell.name]
    skipped = [cell.name for cell in cells if any(word in cell.name for word in given.skip) or not available(cell)]
    jobs = [
        (cell.name, k, epsilon)
        for cell in cells
        if cell.name not in skipped
        for k in cell.ks
        for epsilon in EPSILONS.get(cell.name, (1.0,))
    ]
    found = list(in_parallel(line, jobs))
    columns = ("cell", "k", "epsilon", "predicted", "measured", "ratio", "interval", "trusted")
    write(
        "planner",
        title="Planner: predicted against measured zeta",
        about=f"Measured: mean of {SEEDS} seeded fits of tracked_pca against the true covariance.\n"
        "Seeds are those of data from 2000, of noise from 0, and 0 for the plan.\n"
        "`benchmarks/planner.py` says what the planner is given.\n"
        "Trusted to a factor of 1.5: where predicted zeta is between 1e-4 and .7.",
        stamp=stamped,
        command="python benchmarks/planner.py",
        body=f"{table(columns, [cells for cells, _ in found])}\n\n"
        + _summary([good for _, good in found if good is not None], skipped),
        keep=not given.cells,
    )


def _summary(holds: list[bool], skipped: list[str]) -> str:
    lines = [f"Within a factor of 1.5 in {sum(holds)} of {len(holds)} trusted predictions."]
    return "\n".join(lines + ([f"Left out: {', '.join(skipped)}."] if skipped else []))


if __name__ == "__main__":
    main()
