"""Make every table of the present code, one after the other.

    make evidence                                # all tables that the present code has not made yet
    make evidence-quick                          # every script at its smallest size; writes nothing
    python benchmarks/evidence.py --list         # what there is, and which tables are of the present code
    python benchmarks/evidence.py --only arena   # tables whose name contains this

A run that is stopped continues where it was: a table of the present code is not made again, and long scripts keep
what they have computed (benchmarks/.cache). Tables of ratios of times come first: leave the machine alone until
they are made. A script that fails does not stop the others; the end says which tables were not made. A script
whose data or programs cannot be had says what it leaves out.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass

import stamp
from harness import HERE, RESULTS, parser, say

DOCS = HERE.parent / "docs"
WRITTEN = (RESULTS, DOCS / "figures", DOCS / "pictures", DOCS)
"""Folders that scripts write to."""
LONGEST = 600
"""Seconds that all small runs may take together."""


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
        return [sys.executable, str(HERE / script), *options, *(self.quick.split() if quick else ())]

    @property
    def is_current(self) -> bool:
        """Whether the present code has made this table."""
        page = RESULTS / f"{self.name}.md"
        return page.exists() and stamp.OLDER not in stamp.marked(page.read_text("utf-8"))


def timed(name: str, script: str, quick: str, question: str, takes: str) -> Evidence:
    """A table of times, for an idle machine."""
    return Evidence(name, script, quick, question, takes, idle=True)


TABLES = (
    timed("speed", "speed.py", "--only 2,000", "How long does a private fit take beside a plain one?", "minutes"),
    timed("startup", "startup.py", "--repeats 1", "How long does eigenveil take to start?", "minutes"),
    timed("sampler", "sampler.py", "--rounds 1", "What does exact noise cost beside numpy's normals?", "a minute"),
    timed(
        "one-pass",
        "one_pass.py",
        "--small",
        "What does one round over the data cost beside a plain read?",
        "minutes",
    ),
    timed(
        "scaling",
        "scaling.py",
        "--small --only components",
        "How do time and memory grow with the data?",
        "minutes",
    ),
    timed(
        "wide",
        "wide.py",
        "--rows 2000 --columns 3000",
        "What do wide sparse data cost over TruncatedSVD, and what is found?",
        "minutes",
    ),
    timed(
        "long",
        "long.py",
        "--rows 5000 --memory 20 --only csv",
        "What do files larger than memory cost, in memory and in time?",
        "minutes",
    ),
    timed(
        "cluster",
        "cluster.py",
        "--rows 20000",
        "What does a Dask cluster on one machine cost, and bring?",
        "minutes",
    ),
    timed(
        "spark", "spark.py", "--rows 5000 --repeats 1", "What does a Spark data frame cost over Dask?", "minutes"
    ),
    timed(
        "side-channels",
        "side_channels.py",
        "--pairs 1",
        "Do time and memory of a fit depend on the values of one row?",
        "minutes",
    ),
    timed(
        "rivals",
        "rivals.py",
        "--cells d=6 --seeds 1 --limit 10",
        "How does eigenveil compare with other methods and libraries?",
        "an hour",
    ),
    timed(
        "rivals-others",
        "rivals.py --others",
        "--cells d=8 --seeds 1 --limit 10",
        "The same on few columns, slow spectra, skewed rows and heavy tails",
        "half an hour",
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
        "--cells n=1,797 --seeds 2",
        "How does tracked PCA compare with DP-Gauss-1 whose clip is chosen for free, on real, public data?",
        "minutes",
    ),
    Evidence(
        "arena",
        "arena.py",
        "--cells sigma=1 --seeds 2",
        "The same on synthetic rows, people and matrices, digits and MNIST",
        "half an hour",
    ),
    Evidence(
        "growing",
        "arena.py --family growing",
        "--cells n=20,000 --seeds 2",
        "The same on slow spectra as rows grow",
        "minutes",
    ),
    Evidence(
        "heavy-tails",
        "arena.py --family heavy-tails",
        "--cells n=10,000 --seeds 2",
        "The same on heavy tails",
        "minutes",
    ),
    Evidence(
        "small",
        "arena.py --family small --seeds 40",
        "--cells n=178 --seeds 2",
        "The same with few columns, and with few rows against four fixed clips",
        "minutes",
    ),
    Evidence("skewed", "arena.py --family skewed", "--cells d=10 --seeds 2", "The same on skewed rows", "minutes"),
    Evidence(
        "downstream",
        "downstream.py",
        "--data digits --seeds 2",
        "What are private components worth to a classifier, for reconstruction, and to read loadings?",
        "minutes",
    ),
    Evidence(
        "growth",
        "growth.py",
        "--rows 3162 --seeds 2",
        "How far is zeta from what is possible, as n grows to a million?",
        "minutes",
    ),
    Evidence(
        "planner",
        "planner.py",
        "--cells digits",
        "Is the zeta that the planner predicts what is measured?",
        "minutes",
    ),
    Evidence(
        "tables",
        "tables.py",
        "--scales 2 --fits 1",
        "Are private scales of mixed tables right, and the components that follow from them?",
        "minutes",
    ),
    Evidence(
        "raw",
        "raw.py",
        "--seeds 1 --only KMsurv",
        "What are components of 63 raw tables worth if location and scale are paid for, and is their limit true?",
        "minutes",
    ),
    Evidence(
        "uncertainty",
        "uncertainty.py",
        "--fits 2 --only twins",
        "Do intervals hold the truth as often as they say?",
        "minutes",
    ),
    Evidence(
        "stream",
        "stream.py",
        "--seeds 1 --batches 4",
        "How well does a stream follow a subspace that moves?",
        "minutes",
    ),
    Evidence(
        "clip-bias", "clip_bias.py", "--only digits", "How much of what is clipped turns directions?", "minutes"
    ),
    Evidence(
        "sweep",
        "sweep.py",
        "--only share --cells d=30 --seeds 2",
        "What is each part and constant of tracked PCA worth?",
        "minutes",
    ),
    Evidence(
        "audit",
        "audit.py",
        "--trials 40 --epsilon 4",
        "Do attacks show more than the claimed epsilon?",
        "half an hour",
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
        "Do the samplers and the PCA of other libraries keep their epsilon?",
        "minutes",
    ),
    Evidence("figures", "figures.py", "--quick", "Do the paper's claims hold on its figures?", "hours"),
    Evidence(
        "rerun",
        "rerun.py",
        "--trials 2",
        "Does a figure of the paper come out the same with other data and noise?",
        "an hour",
    ),
    Evidence("pictures", "pictures.py", "--quick", "Are the pictures of README and docs of this code?", "minutes"),
)
"""Every table, in the order in which `make evidence` makes them."""


def state() -> dict[str, int]:
    """When each file that scripts may write was last written."""
    return {str(file): file.stat().st_mtime_ns for folder in WRITTEN for file in folder.glob("*.*")}


def wrong(one: Evidence, *, quick: bool, left: float = LONGEST) -> str:
    """Run one script; what was wrong, or nothing. A small run has a cache of its own and writes no page.

    A small run may take as many seconds as are left.
    """
    if not quick:
        done = subprocess.call(one.command(quick=False))  # noqa: S603
        return f"exit code {done}" if done else ""
    before = state()
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "BENCHMARK_CACHE": cache}
        try:
            done = subprocess.call(one.command(quick=True), env=environment, timeout=left)  # noqa: S603
        except subprocess.TimeoutExpired:
            return f"not done after {LONGEST} s for all"
    if done:
        return f"exit code {done}"
    changed = {file for file, _ in before.items() ^ state().items()}
    return f"wrote {', '.join(sorted(changed))}" if changed else ""


def run(chosen: Iterable[Evidence], *, quick: bool) -> dict[str, str]:
    """Run scripts one after the other. Return what was wrong, by name."""
    found, end = {}, time.monotonic() + LONGEST
    for one in chosen:
        say(f"== {one.name}{': measures times, leave the machine alone' if one.idle and not quick else ''}")
        found[one.name] = wrong(one, quick=quick, left=max(end - time.monotonic(), 0.0))
    if quick:
        say(f"{len(found)} small runs took {1 - (end - time.monotonic()) / LONGEST:.0%} of {LONGEST} s.")
    return {name: what for name, what in found.items() if what}


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
    if not given.quick:
        failed |= {one.name: "not made" for one in named if not one.is_current and one.name not in failed}
    if failed:
        sys.exit("\n".join(f"{name}: {what}" for name, what in failed.items()))


if __name__ == "__main__":
    main()
