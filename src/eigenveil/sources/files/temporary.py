"""Folders for what does not fit in memory; readable by the user alone and gone with their owner."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path


class TemporaryFolder:
    """A folder that is removed when nothing refers to this object any more, or when Python ends.

    A copy, in this process or another, refers to the folder and does not remove it.
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="eigenveil-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
