"""The paper's figures and the verdicts on its claims, all of one code.

    python benchmarks/figures.py            # docs/figures, docs/claims.md, results/figures.md; goes on if stopped
    python benchmarks/figures.py --quick    # a few small points of every figure; writes nothing

`eigenveil reproduce all claims` writes the same figures and verdicts. This script adds a page with a stamp: for
every figure, zeta of tracked PCA over that of the best other private method at each point, as a geometric mean and
at its largest; and how many claims have which verdict. Verdicts that change are printed on the way.
"""

from __future__ import annotations

import collections
import math
import os
import pathlib
import re
import statistics
import tempfile

import stamp
from harness import CACHE, parser, say, table, write

from eigenveil.experiments import FIGURES, METHODS, Run, names, reproduce, write_claims
from eigenveil.experiments.table import Table, read_table

DOCS = pathlib.Path(__file__).parent.parent / "docs"


def line(figure: str, found: Table) -> tuple[str, ...]:
    """A line of the table."""
    ours = {(row.panel, row.x): row.mean for row in found.rows if row.method == names.TRACKED}
    others: dict[tuple[float | None, float], float] = {}
    for row in found.rows:
        if METHODS[row.method].private and row.method != names.TRACKED:
            place = row.panel, row.x
            others[place] = min(row.mean, others.get(place, math.inf))
    ratios = [ours[place] / others[place] for place in ours]
    numbers = (f"{statistics.geometric_mean(ratios):.2g}", f"{max(ratios):.2g}") if ratios else ("", "")
    return figure, f"{len({(row.panel, row.x) for row in found.rows})}", *numbers


def verdicts(page: pathlib.Path) -> list[str]:
    """The verdict on every claim that is checked, in the order of the page."""
    found = re.findall(r"^\| (\d+) \|.*?\| \*\*(.+?)\*\*", page.read_text("utf-8"), flags=re.MULTILINE)
    return [f"claim {number}: {word}" for number, word in found]


def main() -> None:
    """Run, write, and compare."""
    options = parser(__doc__)
    options.add_argument("--quick", action="store_true", help="nothing is written")
    quick = options.parse_args().quick
    stamped = stamp.line("experiments")
    run = Run(trials=2, quick=True) if quick else Run()
    before = verdicts(DOCS / "claims.md")
    with tempfile.TemporaryDirectory() as name:
        docs = pathlib.Path(name) if quick else DOCS
        reproduce(
            FIGURES.values(),
            run,
            out=docs / "figures",
            cache=CACHE / "reproduce",
            workers=os.cpu_count() or 1,
            on_progress=lambda done, total, what: say(f"{done} of {total}: {what}"),
        )
        found = verdicts(write_claims(docs / "figures", docs / "claims.md"))
        tables = {name: read_table(one, docs / "figures" / f"{name}.csv") for name, one in FIGURES.items()}
    for one in set(found) - set(before):
        say(f"another verdict than before: {one}")
    words = collections.Counter(one.split(": ", 1)[1] for one in found)
    head = ("figure", "points", "tracked over the best other private method", "at most")
    write(
        "figures",
        title="The paper's figures and claims",
        about=f"{run.trials} trials a point (slow methods have fewer), seed {run.seed} for all data and noise.\n"
        "zeta of tracked PCA over the smallest of the other private methods: geometric mean over points, and the\n"
        "largest. Figures are in [docs/claims.md](../../docs/claims.md), their numbers in docs/figures.",
        stamp=stamped,
        command="python benchmarks/figures.py",
        body=table(head, [line(name, one) for name, one in tables.items()])
        + "\n\n"
        + table(("verdict", "claims"), words.most_common()),
        keep=not quick,
    )


if __name__ == "__main__":
    main()
