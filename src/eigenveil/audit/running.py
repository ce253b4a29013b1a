"""Run the fits of an audit, in parallel, and keep what they released, so that an interrupted audit can resume.

A case is run in parts. The numbers of a part are one JSON file in the folder of its case, whose name is a hash of
the case and of the code of eigenveil. Every process reports the code it runs; an audit stops if it changed.
Fits draw fresh noise from the operating system in every process.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import scipy

from eigenveil._atomic_files import written_whole
from eigenveil._processes import outputs_of
from eigenveil.audit.cases import Case
from eigenveil.audit.statistics import Numbers
from eigenveil.errors import EigenveilError

PART = 100
"""Fits in a part."""
ProgressCallback = Callable[[int, int, str], None]
"""Called with the number of completed fits, the total number, and a description of the last part."""


def code() -> str:
    """Return a hash of the files of eigenveil that run, as they are now, and of the versions they run with."""
    package = Path(__file__).parent.parent
    digest = hashlib.sha256(f"{platform.python_version()} {np.__version__} {scipy.__version__}".encode())
    for file in sorted(package.rglob("*.*")):
        if file.suffix in {".py", ".c", ".h", ".so"} and file.is_file():
            digest.update(file.relative_to(package).as_posix().encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]


LOADED = code()
"""The code when this process imported this module. A change of any file makes kept numbers invalid."""


@dataclass(frozen=True)
class TrialPart:
    """Some fits of a case, with or without the canary."""

    case: Case
    canary: bool
    index: int
    fits: int

    def run(self) -> list[dict[str, float]]:
        """Return the numbers that each fit released."""
        return [self.case.release(canary=self.canary) for _ in range(self.fits)]

    def file(self, folder: Path) -> Path:
        """Return the file that keeps these numbers."""
        key = hashlib.sha256(json.dumps([LOADED, asdict(self.case)], sort_keys=True).encode()).hexdigest()[:16]
        name = f"{'with' if self.canary else 'without'}-{self.index}-{self.fits}.json"
        return folder / f"{self.case.algorithm}-{self.case.relation}-{self.case.attack}-{key}" / name


PartDone = tuple[TrialPart, list[dict[str, float]], set[str]]
"""A part, the numbers that its fits released, and the code at the start of the process and after the part."""


@dataclass(frozen=True)
class Runner:
    """Runs fits.

    Parameters
    ----------
    workers : int
        Number of processes; with 1, fits run in this process.
    cache : Path, optional
        Folder that keeps what fits released. None: nothing is kept.
    on_progress : callable
        Called with the progress; see `ProgressCallback`.
    """

    workers: int = 1
    cache: Path | None = None
    on_progress: ProgressCallback = lambda *_: None

    def run(self, cases: Iterable[Case], first: int, last: int) -> dict[Case, tuple[Numbers, Numbers]]:
        """Return the numbers of fits number `first` to `last` of every case, without and with the canary."""
        found: dict[tuple[Case, bool], list[dict[str, float]]] = {}
        missing: list[TrialPart] = []
        chosen = list(cases)
        for part in _parts(chosen, first, last):
            kept = self._kept(part)
            if kept is None:
                missing.append(part)
            else:
                found.setdefault((part.case, part.canary), []).extend(kept)
        total, done = sum(part.fits for part in missing), 0
        with outputs_of(_run_part, missing, self.workers) as parts:
            for part, numbers, codes in parts:
                if codes != {LOADED}:
                    raise EigenveilError(
                        "the code changed during the audit; nothing that ran after the change was kept.",
                        hint="Start the audit again, and do not change the code while it runs.",
                    )
                self._keep(part, numbers)
                found.setdefault((part.case, part.canary), []).extend(numbers)
                done += part.fits
                self.on_progress(done, total, f"{part.case.algorithm}, {part.case.relation}")
        return {case: (found[case, False], found[case, True]) for case in chosen}

    def _kept(self, part: TrialPart) -> list[dict[str, float]] | None:
        if self.cache is None or not part.file(self.cache).exists():
            return None
        numbers: list[dict[str, float]] = json.loads(part.file(self.cache).read_text("utf-8"))
        return numbers

    def _keep(self, part: TrialPart, numbers: list[dict[str, float]]) -> None:
        if self.cache is None:
            return
        file = part.file(self.cache)
        file.parent.mkdir(parents=True, exist_ok=True)
        (self.cache / ".gitignore").write_text("*\n", encoding="utf-8")
        with written_whole(file) as whole:
            whole.write_text(json.dumps(numbers), encoding="utf-8")


def _parts(cases: list[Case], first: int, last: int) -> Iterator[TrialPart]:
    """Yield parts with at most `PART` fits. Cases take turns, so that the remaining time is estimated well."""
    for start in range(first, last, PART):
        for case in cases:
            for canary in (False, True):
                yield TrialPart(case, canary, start, min(PART, last - start))


def _run_part(part: TrialPart) -> PartDone:
    return part, part.run(), {LOADED, code()}
