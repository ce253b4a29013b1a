"""Plant each mistake of the catalogue in a copy of the tree, and see which test finds it: ``make mutants``.

The tests that are named with a mutant run on the tree as it is first, where they must pass. Then every mutant is
planted by itself, compiled if it is C, and its tests run until one fails. A mutant that no test finds is a hole in
the tests.
"""

from __future__ import annotations

import argparse
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mutants.catalogue import MUTANTS, Mutant
from support.stamped import stamped

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("results.md")
FLAGS = re.findall(r'^FLAGS = "(.*)"$', (ROOT / "hatch_build.py").read_text(encoding="utf-8"), re.MULTILINE)[
    0
].split()
KERNELS = "src/eigenveil/kernels"
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
LIMIT = 900
"""Seconds after which a run of tests is given up: a mutant may loop without end, which counts as found."""


def copy_tree(to: Path) -> None:
    """Everything that git knows, as it stands in the working tree, and the compiled loops."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "src", "tests", "pyproject.toml"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in [*listed.stdout.split("\n"), f"{KERNELS}/_loops.so"]:
        if name and (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)


def compile_loops(tree: Path) -> None:
    """The compiled loops anew; a new file, since a process may have the old one loaded."""
    library = tree / KERNELS / "_loops.so"
    library.unlink(missing_ok=True)
    subprocess.run(["gcc", *FLAGS, "-o", str(library), str(tree / KERNELS / "loops.c"), "-lm"], check=True)


def run_tests(tree: Path, tests: tuple[str, ...], *options: str) -> tuple[int, list[str]]:
    """The exit code of pytest, and the names of what failed."""
    shutil.rmtree(tree / ".hypothesis", ignore_errors=True)
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no", *options, *tests]
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        return 1, [f"(no end within {LIMIT} s)"]
    return done.returncode, FAILED.findall(done.stdout) or [done.stdout[-300:]]


def plant(tree: Path, mutant: Mutant) -> str:
    """Replace the text that is right by the one that is wrong; returns what the file held."""
    path = tree / mutant.file
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.right) != 1:
        sys.exit(f"{mutant.name!r} no longer fits: its text is {text.count(mutant.right)} times in {mutant.file}.")
    path.write_text(text.replace(mutant.right, mutant.wrong), encoding="utf-8")
    if path.suffix in (".c", ".h"):
        compile_loops(tree)
    return text


def heal(tree: Path, mutant: Mutant, text: str) -> None:
    """The tree as it was."""
    (tree / mutant.file).write_text(text, encoding="utf-8")
    if mutant.file.endswith((".c", ".h")):
        compile_loops(tree)


def find(trees: queue.Queue[Path], mutant: Mutant) -> str | None:
    """The test that finds the mutant; None if it survives."""
    tree = trees.get()
    try:
        text = plant(tree, mutant)
        code, failed = run_tests(tree, mutant.tests, "-x")
        heal(tree, mutant, text)
    finally:
        trees.put(tree)
    print(f"{'survives' if code == 0 else 'found':9} {mutant.name}", flush=True)
    if code < 0:
        return f"(ended by signal {-code})"
    if code not in (0, 1):
        sys.exit(f"the tests of {mutant.name!r} did not run: {failed}")
    return None if code == 0 else failed[0]


def main() -> None:
    """Run all mutants, or those whose names hold a word, and renew their lines in the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("word", nargs="?", default="", help="only mutants whose name or file holds this")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--trust", action="store_true", help="the tests are known to pass on the tree as it is")
    asked = parser.parse_args()
    made_with = stamped(TABLE, whole=not asked.word)
    chosen = [mutant for mutant in MUTANTS if asked.word in mutant.name + mutant.file]
    with tempfile.TemporaryDirectory() as scratch:
        trees: queue.Queue[Path] = queue.Queue()
        for number in range(asked.workers):
            tree = Path(scratch) / str(number)
            copy_tree(tree)
            trees.put(tree)
        tests = tuple(sorted({test for mutant in chosen for test in mutant.tests}))
        print(f"{len(chosen)} mutants", flush=True)
        if not asked.trust:
            code, failed = run_tests(Path(scratch) / "0", tests, "-n", str(asked.workers))
            if code:
                sys.exit(f"tests fail without any mutant: {failed}")
        with ThreadPoolExecutor(asked.workers) as pool:
            found = list(pool.map(lambda mutant: find(trees, mutant), chosen))
    write_table(dict(zip([mutant.name for mutant in chosen], map(shown, found), strict=True)), made_with)
    survivors = [mutant.name for mutant, by in zip(chosen, found, strict=True) if by is None]
    sys.exit(f"survived: {survivors}" if survivors else 0)


def shown(by: str | None) -> str:
    """A test as the table shows it, without its parameters."""
    return "**survives**" if by is None else f"`{by.removeprefix('tests/').partition('[')[0]}`"


def write_table(found: dict[str, str], made_with: str) -> None:
    """The table of catchers; mutants that were not run keep their lines."""
    before = TABLE.read_text("utf-8") if TABLE.exists() else ""
    kept = re.findall(r"^\| (.*?) \| \S+ \| (.*) \|$", before, re.MULTILINE)
    found = {**dict(kept), **found}
    lines = [
        "# Planted mistakes, and the test that finds each",
        "",
        "Made by `make mutants`. Tests draw the noise that they always draw, some of it without a seed.",
        made_with,
        "",
        "| mistake | file | found by |",
        "|---|---|---|",
    ]
    lines += [
        f"| {mutant.name} | {mutant.file.removeprefix('src/eigenveil/')} | {found[mutant.name]} |"
        for mutant in MUTANTS
        if mutant.name in found
    ]
    TABLE.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
