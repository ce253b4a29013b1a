"""Norms of x' (W^T x')^T - C, x' = x - P P^T x, if the columns of W and C are multiples of those of P.

A last round makes this query: its units are damped along the directions of the query. The norms follow from P^T x
and ||x||^2, so a pass that only counts norms need not form x', and takes a third of the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from eigenveil._typing import BoolArray, FloatArray, IntArray
from eigenveil.kernels import loops
from eigenveil.kernels.columns import AnyRows, as_taken, placed
from eigenveil.kernels.fixed_point import to_single
from eigenveil.kernels.loops import GROUP
from eigenveil.kernels.row_loop import FLOOR, multiples_of, norm_error, residuals, upper, upper_norm, upper_square

_CLOSE = 2.0**-40
"""Largest relative difference of W from multiples of P's columns, and of these columns from being orthogonal."""


@dataclass(frozen=True, eq=False)
class DampedNormSurveyor:
    """Surveyor that returns norms and has no sums.

    Formal guarantees
    -----------------
    A norm is a function of the row and of public numbers, to the bit. Counts of norms within edges have
    sensitivity 1 for any such function. So, unlike for `RowLoop`, no proof is needed of the distance from the real
    norm. The two are equal up to rounding, of the order of `norm_error`.

    Parameters
    ----------
    along : array of shape (d, m)
        P.
    taken, scale, multiples : arrays of shape (m,)
        ||x'||^2 = ||x||^2 - sum_j taken_j (P_j^T x)^2; y_j = scale_j P_j^T x; C_j^T x' = multiples_j y_j.
    cc, error : float
        ||C||^2, and the relative margin that is added to squared norms, as in `RowLoop`.
    shift : array of shape (d,), optional
        Subtracted from every row first.
    """

    along: FloatArray
    taken: FloatArray
    scale: FloatArray
    multiples: FloatArray
    cc: float
    error: float
    shift: FloatArray | None = None

    @classmethod
    def of(cls, W: FloatArray, centre: FloatArray, removed: FloatArray, shift: FloatArray | None) -> Self | None:
        """Return the surveyor of a query, or None if W and C are not multiples of the columns of `removed`."""
        if removed.shape != W.shape:
            return None
        C = to_single(centre)
        gram = removed.T @ removed
        lengths = np.diag(gram).copy()
        with np.errstate(all="ignore"):
            times = np.sum(W * removed, axis=0) / lengths
            off = np.linalg.norm(W - removed * times) / np.linalg.norm(W)
            skew = np.linalg.norm(gram - np.diag(lengths))
            multiples, distance = multiples_of(W, C)
        if multiples is None or not (off <= _CLOSE and skew <= _CLOSE):
            return None
        return cls(
            along=loops.padded_columns(removed),
            taken=2 - lengths,
            scale=times * (1 - lengths),
            multiples=multiples,
            cc=upper_square(upper_norm(C)),
            error=norm_error(*W.shape) + distance,
            shift=None if shift is None else np.ascontiguousarray(shift, dtype=np.float64),
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return all attributes except the work space."""
        return {name: value for name, value in vars(self).items() if name != "_work"}

    @cached_property
    def _work(self) -> FloatArray:
        d, cols = self.along.shape
        return np.empty(GROUP * (d + cols))

    def fresh(self) -> Self:
        """Return a copy with its own work space."""
        twin = object.__new__(type(self))
        vars(twin).update(self.__getstate__())
        return twin

    def add(self, chunk: AnyRows, skip: BoolArray | None) -> FloatArray:
        """Return norms of rows of shape (units, d); infinite for invalid or skipped rows."""
        (d, cols), m = self.along.shape, self.taken.size
        chunk = as_taken(chunk)
        norms = np.empty(len(chunk))
        if loops.compiled():
            flags = None if skip is None else skip.astype(np.uint8)
            head = (*placed(chunk), norms.size, d, self.shift, flags)
            public = (self.along, m, cols, self.taken, self.scale, self.multiples, self.cc, self.error)
            loops.call("rows_damped", *head, *public, norms, self._work)
        else:
            self._add_in_numpy(loops.shifted(np.asarray(chunk), self.shift), skip, norms)
        return norms

    def _add_in_numpy(self, x: FloatArray, skip: BoolArray | None, norms: FloatArray) -> None:
        """Numpy version of the compiled loop: the same operations in the same order."""
        d, m = x.shape[1], self.taken.size
        with np.errstate(all="ignore"):
            y = loops.row_product(x, self.along)
            s = loops.squared_row_norms(x)
            left = s.copy()
            for j in range(m):
                left -= self.taken[j] * (y[:, j] * y[:, j])
            y[:, :m] *= self.scale
            left = np.where(left > 0, left, 0.0)
            exact, whole = residuals(left, y, d, m, self.cc, multiples=self.multiples)
            norms[:] = upper(exact, self.error * (whole + self.cc) + FLOOR)
            bad = ~(np.isfinite(s) & np.isfinite(exact) & np.isfinite(norms))
        norms[bad if skip is None else bad | skip] = np.inf

    def merge(self, other: Self) -> None:
        """Do nothing: there are no sums."""

    def sums(self) -> list[IntArray]:
        """Return an empty list."""
        return []
