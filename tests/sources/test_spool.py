"""Rows are read from a temporary file as they were written, to the bit; the file is deleted with its owner."""

import gc
import tempfile

import numpy as np
import pytest

from eigenveil.errors import UnreadableError
from eigenveil.sources import Block
from eigenveil.sources.files.spool import Spool

NASTY = [np.nan, -0.0, 5e-324, np.inf, -np.inf, 1e308]


@pytest.fixture(autouse=True)
def scratch(monkeypatch, tmp_path):
    """Use a folder for temporary files that pytest removes."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_blocks_are_read_to_the_bit_in_every_pass(dtype):
    with np.errstate(over="ignore"):
        rows = np.array(NASTY).astype(dtype).reshape(3, 2)
    spool = Spool()
    spool.write([Block(rows), Block(rows[:1])])
    spool.write([Block(np.asfortranarray(rows[1:]))])
    for _ in range(2):
        found = [np.asarray(block.values) for block in spool.blocks()]
        assert [one.dtype for one in found] == [np.dtype(dtype)] * 3
        assert [one.tobytes() for one in found] == [rows.tobytes(), rows[:1].tobytes(), rows[1:].tobytes()]


def test_only_the_user_can_read_the_file_and_it_is_deleted_with_its_owner(scratch):
    spool = Spool()
    spool.write([Block(np.ones((2, 2)))])
    (folder,) = scratch.iterdir()
    assert folder.stat().st_mode & 0o077 == 0
    del spool
    gc.collect()
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("harm", [lambda file: file.unlink(), lambda file: file.write_bytes(b"12345678")])
def test_a_damaged_copy_is_refused(scratch, harm):
    spool = Spool()
    spool.write([Block(np.full((2, 2), 7351.75))])
    (file,) = scratch.glob("*/rows")
    harm(file)
    with pytest.raises(UnreadableError, match="removed or changed") as refusal:
        list(spool.blocks())
    assert refusal.value.__context__ is None
    assert "7351" not in str(refusal.value)
