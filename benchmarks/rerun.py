"""A figure of the paper run again with other data and other noise, beside the table that is kept.

    python benchmarks/rerun.py                       # spiked-n-small-noise; writes benchmarks/results/rerun.md
    python benchmarks/rerun.py gaussian-n --seed 2   # another one; prints only
    python benchmarks/rerun.py --trials 3            # a few small points with fewer trials; prints only

A point agrees if the means of the two runs differ by no more than the two 95 % half widths put together as
independent errors are, the root of the sum of their squares: of points that have the same law 95 % do.
"""

from __future__ import annotations

import math
import os
import pathlib
import tempfile

import stamp
from harness import CACHE, parser, say, table, write

from eigenveil.experiments import FIGURES, METHODS, Run, reproduce
from eigenveil.experiments.table import Row, read_table

ROOT = pathlib.Path(__file__).parent.parent
DEFAULT = "spiked-n-small-noise"


def agree(kept: Row, again: Row) -> bool:
    """Whether two means of the same thing lie as near as chance lets them."""
    return abs(kept.mean - again.mean) <= math.hypot(kept.high - kept.mean, again.high - again.mean)


def main() -> None:
    """Run, compare, print and write."""
    options = parser(__doc__)
    options.add_argument("figure", nargs="?", default=DEFAULT, choices=FIGURES)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--trials", type=int, help="of a few small points; nothing is written")
    given = options.parse_args()
    stamped = stamp.line("experiments")
    figure, run = FIGURES[given.figure], Run(seed=given.seed)
    if given.trials:
        run = Run(seed=given.seed, trials=given.trials, quick=True)
    kept = read_table(figure, ROOT / "docs" / "figures" / f"{figure.name}.csv")
    with tempfile.TemporaryDirectory() as name:
        out = pathlib.Path(name)
        reproduce(
            [figure],
            run,
            out=out,
            cache=CACHE / "reproduce",
            workers=os.cpu_count() or 1,
            on_progress=lambda done, total, *_: say(f"{done} of {total}"),
        )
        again = read_table(figure, out / f"{figure.name}.csv")
    lines, good = [], []
    for row in kept.rows:
        other = again.curve(row.method, row.panel).get(row.x)
        if row.trials < 2 or other is None:
            continue
        good.append(agree(row, other))
        ends = [f"{one.mean:.3g} ({one.low:.3g} to {one.high:.3g})" for one in (row, other)]
        lines.append([METHODS[row.method].label, f"{row.x:g}", *ends, "yes" if good[-1] else "no"])
    write(
        "rerun",
        title=f"{figure.title}: run again",
        about=f"zeta, mean (95 % interval); kept: `{kept.command}`; again: seed {given.seed}.\n"
        "`benchmarks/rerun.py` says when two points agree.",
        stamp=stamped,
        command=f"python benchmarks/rerun.py {figure.name} --seed {given.seed}",
        body=table(("curve", figure.label, "kept", "again", "agree"), lines)
        + f"\n\n{sum(good)} of {len(good)} points agree ({0.95 * len(good):.0f} are to be expected; "
        "methods share data, so their points may differ together).",
        keep=(given.figure, given.seed, given.trials) == (DEFAULT, 1, None),
    )


if __name__ == "__main__":
    main()
