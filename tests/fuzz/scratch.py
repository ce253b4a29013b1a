"""A folder for the files of this process."""

import shutil
import tempfile
from functools import cache
from pathlib import Path


@cache
def scratch():
    """The folder, in memory where the system has such a place."""
    memory = Path("/dev/shm")  # noqa: S108
    return Path(tempfile.mkdtemp(prefix="eigenveil-fuzz-", dir=memory if memory.is_dir() else None))


def clean():
    """Remove the folder."""
    shutil.rmtree(scratch(), ignore_errors=True)
    scratch.cache_clear()
