"""Columns read their own memory: after a copy, in another process, and when the original was deleted.

Loops that rescale rows themselves give the same bits as for rows that were rescaled before.
"""

import copy
import gc
import pickle
import subprocess
import sys

import numpy as np
import pytest

from eigenveil.kernels import (
    Clip,
    Columns,
    DampedNormSurveyor,
    GramSurveyor,
    Rescaled,
    RowSurveyor,
    RowVectorSurveyor,
    VarianceSurveyor,
)
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


SHIFT, CLIPS = np.linspace(-1, 1, D), [Clip(1.0, -20), Clip(30.0, -14)]
W = np.eye(D, 2) + 0.25
SURVEYORS = {
    "products": lambda: RowSurveyor(W, np.zeros((D, 2)), CLIPS, shift=SHIFT),
    "centred products": lambda: RowSurveyor(W, 2 * W, CLIPS),
    "projected products": lambda: RowSurveyor(W, W**2, CLIPS, shift=SHIFT, removed=np.eye(D, 1)),
    "matrices": lambda: GramSurveyor(D, CLIPS, shift=SHIFT),
    "matrices, norms": lambda: GramSurveyor(D, []),
    "rows": lambda: RowVectorSurveyor(SHIFT**2, CLIPS, shift=SHIFT),
    "variances": lambda: VarianceSurveyor(np.eye(D, 2), slice(None), np.zeros(3), CLIPS, shift=SHIFT),
    "damped": lambda: DampedNormSurveyor.of(np.eye(D, 2), np.eye(D, 2) * 3, np.eye(D, 2) / 2, SHIFT),
}


@pytest.mark.parametrize("name", SURVEYORS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_that_a_loop_rescales(dtype, name):
    rows = rows_of(dtype, 1)
    rows[3, 1], rows[5, 0], rows[40, 2], rows[-1, 3] = np.nan, np.inf, np.finfo(dtype).max, -0.0
    skip = np.arange(N) % 9 == 4
    factors = np.array([1 / 3, 1e-3, 7.7e37, 2.0, 1 / 2**140])
    for _ in each_variant():
        found = []
        for block in (rows, Columns(list(rows.T))):
            lazy = Rescaled(block, factors)
            assert lazy.nbytes == rows.nbytes
            with np.errstate(over="ignore"):
                once = (rows.astype(np.float64) * factors).astype(dtype)
            np.testing.assert_array_equal(np.asarray(lazy), once)
            assert lazy[2, 3] == once[2, 3]
            for mask in (skip, ~skip, skip & False):
                assert np.asarray(block[mask]).tobytes() == rows[mask].tobytes()
                assert np.asarray(lazy[7:][mask[7:]]).tobytes() == once[7:][mask[7:]].tobytes()
            for given in (once, lazy, pickle.loads(pickle.dumps(lazy))):  # noqa: S301
                survey = SURVEYORS[name]()
                norms = [survey.add(given[:33], skip[:33]), survey.add(given[33:], None)]
                found.append([*norms, *survey.sums()])
        for one in found[1:]:
            same(one, found[0])
        assert np.isfinite(found[0][0]).sum() > 20
