"""A process that has loaded eigenveil, and forks a child for every command: ``python -m support.warm``.

Starting Python and loading the libraries takes longer than most commands. A request is a line of JSON on stdin
with arguments and a folder, the answer a line on stdout with exit code, stdout and stderr.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

LIMIT = 120
"""Seconds after which a command is given up."""


class WarmCommand:
    """The command ``eigenveil``, run by children of one process that has loaded it."""

    def __init__(self, environment):
        paths = [str(Path(__file__).parents[1]), environment.get("PYTHONPATH", "")]
        self._server = subprocess.Popen(
            [sys.executable, "-m", "support.warm"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**environment, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        )

    def __call__(self, arguments, folder):
        """Return exit code, stdout and stderr."""
        self._server.stdin.write(json.dumps([list(map(str, arguments)), str(folder)]) + "\n")
        self._server.stdin.flush()
        return json.loads(self._server.stdout.readline())

    def close(self):
        """End the process."""
        self._server.communicate(timeout=LIMIT)


def _child(arguments, folder, out, err):
    """Run a command as ``python -m eigenveil.cli`` does, and return its exit code."""
    from eigenveil.cli import main

    os.chdir(folder)
    for file, number in ((out, 1), (err, 2)):
        os.dup2(file.fileno(), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.argv = ["eigenveil", *arguments]
    try:
        main()
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(end.code + "\n")
            return 1
        return end.code or 0
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
        return 1
    return 0


def _answer(arguments, folder):
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            code = 70
            with contextlib.suppress(BaseException):
                signal.alarm(LIMIT)
                code = _child(arguments, folder, out, err)
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)
        status = os.waitpid(child, 0)[1]
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
    return [os.waitstatus_to_exitcode(status), *texts]


def main():
    """Answer requests until stdin ends."""
    import eigenveil.cli.app
    import eigenveil.cli.implementations.fit
    import eigenveil.cli.implementations.transform
    import eigenveil.planner
    import eigenveil.report  # noqa: F401

    for line in sys.stdin:
        sys.stdout.write(json.dumps(_answer(*json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
