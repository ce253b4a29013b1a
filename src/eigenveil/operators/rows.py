"""One row x per unit, A = x x^T; rows may be dense or sparse."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np
from scipy import sparse

from eigenveil._typing import BoolArray, FloatArray, IntArray
from eigenveil.kernels import (
    Clip,
    GramSurveyor,
    RowSurveyor,
    SparseRowSurveyor,
    Surveyor,
    TensorSurveyor,
    row_product,
)
from eigenveil.operators.from_rows import FromRows
from eigenveil.operators.operator import Prepared, cut
from eigenveil.sources.source import Values


class RowsOperator(FromRows):
    """Rows x as units.

    Sparse rows stay sparse, the shift and the centre implicit; only `removed` makes them dense, a few at a time.
    """

    @property
    def single_rows(self) -> bool:
        """One row each."""
        return True

    def chunks(self) -> Iterator[Values]:
        """Blocks of rows as the source gives them."""
        return (block.values for block in self.source.blocks())

    def units(self, chunk: Values) -> int:
        """One unit per row."""
        return int(chunk.shape[0])

    def products(self, chunk: Values, W: FloatArray) -> FloatArray:
        """The products x (W^T x)^T: shape (units, d, m)."""
        x = self.dense(chunk)
        with np.errstate(invalid="ignore", over="ignore"):
            return x[:, :, None] * row_product(x, W)[:, None, :]

    def variances(self, chunk: Values, U: FloatArray) -> FloatArray:
        """(u_j^T x)^2, and what of ||x||^2 they leave."""
        return self.row_variances(chunk, U)

    def surveyor(self, W: FloatArray, centre: FloatArray, clips: Sequence[Clip]) -> Surveyor:
        """In one pass, from X W, X C and row norms; no tensor per row."""
        if self.removed is not None:
            return Prepared(RowSurveyor(W, centre, clips), self._dense_pieces)
        return Either(
            lambda: RowSurveyor(W, centre, clips, shift=self.shift),
            lambda: SparseRowSurveyor(W, centre, clips, shift=self.shift),
        )

    def matrix_surveyor(self, centre: FloatArray, clips: Sequence[Clip]) -> Surveyor:
        """The same with W = I; quicker around 0."""
        if centre.any():
            return self.surveyor(np.eye(self.d), centre, clips)
        if self.removed is not None:
            return Prepared(GramSurveyor(self.d, clips), self._dense_pieces)
        return Either(
            lambda: GramSurveyor(self.d, clips, shift=self.shift),
            lambda: SparseRowSurveyor(np.eye(self.d), centre, clips, shift=self.shift),
        )

    def vector_surveyor(self, centre: FloatArray, clips: Sequence[Clip]) -> Surveyor:
        """Norms and clipped sums of x - centre."""

        def dense() -> Surveyor:
            return Prepared(TensorSurveyor(centre, clips), self._dense_pieces)

        if self.removed is not None:
            return dense()
        return Either(dense, lambda: SparseRowSurveyor(None, centre, clips, shift=self.shift))

    def _dense_pieces(self, chunk: Values) -> Iterator[tuple[FloatArray, slice]]:
        return ((self.dense(chunk[where]), where) for where in cut(self.units(chunk), self.d))


class Either:
    """Surveyors of the same thing for dense and for sparse chunks, each made when its first chunk comes."""

    def __init__(
        self,
        dense: Callable[[], Surveyor],
        sparse_: Callable[[], Surveyor],
        made: dict[bool, Surveyor] | None = None,
    ) -> None:
        self._make = {False: dense, True: sparse_}
        self._made: dict[bool, Surveyor] = {} if made is None else made
        self._mine: dict[bool, Surveyor] = {}

    def fork(self) -> Self:
        """The same with empty sums; what is public in it is made once and shared."""
        return type(self)(self._make[False], self._make[True], self._made)

    def add(self, chunk: Any, skip: BoolArray | None) -> FloatArray:
        """Take in a chunk of either kind."""
        return self._of_kind(bool(sparse.issparse(chunk))).add(chunk, skip)

    def merge(self, other: Self) -> None:
        """Take over what a fork has summed."""
        for kind, surveyor in other._mine.items():
            self._of_kind(kind).merge(surveyor)

    def sums(self) -> list[IntArray]:
        """One sum per clip, over chunks of both kinds."""
        surveyors = list(self._mine.values()) or [self._of_kind(False)]
        return [sum(parts[1:], start=parts[0]) for parts in zip(*(s.sums() for s in surveyors), strict=True)]

    def _of_kind(self, kind: bool) -> Surveyor:  # noqa: FBT001
        if kind not in self._mine:
            with _MAKING:
                if kind not in self._made:
                    self._made[kind] = self._make[kind]()
            self._mine[kind] = self._made[kind].fork()
        return self._mine[kind]


_MAKING = threading.Lock()
