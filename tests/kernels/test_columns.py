"""Columns read their own memory: after a copy, in another process, and when the original was deleted."""

import copy
import gc
import pickle
import subprocess
import sys

import numpy as np
import pytest

from eigenveil.kernels import Clip, Columns, GramSurveyor, RowSurveyor
from kernels.test_loops import each_variant

N, D = 70, 5
READ = """
import pickle, sys
import numpy as np
from eigenveil.kernels import loops
from kernels.test_columns import answers
if sys.argv[1] == "numpy":
    loops._LIBRARY = None
block = pickle.loads(sys.stdin.buffer.read())
sys.stdout.buffer.write(pickle.dumps(answers(block)))
"""


def rows_of(dtype, seed=0):
    return np.random.default_rng(seed).normal(size=(N, D)).astype(dtype)


def answers(block):
    """Results for a block: its rows, and the sums of two surveyors."""
    rows, gram = RowSurveyor(np.eye(D, 2), np.zeros((D, 2)), [Clip(1.0, -20)]), GramSurveyor(D, [Clip(1.0, -20)])
    return [np.asarray(block), rows.add(block), *rows.sums(), gram.add(block), *gram.sums()]


def same(got, want):
    assert [a.tobytes() for a in got] == [a.tobytes() for a in want]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda block: pickle.loads(pickle.dumps(block))])  # noqa: S301
def test_a_copy_reads_its_own_numbers_when_the_original_was_deleted(again, dtype):
    rows = rows_of(dtype)
    for _ in each_variant():
        want, part = answers(rows), answers(rows[11:50])
        first = Columns([column.copy() for column in rows.T])
        second, slice_of_second = again(first), again(first[11:50])
        if again is not copy.copy:
            for column in first._columns:
                column[:] = -7.0  # values that a copy must not read
        del first
        gc.collect()
        others = [np.full(N, 3.0, dtype=dtype) for _ in range(50)]  # likely at the address of the original
        same(answers(second), want)
        same(answers(slice_of_second), part)
        same(answers(second[11:50]), part)
        del others


@pytest.mark.parametrize("variant", ["compiled", "numpy"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_another_process_reads_the_same_numbers(dtype, variant):
    rows = rows_of(dtype)
    block = pickle.dumps(Columns([column.copy() for column in rows.T])[3:60])
    command = [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{READ}", variant]
    done = subprocess.run(command, input=block, capture_output=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr.decode()
    same(pickle.loads(done.stdout), answers(rows[3:60]))  # noqa: S301


def test_slicing_copies_nothing():
    columns = [np.arange(10.0), np.arange(10.0)]
    part = Columns(columns)[2:8][1:]
    columns[0][3] = 99.0
    assert np.asarray(part)[0].tolist() == [99.0, 3.0]
    itemsize = columns[0].itemsize
    assert part.addresses.tolist() == [column.ctypes.data + 3 * itemsize for column in columns]
