"""Data frames in memory, all through one door: narwhals (pandas, polars and whatever else it knows)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import numpy.typing as npt

from eigenveil._typing import IntArray
from eigenveil.errors import InvalidInputError
from eigenveil.sources.arrow import to_floats
from eigenveil.sources.columns import choose_names, find_unit, refuse_types
from eigenveil.sources.guard import attempt


def accepts(data: Any) -> bool:
    """Whether this is a data frame in memory."""
    return isinstance(narwhal(data), nw.DataFrame)


def narwhal(data: Any) -> Any:
    """The data as narwhals sees it; itself where narwhals does not know it."""
    alike = InvalidInputError(
        f"expected a {type(data).__name__} whose columns all have names of their own, got some twice.",
        hint="Rename the columns, or pass the values as an array.",
    )
    return attempt(lambda: nw.from_native(data, pass_through=True), alike, nw.exceptions.DuplicateError)


def hold(data: Any, *, columns: Any, units: Any) -> FrameRows:
    """The chosen columns of a frame."""
    frame: nw.DataFrame[Any] = nw.maybe_reset_index(narwhal(data))
    chosen = choose_series(frame, columns, units)
    single = all(frame[:, position].dtype == nw.Float32 for position in chosen)
    return FrameRows(frame, frame[:, chosen], np.dtype(np.float32 if single else np.float64))


def names_of(frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> list[str]:
    """Names of the columns as text; pandas allows others."""
    return [str(name) for name in frame.collect_schema().names()]


def choose_series(frame: nw.DataFrame[Any] | nw.LazyFrame[Any], columns: Any, units: Any) -> list[int]:
    """Positions of the chosen columns; refuses those that hold no numbers."""
    names = names_of(frame)
    types = list(frame.collect_schema().dtypes())
    chosen = choose_names(names, columns, unit=units if isinstance(units, str) else None)
    numeric = [types[position].is_numeric() or types[position].is_boolean() for position in chosen]
    refuse_types({names[position]: types[position] for position in chosen}, numeric)
    return chosen


@dataclass(frozen=True, repr=False, eq=False)
class FrameRows:
    """Rows of a frame."""

    sparse: ClassVar[bool] = False

    frame: nw.DataFrame[Any]
    chosen: nw.DataFrame[Any]
    dtype: np.dtype[Any]

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.chosen)

    @property
    def n_columns(self) -> int:
        """How many numbers a row has."""
        return len(self.chosen.columns)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(names_of(self.chosen))

    @property
    def row_bytes(self) -> float:
        """How large a row is as floats."""
        return self.n_columns * self.dtype.itemsize

    def between(self, start: int, stop: int) -> npt.NDArray[Any]:
        """Rows start to stop."""
        return self._floats(self.chosen[start:stop])

    def at(self, index: IntArray) -> npt.NDArray[Any]:
        """The rows at these positions."""
        return self._floats(self.chosen[index])

    def ids(self, units: Any) -> Any:
        """The unit column, or the ids as they were given."""
        return self.frame[:, find_unit(names_of(self.frame), units)] if isinstance(units, str) else units

    def _floats(self, part: nw.DataFrame[Any]) -> npt.NDArray[Any]:
        table = nw.maybe_reset_index(part).to_arrow()
        return to_floats(table, self.dtype)
