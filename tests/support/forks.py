"""Work in a process that was forked off, which is a copy of this one."""

from __future__ import annotations

import multiprocessing
import os
import signal
import warnings

import pytest

forking = pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs os.fork")


def in_a_fork(work) -> str:
    """What `work` returns or raises in a forked child, as text."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # this process may have threads
        child = os.fork()
    if child == 0:
        try:
            os.write(writing, repr(work()).encode())
        except BaseException as error:  # noqa: BLE001
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        finally:
            os.kill(os.getpid(), signal.SIGKILL)  # nothing of the test run happens twice
    os.close(writing)
    with os.fdopen(reading) as file:
        told = file.read()
    os.waitpid(child, 0)
    return told
