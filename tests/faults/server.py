"""A process that has loaded eigenveil, and forks a child for every trial: ``python -m faults.server``.

A trial is a line of JSON on stdin, its outcome a line on stdout. The child does real work, and may be killed by
SIGKILL. It writes a mark to a pipe before every operation on files in the folder of the trial, and after every
grant of noise. The pipe survives the child, so the marks say what could have been seen before it died.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import stat
import sys
import time
import traceback
from pathlib import Path

from faults import work

FILE_EVENTS = ("os.rename", "os.remove", "os.mkdir", "os.rmdir")
PIPE_BYTES = 1 << 16
LIMIT = 200
"""Seconds after which a child is given up."""


class Marks:
    """Marks of a child. At the mark with number `last` it kills itself, before it writes that mark.

    At the mark with number `pause` it waits until there is a file "go" in its folder, or for a second.
    """

    def __init__(self, pipe: int, folder: str, last: int | None, pause: int | None) -> None:
        self._pipe, self._folder, self._last, self._pause = pipe, folder, last, pause
        self._count = 0

    def _wait(self) -> None:
        self._pause = None
        until = time.monotonic() + 1
        Path("paused").touch()
        while time.monotonic() < until and not Path("go").exists():
            time.sleep(0.01)

    def add(self, **mark) -> None:
        if self._count == self._last:
            os.kill(os.getpid(), signal.SIGKILL)
        if self._count == self._pause:
            self._wait()
        self._count += 1
        os.write(self._pipe, json.dumps(mark).encode() + b"\n")

    def audit(self, event: str, arguments: tuple) -> None:
        changes = event in FILE_EVENTS or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR))
        if event == "fcntl.flock" or (changes and self._here(arguments[0])):
            self.add(file=event)

    def _here(self, path: object) -> bool:
        return isinstance(path, str | os.PathLike) and os.path.abspath(path).startswith(self._folder)  # noqa: PTH100

    def install(self) -> None:
        """Mark operations on files, and grants of noise."""
        from eigenveil.mechanisms.noise.veil import Grant, Veil

        sys.addaudithook(self.audit)
        fsync, release, marks = os.fsync, Grant.release, self

        def synced(handle) -> None:
            marks.add(file="fsync", folder=stat.S_ISDIR(os.fstat(handle).st_mode))
            fsync(handle)

        def granting(buy):
            def bought(veil, what, **terms):
                grant = buy(veil, what, **terms)
                marks.add(granted=[what, terms.get("mu", 0.0), terms.get("epsilon", 0.0), grant.scale])
                return grant

            return bought

        def released(grant, steps, **options):
            marks.add(drawn=int(steps.size))
            return release(grant, steps, **options)

        os.fsync = synced
        Veil.gaussian, Veil.laplace, Grant.release = granting(Veil.gaussian), granting(Veil.laplace), released


def child(trial: dict, pipe: int) -> int:
    """Do the work of a trial, and return the exit code."""
    os.chdir(trial["folder"])
    for name, number in (("out", 1), ("err", 2)):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), number)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for name, most in trial.get("limits", {}).items():
        resource.setrlimit(getattr(resource, name), (most, most))
    if trial.get("torn"):  # a file that grows beyond this number of bytes kills the process, with no cleanup
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (trial["torn"],) * 2)
    if trial.get("user"):
        os.setgroups([])
        os.setgid(trial["user"])
        os.setuid(trial["user"])
    marks = Marks(pipe, trial["folder"], trial.get("last_mark"), trial.get("pause"))
    if trial.get("marked", True):
        marks.install()
    try:
        getattr(work, trial["work"])(marks, **trial.get("arguments", {}))
    except SystemExit as end:
        return end.code or 0
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
        return 70
    return 0


def run(trial: dict) -> dict:
    """Fork a child for the trial; kill it after a number of marks and a delay, if the trial says so."""
    reading, writing = os.pipe()
    started = time.monotonic()
    number = os.fork()
    if number == 0:
        code = 71
        with contextlib.suppress(BaseException):
            os.close(reading)
            code = child(trial, writing)
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    os.close(writing)
    kill = trial.get("kill")  # [marks, seconds after the last of them]
    text, due = b"", None
    end = started + LIMIT
    while True:
        if kill is not None and due is None and text.count(b"\n") >= kill[0]:
            due = time.monotonic() + kill[1]
        wait = max(0.0, (end if due is None else due) - time.monotonic())
        ready, _, _ = select.select([reading], [], [], wait)
        if not ready and time.monotonic() >= end:
            os.kill(number, signal.SIGKILL)
        if due is not None and time.monotonic() >= due:
            os.kill(number, signal.SIGKILL)
            kill, due = None, None
        if ready:
            piece = os.read(reading, PIPE_BYTES)
            text += piece
            if not piece:
                break
    os.close(reading)
    status = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
    folder = Path(trial["folder"])
    said = {name: (folder / name).read_text(encoding="utf-8", errors="replace") for name in ("out", "err")}
    marks = [json.loads(line) for line in text.splitlines()]
    if time.monotonic() >= end:
        raise TimeoutError(f"the child has not ended after {LIMIT} s")
    return {"status": status, "marks": marks, "seconds": time.monotonic() - started, **said}


def main() -> None:
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
