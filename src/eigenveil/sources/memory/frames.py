"""Data frames in memory, read with narwhals: pandas, polars and all others that narwhals supports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import numpy.typing as npt

from eigenveil._typing import IntArray
from eigenveil.errors import InvalidInputError
from eigenveil.sources.columns import find_unit
from eigenveil.sources.encodings import text_of
from eigenveil.sources.guard import attempt, holds_python_text
from eigenveil.sources.kinds import frame_type
from eigenveil.sources.layout import Layout
from eigenveil.sources.memory.arrow import to_floats


def accepts(data: Any) -> bool:
    """Return whether the data are a data frame in memory."""
    return isinstance(to_narwhals(data), nw.DataFrame)


def to_narwhals(data: Any) -> Any:
    """Wrap the data with narwhals; return them unchanged if narwhals does not support them."""
    alike = InvalidInputError(
        f"expected a {type(data).__name__} with unique names of columns, got duplicates.",
        hint="Rename the columns, or pass the values as an array.",
    )
    return attempt(lambda: nw.from_native(data, pass_through=True), alike, nw.exceptions.DuplicateError)


def hold(data: Any, *, layout: Layout, units: Any) -> FrameRows:
    """Return the selected columns of a frame."""
    frame: nw.DataFrame[Any] = nw.maybe_reset_index(to_narwhals(data))
    exact, dtype = on_frame(layout, frame, units)
    names = names_of(frame)
    place_of = {name: place for place, name in reversed(list(enumerate(names)))}
    chosen = frame[:, [place_of[str(name)] for name in exact.columns or ()]]
    return FrameRows(frame, _objects_as_text(chosen, exact), exact, dtype)


def names_of(frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> list[str]:
    """Return the names of the columns as text; pandas allows names of other types."""
    return [str(name) for name in frame.collect_schema().names()]


def on_frame(
    layout: Layout, frame: nw.DataFrame[Any] | nw.LazyFrame[Any], units: Any
) -> tuple[Layout, np.dtype[Any]]:
    """Return the layout resolved for this frame, and the type of the floats; refuse unsupported types."""
    names = names_of(frame)
    exact = layout.by_names(names, units=units)
    objects = frame.implementation.is_pandas_like()
    found = dict(zip(names, frame.collect_schema().dtypes(), strict=True))
    types = {str(name): frame_type(found[str(name)], objects=objects) for name in exact.columns or ()}
    return exact.checked(types), exact.dtype(types)


def _objects_as_text(frame: nw.DataFrame[Any], layout: Layout) -> nw.DataFrame[Any]:
    """Convert encoded columns of objects, and pandas categories, to text, each value separately."""
    if not layout.encode or not frame.implementation.is_pandas_like():
        return frame
    columns = []
    for name, series in zip(names_of(frame), frame.iter_columns(), strict=True):
        kind = series.to_native().dtype
        python = kind == np.dtype(object) or holds_python_text(kind)
        by_hand = python or series.dtype in (nw.Object, nw.Categorical, nw.Enum)
        if name in layout.encode and by_hand:
            texts = [text_of(one) for one in series.to_native()]
            columns.append(nw.new_series(series.name, texts, nw.String, backend=frame.implementation))
        else:
            columns.append(series)
    return frame.with_columns(*columns)


@dataclass(frozen=True, repr=False, eq=False)
class FrameRows:
    """Rows of a frame."""

    sparse: ClassVar[bool] = False

    frame: nw.DataFrame[Any]
    chosen: nw.DataFrame[Any]
    layout: Layout
    dtype: np.dtype[Any]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.chosen)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.columns)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.layout.names or ()

    @property
    def row_bytes(self) -> float:
        """Size of a row as floats, in bytes."""
        return self.n_columns * self.dtype.itemsize

    def between(self, start: int, stop: int) -> npt.NDArray[Any]:
        """Return rows start to stop."""
        return self._floats(self.chosen[start:stop])

    def at(self, index: IntArray) -> npt.NDArray[Any]:
        """Return the rows at these positions."""
        return self._floats(self.chosen[index])

    def ids(self, units: Any) -> Any:
        """Return the unit column, or the ids that were passed in."""
        return self.frame[:, find_unit(names_of(self.frame), units)] if isinstance(units, str) else units

    def _floats(self, part: nw.DataFrame[Any]) -> npt.NDArray[Any]:
        table = nw.maybe_reset_index(part).to_arrow()
        return to_floats(table, self.layout, self.dtype)
