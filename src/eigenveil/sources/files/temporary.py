"""Temporary folders for data that exceed memory: only the user can read them, and their owner deletes them."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path


class TemporaryFolder:
    """A folder that is removed when this object is garbage-collected, or when Python exits.

    A copy, in this process or another, refers to the folder and does not remove it.
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="eigenveil-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
