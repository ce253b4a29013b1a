"""Make every table of the present code, one after the other.

    make evidence                                # all tables that the present code has not made yet
    make evidence-quick                          # every script at its smallest size; writes nothing
    python benchmarks/evidence.py --list         # what there is, and which tables are of the present code
    python benchmarks/evidence.py --only arena   # tables whose name contains this

A run that is stopped continues where it was: a table of the present code is not made again, and long scripts keep
what they have computed (benchmarks/.cache). Tables of ratios of times come first: leave the machine alone until
they are made. A script that fails does not stop the others; the end says which failed.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import stamp
from harness import HERE, RESULTS, parser, say

PYTHON = sys.executable


@dataclass(frozen=True)
class Evidence:
    """A table, and the script that makes it.

    Parameters
    ----------
    name : str
        Of the table: results/<name>.md.
    script : str
        Script and options that make the whole table.
    quick : str
        Options that make a run small, so that nothing is written.
    question : str
        What the table answers.
    takes : str
        A rough guide, for two cores.
    idle : bool, default=False
        Whether times are measured, so that nothing else may run.
    """

    name: str
    script: str
    quick: str
    question: str
    takes: str
    idle: bool = False

    def command(self, *, quick: bool) -> list[str]:
        """The command that makes this table, or a small run of it."""
        script, *options = self.script.split()
        return [PYTHON, str(HERE / script), *options, *(self.quick.split() if quick else ())]

    @property
    def is_current(self) -> bool:
        """Whether the present code has made this table."""
        page = RESULTS / f"{self.name}.md"
        return page.exists() and stamp.OLDER not in stamp.marked(page.read_text("utf-8"))


TABLES = (
    Evidence(
        "speed",
        "speed.py",
        "--only 2,000",
        "How long does a private fit take beside a plain one?",
        "minutes",
        idle=True,
    ),
    Evidence(
        "startup", "startup.py", "--repeats 2", "How long does eigenveil take to start?", "minutes", idle=True
    ),
    Evidence(
        "sampler",
        "sampler.py",
        "--rounds 1",
        "What does exact noise cost beside numpy's normals?",
        "a minute",
        idle=True,
    ),
    Evidence(
        "one-pass",
        "one_pass.py",
        "--small",
        "What does one round over the data cost beside a plain read?",
        "minutes",
        idle=True,
    ),
    Evidence(
        "scaling",
        "scaling.py",
        "--only components",
        "How do time and memory grow with the data?",
        "minutes",
        idle=True,
    ),
    Evidence(
        "wide",
        "wide.py",
        "--rows 2000 --columns 5000",
        "What do wide sparse data cost over TruncatedSVD, and what is found?",
        "minutes",
        idle=True,
    ),
    Evidence(
        "long",
        "long.py",
        "--rows 20000 --memory 20",
        "What do files larger than memory cost, in memory and in time?",
        "minutes",
        idle=True,
    ),
    Evidence(
        "cluster",
        "cluster.py",
        "--rows 20000",
        "What does a Dask cluster on one machine cost, and bring?",
        "minutes",
        idle=True,
    ),
    Evidence(
        "spark", "spark.py", "--rows 20000", "What does a Spark data frame cost over Dask?", "minutes", idle=True
    ),
    Evidence(
        "side-channels",
        "side_channels.py",
        "--pairs 2",
        "Do time and memory of a fit depend on the values of one row?",
        "minutes",
        idle=True,
    ),
    Evidence(
        "rivals",
        "rivals.py",
        "--cells d=6 --seeds 1 --limit 10",
        "How does eigenveil compare with other methods and libraries?",
        "hours",
        idle=True,
    ),
    Evidence(
        "all-private",
        "all_private.py",
        "--fits 1",
        "How much energy do components keep on real data if everything is paid for?",
        "minutes",
    ),
    Evidence(
        "real",
        "arena.py --family real",
        "--cells diabetes --seeds 2",
        "Real data: how does tracked PCA compare with DP-Gauss-1 whose clip is chosen for free?",
        "hours",
    ),
    Evidence(
        "arena", "arena.py", "--cells sigma=.001 --seeds 2", "The same on the public cells of the arena", "hours"
    ),
    Evidence(
        "growing",
        "arena.py --family growing",
        "--cells n=20,000 --seeds 2",
        "The same on slow spectra as rows grow",
        "hours",
    ),
    Evidence(
        "heavy-tails",
        "arena.py --family heavy-tails",
        "--cells n=10,000 --seeds 2",
        "The same on heavy tails",
        "an hour",
    ),
    Evidence(
        "small",
        "arena.py --family small --seeds 40",
        "--cells n=2,000 --seeds 2",
        "The same with few columns",
        "minutes",
    ),
    Evidence("skewed", "arena.py --family skewed", "--cells d=10 --seeds 2", "The same on skewed rows", "an hour"),
    Evidence(
        "planner",
        "planner.py",
        "--cells sigma=.001",
        "Is the zeta that the planner predicts what is measured?",
        "an hour",
    ),
    Evidence(
        "tables",
        "tables.py",
        "--scales 2 --fits 1",
        "Are private scales of mixed tables right, and the components that follow from them?",
        "an hour",
    ),
    Evidence(
        "uncertainty",
        "uncertainty.py",
        "--fits 2 --only twins",
        "Do intervals hold the truth as often as they say?",
        "hours",
    ),
    Evidence(
        "stream",
        "stream.py",
        "--seeds 1 --batches 3",
        "How well does a stream follow a subspace that moves?",
        "minutes",
    ),
    Evidence(
        "clip-bias", "clip_bias.py", "--only diabetes", "How much of what is clipped turns directions?", "minutes"
    ),
    Evidence(
        "sweep",
        "sweep.py",
        "--only wide --seeds 2",
        "What is each part and constant of tracked PCA worth?",
        "hours",
    ),
    Evidence(
        "audit", "audit.py", "--trials 40 --epsilon 4", "Do attacks show more than the claimed epsilon?", "an hour"
    ),
    Evidence(
        "audit-faults",
        "audit.py --faults",
        "--trials 40",
        "What does the audit show if something is wrong?",
        "minutes",
    ),
    Evidence(
        "audit-rivals",
        "audit_rivals.py",
        "--seconds 5 --draws 20",
        "Do the samplers of other libraries keep their epsilon?",
        "minutes",
    ),
    Evidence(
        "rerun",
        "rerun.py",
        "--trials 2",
        "Does a figure of the paper come out the same with other data and noise?",
        "an hour",
    ),
)
"""Every table, in the order in which `make evidence` makes them."""


def run(
    chosen: Sequence[Evidence], *, quick: bool, call: Callable[[list[str]], int] = subprocess.call
) -> list[str]:
    """Run scripts one after the other. Return the names of those that failed."""
    failed = []
    for done, one in enumerate(chosen, start=1):
        say(f"== {done} of {len(chosen)}: {one.name}{', measures time: leave the machine alone' * one.idle}")
        if call(one.command(quick=quick)):
            failed.append(one.name)
    return failed


def main() -> None:
    """Make what is missing."""
    options = parser(__doc__)
    options.add_argument("--quick", action="store_true", help="small runs that write nothing")
    options.add_argument("--only", default="", help="tables whose name contains this")
    options.add_argument("--list", action="store_true", help="make nothing")
    given = options.parse_args()
    named = [one for one in TABLES if given.only in one.name]
    if given.list:
        for one in named:
            print(f"{one.name}: {'this code' if one.is_current else 'to be made'} ({one.takes}). {one.question}")
        return
    failed = run([one for one in named if given.quick or not one.is_current], quick=given.quick)
    if failed:
        sys.exit(f"Failed: {', '.join(failed)}.")


if __name__ == "__main__":
    main()
