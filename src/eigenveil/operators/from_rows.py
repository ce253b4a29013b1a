"""What operators share whose units are made of the rows of a source."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy import sparse

from eigenveil.kernels import to_single
from eigenveil.kernels.loops import FloatArray
from eigenveil.operators.operator import also_removed, take_off
from eigenveil.sources import Source
from eigenveil.sources.source import Values


@dataclass(frozen=True)
class FromRows:
    """Rows of a source, less a public `shift` if given, and with the span of `removed` taken off."""

    source: Source
    shift: FloatArray | None = None
    removed: FloatArray | None = None

    @property
    def d(self) -> int:
        """Number of columns."""
        return self.source.n_columns

    def dense(self, values: Values) -> FloatArray:
        """Rows as they are meant: shifted and projected."""
        plain = values.toarray() if sparse.issparse(values) else values
        rows = np.ascontiguousarray(plain, dtype=np.float64)
        rows = rows if self.shift is None else rows - self.shift
        return rows if self.removed is None else take_off(rows, self.removed)

    def shifted(self, shift: FloatArray) -> Self:
        """The operator with `shift`, rounded to single precision, taken off every row."""
        rounded = to_single(shift)
        return replace(self, shift=rounded if self.shift is None else self.shift + rounded)

    def projected(self, removed: FloatArray) -> Self:
        """The operator of P A P."""
        return replace(self, removed=also_removed(self.removed, removed))
