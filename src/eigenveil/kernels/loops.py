"""The inner loops over units: compiled if they could be, else the same arithmetic in numpy.

Every function treats each row by itself, with IEEE operations in a fixed order, so what comes out for a row
is a function of that row and the public arguments to the last bit (rule 4 of the privacy rules): removing
or moving other rows cannot change it. The compiled and the numpy form give the same bits.
"""

from __future__ import annotations

import copy
import ctypes
import math
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

FloatArray = npt.NDArray[np.float64]
Rows = npt.NDArray[np.float64] | npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_GROUP, _LANES = 32, 8
_ROUND = np.float64(1.5 * 2.0**52)
_ROUND_BITS = _ROUND.view(np.int64)


_VERSION = 1


def _load() -> Any:
    """The compiled loops, or None where they were not built, or by another version of loops.c."""
    path = pathlib.Path(__file__).with_name("_loops.so")
    library = ctypes.CDLL(str(path)) if path.exists() else None
    if library is None or not hasattr(library, "loops_version"):
        return None
    return library if library.loops_version() == _VERSION else None


_LIBRARY = _load()
_VARIANT = "" if _LIBRARY is None else ("plain", "middle", "wide")[_LIBRARY.best_variant()]


def interleave(columns: Sequence[Rows], height: int) -> Iterator[Rows]:
    """Columns of one length and type side by side, as C-contiguous blocks of at most `height` rows.

    Examples
    --------
    >>> [block.tolist() for block in interleave([np.array([1.0, 2.0, 5.0]), np.array([3.0, 4.0, 6.0])], 2)]
    [[[1.0, 3.0], [2.0, 4.0]], [[5.0, 6.0]]]
    """
    whole = [np.ascontiguousarray(column) for column in columns]
    n, dtype = whole[0].size, whole[0].dtype
    addresses = np.array([column.ctypes.data for column in whole], dtype=np.uintp)
    for start in range(0, n, height):
        rows = min(height, n - start)
        if _LIBRARY is None:
            yield np.ascontiguousarray(np.stack([column[start : start + rows] for column in whole], axis=1))
            continue
        out: Rows = np.empty((rows, len(whole)), dtype=dtype)
        call = _LIBRARY.interleave_float if dtype == np.float32 else _LIBRARY.interleave_double
        there = addresses + np.uintp(start * dtype.itemsize)
        call(*(_converted(argument) for argument in (there, rows, len(whole), out)))
        yield out


def row_product(rows: Rows, matrix: FloatArray, *, shift: FloatArray | None = None) -> FloatArray:
    """(rows - shift) @ matrix, each row by itself.

    Examples
    --------
    >>> row_product(np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1., 2.],
           [3., 4.]])
    """
    n, d = rows.shape
    wide = _padded_columns(matrix)
    out = np.zeros((n, wide.shape[1]))
    if _LIBRARY is None:
        x = _shifted(rows, shift)
        with np.errstate(all="ignore"):
            for k in range(d):
                out += x[:, k, None] * wide[k]
    else:
        work = np.empty(_GROUP * (d + wide.shape[1]))
        _call("row_product", *_rows(rows), n, d, shift, wide, wide.shape[1], out, work)
    return out[:, : matrix.shape[1]]


class RowLoop:
    """One pass over rows x: norms of x (W^T x)^T - C, and a sum of its clipped, rounded multiples per radius.

    `sums` is the sum of the integers nearest to c x y^T / 2^exponent, c = min(1, inner/norm), over good rows, and
    `f_sums` that of round(c f_scale): the whole is sums - f_sums C/(f_scale 2^exponent).

    Parameters
    ----------
    W, C : arrays of shape (d, m)
    inner, exponents : sequences
        For every radius: what a norm is shortened to, and the grid 2^exponent.
    f_scale : float
        How finely the factors c are counted.
    shift : array of shape (d,), optional
        Taken off every row first.
    """

    def __init__(
        self,
        W: FloatArray,
        C: FloatArray,
        *,
        inner: Sequence[float],
        exponents: Sequence[int],
        f_scale: float,
        shift: FloatArray | None = None,
    ) -> None:
        self.d, self.m = W.shape
        self.shift = None if shift is None else np.ascontiguousarray(shift, dtype=np.float64)
        self.both = _padded_columns(np.concatenate([W, C], axis=1))
        self.mp = -(-self.m // _LANES) * _LANES
        self.inner = np.array(inner, dtype=np.float64)
        self.per_grid = np.ldexp(1.0, -np.array(exponents, dtype=np.int64))
        self.f_scale = float(f_scale)
        self.cc = upper_square(C)
        self.error = norm_error(self.d, self.m)
        self._empty()

    def _empty(self) -> None:
        self._sums = np.zeros((self.inner.size, self.d, self.mp), dtype=np.int64)
        self.f_sums = np.zeros(self.inner.size, dtype=np.int64)
        self._offsets = 0

    def fork(self) -> RowLoop:
        """The same loop with sums of its own, for another thread."""
        twin = copy.copy(self)
        twin._empty()
        return twin

    def merge(self, other: RowLoop) -> None:
        """Add the sums of another loop."""
        self._sums += other._sums
        self.f_sums += other.f_sums
        self._offsets += other._offsets

    def add(self, rows: Rows, skip: BoolArray | None = None) -> FloatArray:
        """Add a block of rows; returns their norms.

        Norms are not below the true norms of the computed tensors, and infinite for rows that are bad or skipped.
        """
        norms = np.empty(len(rows))
        if _LIBRARY is None:
            self._add_in_numpy(_shifted(rows, self.shift), skip, norms)
        else:
            work = np.empty(_GROUP * (self.d + self.both.shape[1] + self.mp))
            flags = None if skip is None else skip.astype(np.uint8)
            head = (*_rows(rows), len(rows), self.d, self.shift, flags, self.both, self.m, self.both.shape[1])
            radii = (self.inner.size, self.inner, self.per_grid, self.f_scale, self.mp, self._sums, self.f_sums)
            _call("rows_survey", *head, self.cc, self.error, *radii, norms, work)
            self._offsets += -(-len(rows) // _GROUP) * _GROUP
        return norms

    @property
    def sums(self) -> list[IntArray]:
        """For every radius the sum so far: an integer array of shape (d, m)."""
        offset = np.uint64(int(_ROUND_BITS) * self._offsets % (1 << 64))
        return [(total[:, : self.m].view(np.uint64) - offset).view(np.int64) for total in self._sums]

    def _add_in_numpy(self, x: FloatArray, skip: BoolArray | None, norms: FloatArray) -> None:
        """The numpy twin of the compiled loop: the same operations in the same order."""
        m = self.m
        with np.errstate(all="ignore"):
            yt = row_product(x, self.both)
            s = squared_row_norms(x)
            yy, cross = np.zeros(len(x)), np.zeros(len(x))
            for j in range(m):
                yy += yt[:, j] * yt[:, j]
                cross += yt[:, j] * yt[:, m + j]
            whole = s * yy
            squares = np.maximum(whole - 2 * cross + self.cc, 0) + self.error * (whole + self.cc)
            norms[:] = np.sqrt(squares) * (1 + 2.0**-50)
            bad = ~np.isfinite(s) | ~np.isfinite(norms)
            if skip is not None:
                bad |= skip
            norms[bad] = np.inf
            x = np.where(bad[:, None], 0.0, x)
            for q, (inner, per_grid) in enumerate(zip(self.inner, self.per_grid, strict=True)):
                f = np.where(norms <= inner, 1.0, inner / norms)
                self.f_sums[q] += int(np.rint(f * self.f_scale).sum())
                cy = np.where((f > 0)[:, None], yt[:, :m] * f[:, None] * per_grid, 0.0)
                for i in range(len(x)):
                    self._sums[q, :, :m] += _rounded(cy[i] * x[i][:, None])


class SparseRowLoop:
    """The same over rows of a CSR array, whose shift and centre stay implicit.

    One per radius: `sums` is the part of the sum on the entries present, `y_sums` that of round(c y y_scale),
    `f_sums` that of round(c f_scale). The whole is sums - shift y_sums^T/(y_scale grid) - f_sums C/(f_scale grid).
    """

    def __init__(
        self,
        W: FloatArray | None,
        C: FloatArray,
        *,
        inner: Sequence[float],
        exponents: Sequence[int],
        y_scales: Sequence[float],
        f_scale: float,
        shift: FloatArray | None = None,
    ) -> None:
        self.d, self.m = C.shape
        self.shift = None if shift is None else np.ascontiguousarray(shift, dtype=np.float64)
        self.both = _padded_columns(np.concatenate([np.zeros_like(C) if W is None else W, C], axis=1))
        self.both_shift = np.zeros(self.both.shape[1])
        self.mm = 0.0
        if self.shift is not None:
            self.both_shift[:] = [math.fsum(column * self.shift) for column in self.both.T]
            self.mm = math.fsum(self.shift * self.shift)
        if W is None:
            self.both_shift[: self.m] = -1.0  # so that y = 0 - (-1) = 1
        self.mp = -(-self.m // _LANES) * _LANES
        self.inner = np.array(inner, dtype=np.float64)
        self.per_grid = np.ldexp(1.0, -np.array(exponents, dtype=np.int64))
        self.y_scales = np.array(y_scales, dtype=np.float64)
        self.f_scale = float(f_scale)
        self.cc = upper_square(C)
        self._empty()

    def _empty(self) -> None:
        self._sums = np.zeros((self.inner.size, self.d, self.mp), dtype=np.int64)
        self.y_sums = np.zeros((self.inner.size, self.m), dtype=np.int64)
        self.f_sums = np.zeros(self.inner.size, dtype=np.int64)

    def fork(self) -> SparseRowLoop:
        """The same loop with sums of its own, for another thread."""
        twin = copy.copy(self)
        twin._empty()
        return twin

    def merge(self, other: SparseRowLoop) -> None:
        """Add the sums of another loop."""
        self._sums += other._sums
        self.y_sums += other.y_sums
        self.f_sums += other.f_sums

    @property
    def sums(self) -> list[IntArray]:
        """For every radius the sum over the entries present so far."""
        return [total[:, : self.m] for total in self._sums]

    def add(self, rows: sparse.csr_array[Any, Any], skip: BoolArray | None = None) -> FloatArray:
        """Add a block of rows; returns their norms, as `RowLoop.add` does."""
        norms = np.empty(rows.shape[0])
        data, indices = rows.data.astype(np.float64, copy=False), rows.indices.astype(np.int32, copy=False)
        indptr = rows.indptr.astype(np.int64)
        if _LIBRARY is None:
            self._add_in_numpy(data, indices, indptr, skip, norms)
        else:
            flags = None if skip is None else skip.astype(np.uint8)
            head = (data, indices, indptr, norms.size, self.shift, self.mm, flags, self.both, self.both_shift)
            sizes = (self.m, self.both.shape[1], self.cc, 2.0**-50, self.inner.size)
            clips = (self.inner, self.per_grid, self.y_scales, self.f_scale)
            totals = (self.d, self.mp, self._sums, self.y_sums, self.f_sums)
            _call("csr_survey", *head, *sizes, *clips, *totals, norms, np.empty(self.both.shape[1] + self.mp))
        return norms

    def _add_in_numpy(
        self,
        data: FloatArray,
        indices: npt.NDArray[np.int32],
        indptr: IntArray,
        skip: BoolArray | None,
        norms: FloatArray,
    ) -> None:
        """The numpy twin of the compiled loop, row by row."""
        m, shift = self.m, self.shift
        for i in range(norms.size):
            where = slice(int(indptr[i]), int(indptr[i + 1]))
            x, k = data[where], indices[where]
            y = np.zeros(self.both.shape[1])
            xx = xm = 0.0
            with np.errstate(all="ignore"):
                for value, index in zip(x, k, strict=True):
                    y += self.both[index] * value
                    xx += value * value
                    xm += value * shift[index] if shift is not None else 0.0
                y -= self.both_shift
                yy = cross = 0.0
                for j in range(m):
                    yy += y[j] * y[j]
                    cross += y[j] * y[m + j]
                whole = (xx + self.mm) * yy
                exact = ((xx - 2 * xm) + self.mm) * yy - 2 * cross + self.cc
                margin = 2.0**-50 * float(x.size + m + 64) * (whole + self.cc)
                norms[i] = np.sqrt(max(exact, 0.0) + margin) * (1 + 2.0**-50)
            if (skip is not None and skip[i]) or not (np.isfinite(xx) and np.isfinite(norms[i])):
                norms[i] = np.inf
                continue
            for q, inner in enumerate(self.inner):
                f = 1.0 if norms[i] <= inner else inner / norms[i]
                self.f_sums[q] += int(np.rint(f * self.f_scale))
                self.y_sums[q] += np.rint(y[:m] * f * self.y_scales[q]).astype(np.int64)
                moved = _rounded((y[:m] * f * self.per_grid[q]) * x[:, None])
                np.add.at(self._sums[q], (k[:, None], np.arange(m)), moved)


def _rounded(values: FloatArray) -> IntArray:
    """The integers nearest to values below 2^51, by the same addition as in C."""
    return (values + _ROUND).view(np.int64) - _ROUND_BITS


def upper_square(C: FloatArray) -> float:
    """A number not below ||C||^2, and above it by a relative 1e-15 or so."""
    return math.fsum(np.ravel(C * C)) * (1 + 2.0**-50)


def norm_error(d: int, m: int) -> float:
    """Relative error bound of the squared norms of `RowLoop`.

    With y as computed, ||x y^T - C||^2 = s yy - 2 y.t + ||C||^2, where s, yy and t = C^T x are sums of at most d,
    m and d products: each is off by at most (d + m + 16) 2^-53 times the sum of its absolute terms, and those are
    at most s yy + ||C||^2 in all (Cauchy-Schwarz). Twice that, and some, is the bound.
    """
    return (d + m + 32) * 2.0**-50


def outer_means(
    rows: Rows, y: FloatArray, offsets: IntArray, bad: BoolArray, *, shift: FloatArray | None = None
) -> FloatArray:
    """For every unit u the mean of x y^T over its good rows offsets[u]:offsets[u+1]; nan if it has none."""
    d, m = rows.shape[1], y.shape[1]
    units = offsets.size - 1
    out = np.empty((units, d, m))
    if _LIBRARY is None:
        x = _shifted(rows, shift)
        for u in range(units):
            good = [i for i in range(int(offsets[u]), int(offsets[u + 1])) if not bad[i]]
            total = np.zeros((d, m))
            for i in good:
                total += x[i, :, None] * y[i]
            out[u] = total / len(good) if good else np.nan
    else:
        flags = bad.astype(np.uint8)
        first = (*_rows(rows), d, shift, np.ascontiguousarray(y), m, m)
        _call("outer_means", *first, offsets.astype(np.int64), units, flags, out, np.empty(d))
    return out


def squared_row_norms(x: FloatArray) -> FloatArray:
    """Squared norm of every row: eight interleaved sums, added in order."""
    lanes = np.zeros((len(x), -(-x.shape[1] // _LANES) * _LANES))
    parts = np.zeros((len(x), _LANES))
    total = np.zeros(len(x))
    with np.errstate(all="ignore"):
        lanes[:, : x.shape[1]] = x * x
        for k in range(0, lanes.shape[1], _LANES):
            parts += lanes[:, k : k + _LANES]
        for lane in range(_LANES):
            total += parts[:, lane]
    return total


def _shifted(rows: Rows, shift: FloatArray | None) -> FloatArray:
    x = rows.astype(np.float64)
    return x if shift is None else x - shift


def _padded_columns(matrix: FloatArray) -> FloatArray:
    wide = np.zeros((matrix.shape[0], max(-(-matrix.shape[1] // _LANES), 1) * _LANES))
    wide[:, : matrix.shape[1]] = matrix
    return wide


def _rows(rows: Rows) -> tuple[Rows, ctypes.c_int]:
    whole: Rows = rows if rows.flags.c_contiguous else rows.copy()
    return whole, ctypes.c_int(rows.dtype == np.float32)


def _call(name: str, *arguments: object) -> None:
    """Call a compiled function; arrays go by address, whole numbers as size_t, floats as double."""
    converted = [_converted(argument) for argument in arguments]
    getattr(_LIBRARY, f"{name}_{_VARIANT}")(*converted)


def _converted(argument: object) -> object:
    if isinstance(argument, np.ndarray):
        return ctypes.c_void_p(argument.ctypes.data)
    if isinstance(argument, int):
        return ctypes.c_size_t(argument)
    if isinstance(argument, float):
        return ctypes.c_double(argument)
    return argument


def compiled() -> bool:
    """Whether the compiled loops are in use."""
    return _LIBRARY is not None
