"""What all benchmarks share: tables, pages, jobs over processes, kept results, cases in processes of their own.

Nothing but the standard library is imported, since rival_fit.py also runs where eigenveil is not installed.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import multiprocessing
import os
import pathlib
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

HERE = pathlib.Path(__file__).parent
RESULTS, CACHE = HERE / "results", pathlib.Path(os.environ.get("BENCHMARK_CACHE", HERE / ".cache"))
MB = 2**20
Job, Answer = TypeVar("Job"), TypeVar("Answer")


# -- pages ---------------------------------------------------------------------------------------------


def parser(doc: str | None) -> argparse.ArgumentParser:
    """A parser of options whose help is the docstring of a script, as it is written."""
    return argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; every row has as many cells as the head."""
    cells = [[str(cell) for cell in row] for row in rows]
    if any(len(row) != len(head) for row in cells):
        raise ValueError(f"A row of the table has not {len(head)} cells.")
    first, *others = [f"| {' | '.join(row)} |" for row in (head, *cells)]
    return "\n".join([first, "|---" * len(head) + "|", *others])


def write(
    name: str, *, title: str, about: str, stamp: str, command: str, body: str, keep: bool = True, show: bool = True
) -> None:
    """Print a page, and write it to results/<name>.md.

    Parameters
    ----------
    name : str
        Of the file, without its ending.
    title, about : str
        The heading, and what stands below it, which says what is seeded and how.
    stamp : str
        `stamp.line()`, taken before the run: it says which code was measured.
    command : str
        What makes this page.
    body : str
        Tables, and text between them.
    keep, show : bool, default=True
        Whether it is written to a file, and whether it is printed.
    """
    text = f"# {title}\n\n{about}\n{stamp}\n{machine()}\nMade by `{command}`.\n\n{body}\n"
    if show:
        print(text, end="", flush=True)
    if keep:
        RESULTS.mkdir(exist_ok=True)
        _write_whole(RESULTS / f"{name}.md", text)


def machine() -> str:
    """A line about this machine: cores, memory and versions of libraries; no name, path or time."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    parts = [f"Python {platform.python_version()}"]
    for library in ("numpy", "scipy", "scikit-learn"):
        try:
            parts.append(f"{library} {importlib.metadata.version(library)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    if "numpy" in sys.modules:
        built = sys.modules["numpy"].show_config(mode="dicts").get("Build Dependencies", {})
        threads = os.environ.get("OPENBLAS_NUM_THREADS", os.cpu_count())
        parts.append(f"{built.get('blas', {}).get('name', 'BLAS')} with {threads} thread(s)")
    return f"Machine: {os.cpu_count()} cores, {memory:.0f} GB; {', '.join(parts)}."


def say(text: object) -> None:
    """A line of progress, on stderr."""
    print(text, file=sys.stderr, flush=True)


# -- jobs ----------------------------------------------------------------------------------------------


def in_parallel(
    function: Callable[[Job], Answer], jobs: Sequence[Job], processes: int | None = None
) -> Iterator[Answer]:
    """What a function answers to each job, in the order of jobs, by several processes (one for each core)."""
    with multiprocessing.Pool(processes or os.cpu_count()) as pool:
        for done, (job, answer) in enumerate(zip(jobs, pool.imap(function, jobs), strict=True), start=1):
            say(f"{done} of {len(jobs)}: {job}")
            yield answer


def cached(name: str) -> pathlib.Path:
    """The file that keeps a result of an earlier run."""
    return CACHE / f"{name}.json".replace(" ", "_")


def kept(name: str, make: Callable[[], Any]) -> Any:
    """What an earlier run found, or make it and keep it; the name has to hold all that it depends on."""
    file = cached(name)
    if not file.exists():
        CACHE.mkdir(exist_ok=True)
        _write_whole(file, json.dumps(make()))
    return json.loads(file.read_text("utf-8"))


def _write_whole(file: pathlib.Path, text: str) -> None:
    """A file that is whole or absent, also if the run is stopped."""
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    part.write_text(text, "utf-8")
    part.replace(file)


# -- a process of its own ------------------------------------------------------------------------------


def alone(
    script: str | pathlib.Path, case: Any, *, python: str | pathlib.Path = sys.executable, **options: Any
) -> Any:
    """What `script --one CASE` answers in a process of its own; case and answer are JSON, see `answered`.

    Options are those of `subprocess.run`, such as `timeout`. A process that fails raises `CalledProcessError`.
    """
    command = [str(python), str(script), "--one", json.dumps(case)]
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True, **options)  # noqa: S603
    except subprocess.CalledProcessError as error:
        error.add_note(error.stderr)
        raise
    return json.loads(done.stdout.splitlines()[-1])


def answered(measure: Callable[[Any], Any]) -> bool:
    """Whether this process was started by `alone`. If so, it measures its case and prints what it found."""
    if sys.argv[1:2] != ["--one"]:
        return False
    print(json.dumps(measure(json.loads(sys.argv[2]))))
    return True


def seconds(call: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def resident() -> float:
    """Memory that this process holds now, in units of 2^20 bytes."""
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / MB


def peak() -> float:
    """The most that this process has held; `ru_maxrss` would count what its parent held when it was started."""
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / MB
