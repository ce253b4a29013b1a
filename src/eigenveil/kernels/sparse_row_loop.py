"""One pass over sparse rows, whose shift and centre stay implicit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from eigenveil.kernels import loops
from eigenveil.kernels.loops import BoolArray, FloatArray, IntArray
from eigenveil.kernels.row_loop import Loop, rounded


class SparseRowLoop(Loop):
    """As `RowLoop`, over rows of a CSR array, whose shift and centre stay implicit.

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
        self.y_scales = np.array(y_scales, dtype=np.float64)
        weights = np.zeros_like(C) if W is None else W
        super().__init__(weights, C, inner=inner, exponents=exponents, f_scale=f_scale, shift=shift)
        self.both_shift = np.zeros(self.both.shape[1])
        self.mm = 0.0
        if self.shift is not None:
            self.both_shift[:] = [math.fsum(column * self.shift) for column in self.both.T]
            self.mm = math.fsum(self.shift * self.shift)
        if W is None:
            self.both_shift[: self.m] = -1.0  # so that y = 0 - (-1) = 1

    def _start(self) -> None:
        super()._start()
        self.y_sums = np.zeros((self.inner.size, self.m), dtype=np.int64)
        self._totals = (*self._totals, self.y_sums)

    def add(self, rows: sparse.csr_array[Any, Any], skip: BoolArray | None = None) -> FloatArray:
        """Add a block of rows; returns their norms, as `RowLoop.add` does."""
        norms = np.empty(rows.shape[0])
        data, indices = rows.data.astype(np.float64, copy=False), rows.indices.astype(np.int32, copy=False)
        indptr = rows.indptr.astype(np.int64)
        if not loops.compiled():
            self._add_in_numpy(data, indices, indptr, skip, norms)
        else:
            flags = None if skip is None else skip.astype(np.uint8)
            head = (data, indices, indptr, norms.size, self.shift, self.mm, flags, self.both, self.both_shift)
            sizes = (self.m, self.both.shape[1], self.cc, 2.0**-50, self.inner.size)
            clips = (self.inner, self.per_grid, self.y_scales, self.f_scale)
            totals = (self.d, self.mp, self._sums, self.y_sums, self.f_sums)
            loops.call("csr_survey", *head, *sizes, *clips, *totals, norms, np.empty(self.both.shape[1] + self.mp))
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
                moved = rounded((y[:m] * f * self.per_grid[q]) * x[:, None])
                np.add.at(self._sums[q], (k[:, None], np.arange(m)), moved)
