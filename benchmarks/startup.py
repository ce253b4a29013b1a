"""How long eigenveil takes to start, beside scikit-learn: ratios of processor time in one run.

    python benchmarks/startup.py               # writes benchmarks/results/startup.md
    python benchmarks/startup.py --repeats 5   # quicker; prints only

Every line is a process of its own, run several times in turn with the others; the least processor time (user and
system) of each counts, over that of `import sklearn.decomposition`. All Python is compiled before, as it is once
installed, and BLAS has one thread.
"""

from __future__ import annotations

import math
import os
import pathlib
import sys
import tempfile

import stamp
from harness import parser, table, write

import eigenveil

REPEATS = 15
BASE = ("-c", "import sklearn.decomposition")
COMMAND_LINE = ("-m", "eigenveil.cli")
PROCESSES = {
    "python alone": ("-c", "pass"),
    "`import numpy`": ("-c", "import numpy"),
    "`import typer`": ("-c", "import typer"),
    "`import typer.rich_utils`, what typer draws help with": ("-c", "import typer.rich_utils"),
    "`import sklearn.decomposition`": BASE,
    "`import eigenveil`": ("-c", "import eigenveil"),
    "`from eigenveil import tracked_pca`": ("-c", "from eigenveil import tracked_pca"),
    "`from eigenveil import DPPCA`": ("-c", "from eigenveil import DPPCA"),
    "`from eigenveil import *`": ("-c", "from eigenveil import *"),
    "`eigenveil --version`": (*COMMAND_LINE, "--version"),
    "`eigenveil --help`": (*COMMAND_LINE, "--help"),
    "`eigenveil inspect --help`": (*COMMAND_LINE, "inspect", "--help"),
    "`eigenveil fit --help`": (*COMMAND_LINE, "fit", "--help"),
}


def environment(compiled: str) -> dict[str, str]:
    """The same package as here; a folder for compiled Python, whatever this process does with its own."""
    home = str(pathlib.Path(eigenveil.__file__).parents[1])
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return {**kept, **threads, "PYTHONPATH": home, "PYTHONPYCACHEPREFIX": compiled}


def processor_time(words: tuple[str, ...], settings: dict[str, str]) -> float:
    """Seconds of a process of its own, which must end well."""
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    process = os.posix_spawn(sys.executable, [sys.executable, *words], settings, file_actions=silent)
    _, status, used = os.wait4(process, 0)
    if status:
        raise RuntimeError(f"{words} ended with status {status}.")
    return used.ru_utime + used.ru_stime


def measured(repeats: int) -> dict[str, float]:
    """The least time of every process."""
    best = dict.fromkeys(PROCESSES, math.inf)
    with tempfile.TemporaryDirectory() as compiled:
        settings = environment(compiled)
        for words in PROCESSES.values():
            processor_time(words, settings)  # compiles
        for _ in range(repeats):
            for name, words in PROCESSES.items():
                best[name] = min(best[name], processor_time(words, settings))
    return best


def main() -> None:
    """Run, print and write the table."""
    options = parser(__doc__)
    options.add_argument("--repeats", type=int, default=REPEATS, help="with another number nothing is written")
    repeats = options.parse_args().repeats
    stamped = stamp.line("start-up")
    times = measured(repeats)
    base = next(times[name] for name, words in PROCESSES.items() if words == BASE)
    write(
        "startup",
        title="Start-up: processor time over that of `import sklearn.decomposition`",
        about=f"Processes of their own in the same run, the least of {repeats} each. No seeds: nothing is drawn.",
        stamp=stamped,
        command="python benchmarks/startup.py",
        body=table(("process", "ratio"), [(name, f"{time / base:.2g}") for name, time in times.items()]),
        keep=repeats == REPEATS,
    )


if __name__ == "__main__":
    main()
