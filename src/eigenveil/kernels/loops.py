"""The inner loops over units: compiled C code if available, else the same arithmetic in numpy.

Every function processes each row separately, with IEEE operations in a fixed order. So the result for a row is a
function of that row and the public arguments, to the last bit (rule 4 of the privacy rules): removing or moving
other rows cannot change it. The compiled and the numpy version give the same bits.
"""

from __future__ import annotations

import ctypes
import pathlib
from typing import Any

import numpy as np
import numpy.typing as npt

from eigenveil._typing import BoolArray, FloatArray, IntArray, Rows

GROUP, LANES = 32, 8
_VERSION = 12


def _load() -> Any:
    """Return the compiled loops, or None if they were not built, or built from another version of loops.c."""
    path = pathlib.Path(__file__).with_name("_loops.so")
    library = ctypes.CDLL(str(path)) if path.exists() else None
    if library is None or not hasattr(library, "loops_version"):
        return None
    return library if library.loops_version() == _VERSION else None


_LIBRARY = _load()
_VARIANT = "" if _LIBRARY is None else ("plain", "middle", "wide")[_LIBRARY.best_variant()]


def row_product(rows: Rows, matrix: FloatArray, *, shift: FloatArray | None = None) -> FloatArray:
    """Return (rows - shift) @ matrix, each row separately.

    Examples
    --------
    >>> row_product(np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1., 2.],
           [3., 4.]])
    """
    n, d = rows.shape
    wide = padded_columns(matrix)
    out = np.zeros((n, wide.shape[1]))
    if _LIBRARY is None:
        x = shifted(rows, shift)
        with np.errstate(all="ignore"):
            for k in range(d):
                out += x[:, k, None] * wide[k]
    else:
        work = np.empty(GROUP * (d + wide.shape[1]))
        call("row_product", *contiguous(rows), n, d, shift, wide, wide.shape[1], out, work)
    return out[:, : matrix.shape[1]]


def projected_out(rows: FloatArray, removed: FloatArray) -> FloatArray:
    """Return x - P P^T x for every row x, each separately; P = `removed` has orthogonal columns.

    Examples
    --------
    >>> projected_out(np.array([[1.0, 2.0]]), np.array([[1.0], [0.0]]))
    array([[0., 2.]])
    """
    with np.errstate(invalid="ignore", over="ignore"):
        return rows - row_product(row_product(rows, removed), np.ascontiguousarray(removed.T))


def outer_means(
    rows: Rows, y: FloatArray, offsets: IntArray, bad: BoolArray, *, shift: FloatArray | None = None
) -> FloatArray:
    """Return the mean of x y^T over the valid rows of every unit; nan if a unit has none.

    The rows of unit u are offsets[u]:offsets[u+1].
    """
    d, m = rows.shape[1], y.shape[1]
    units = offsets.size - 1
    out = np.empty((units, d, m))
    if _LIBRARY is None:
        x = shifted(rows, shift)
        for u in range(units):
            good = [i for i in range(int(offsets[u]), int(offsets[u + 1])) if not bad[i]]
            total = np.zeros((d, m))
            with np.errstate(all="ignore"):
                for i in good:
                    total += x[i, :, None] * y[i]
                out[u] = total / len(good) if good else np.nan
    else:
        flags = bad.astype(np.uint8)
        first = (*contiguous(rows), d, shift, np.ascontiguousarray(y), m, m)
        call("outer_means", *first, offsets.astype(np.int64), units, flags, out, np.empty(d))
    return out


def squared_row_norms(x: FloatArray) -> FloatArray:
    """Return the squared norm of every row: eight interleaved sums, added in order."""
    if _LIBRARY is not None:
        out = np.empty(len(x))
        call("row_squares", np.ascontiguousarray(x, dtype=np.float64), *x.shape, out)
        return out
    lanes = np.zeros((len(x), -(-x.shape[1] // LANES) * LANES))
    parts = np.zeros((len(x), LANES))
    total = np.zeros(len(x))
    with np.errstate(all="ignore"):
        lanes[:, : x.shape[1]] = x * x
        for k in range(0, lanes.shape[1], LANES):
            parts += lanes[:, k : k + LANES]
        for lane in range(LANES):
            total += parts[:, lane]
    return total


def with_rest(y: FloatArray, squares: FloatArray) -> FloatArray:
    """Return y_j^2, and last the squared norm minus their sum (at least 0); nan for a norm that is not finite."""
    with np.errstate(invalid="ignore", over="ignore"):
        rest = squares - squared_row_norms(y)
        out: FloatArray = np.concatenate([y * y, np.where(rest > 0, rest, 0.0)[:, None]], axis=1)
    out[~np.isfinite(squares)] = np.nan
    return out


def shifted(rows: Rows, shift: FloatArray | None) -> FloatArray:
    """Return rows in float64, minus the shift."""
    with np.errstate(all="ignore"):
        x = rows.astype(np.float64)
        return x if shift is None else x - shift


def padded(count: int, lanes: int = LANES) -> int:
    """Return the multiple of `lanes` to which `count` columns are padded."""
    return max(-(-count // lanes), 1) * lanes


def padded_columns(*matrices: FloatArray, lanes: int = LANES) -> FloatArray:
    """Return the matrices side by side, padded with columns of zeros to a multiple of `lanes`."""
    wide = np.zeros((len(matrices[0]), padded(sum(matrix.shape[1] for matrix in matrices), lanes)))
    start = 0
    for matrix in matrices:
        wide[:, start : start + matrix.shape[1]] = matrix
        start += matrix.shape[1]
    return wide


def contiguous(rows: Rows) -> tuple[Rows, ctypes.c_int]:
    """Return the rows as a C-contiguous array, and whether they are float32."""
    whole: Rows = rows if rows.flags.c_contiguous else rows.copy()
    return whole, ctypes.c_int(rows.dtype == np.float32)


def call(name: str, *arguments: object) -> None:
    """Call a compiled function; arrays are passed by address, integers as size_t, floats as double."""
    getattr(_LIBRARY, f"{name}_{_VARIANT}")(*map(_converted, arguments))


def interleave(addresses: npt.NDArray[np.uintp], out: Rows) -> None:
    """Fill `out` row by row from columns of its type at these addresses. Requires compiled loops."""
    fill = _LIBRARY.interleave_float if out.dtype == np.float32 else _LIBRARY.interleave_double
    fill(*map(_converted, (addresses, 0, *out.shape, out)))


def _converted(argument: object) -> object:
    if isinstance(argument, np.ndarray):
        return ctypes.c_void_p(argument.ctypes.data)
    if isinstance(argument, int):
        return ctypes.c_size_t(argument)
    if isinstance(argument, float):
        return ctypes.c_double(argument)
    return argument


def compiled() -> bool:
    """Return whether the compiled loops are in use."""
    return _LIBRARY is not None
