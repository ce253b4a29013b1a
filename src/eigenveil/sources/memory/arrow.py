"""Arrow tables and record batches, and the conversion of Arrow columns to blocks of floats."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eigenveil._typing import IntArray
from eigenveil.kernels import Columns
from eigenveil.sources.columns import find_unit
from eigenveil.sources.kinds import arrow_type
from eigenveil.sources.layout import Layout


def accepts(data: Any) -> bool:
    """Return whether the data are a table or a record batch."""
    return isinstance(data, (pa.Table, pa.RecordBatch))


def hold(data: Any, *, layout: Layout, units: Any) -> ArrowRows:
    """Return the selected columns of a table."""
    table = pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else data
    exact, dtype = on_schema(layout, table.schema, units)
    chosen = table.select([table.column_names.index(name) for name in exact.columns or ()])
    views = [place for place, kind in enumerate(chosen.schema.types) if pa.types.is_string_view(kind)]
    for place in views:  # Arrow cannot select rows of this type
        chosen = chosen.set_column(place, chosen.schema.names[place], chosen.column(place).cast(pa.large_string()))
    return ArrowRows(table, chosen, exact, dtype)


def on_schema(layout: Layout, schema: pa.Schema, units: Any) -> tuple[Layout, np.dtype[Any]]:
    """Return the layout resolved for this schema, and the type of the floats; refuse unsupported types."""
    exact = layout.by_names(schema.names, units=units, index=index_of(schema))
    found = {field.name: field.type for field in reversed(list(schema))}  # the first of each name
    types = {str(name): arrow_type(found[name]) for name in exact.columns or ()}
    return exact.checked(types), exact.dtype(types)


def index_of(schema: pa.Schema) -> list[str]:
    """Return the names of the columns that are a row index, as the metadata of pandas say."""
    with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
        return [name for name in json.loads(schema.metadata[_PANDAS])["index_columns"] if isinstance(name, str)]
    return []


def with_index(schema: pa.Schema, index: Collection[str]) -> pa.Schema:
    """Return the schema with metadata that name these columns as the row index, and nothing else."""
    return schema.with_metadata({_PANDAS: json.dumps({"index_columns": sorted(index)})} if index else None)


_PANDAS = b"pandas"


def to_floats(table: pa.Table, layout: Layout, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Convert a table with the columns of a layout, in order, to one C-contiguous array of floats."""
    parts = [np.asarray(Columns(layout.read(batch.columns, dtype))) for batch in table.to_batches()]
    if not parts:
        return np.empty((0, len(layout.names or ())), dtype=dtype)
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


@dataclass(frozen=True, repr=False, eq=False)
class ArrowRows:
    """Rows of a table."""

    sparse: ClassVar[bool] = False

    table: pa.Table
    chosen: pa.Table
    layout: Layout
    dtype: np.dtype[Any]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.chosen.num_rows)

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
        return to_floats(self.chosen.slice(start, stop - start), self.layout, self.dtype)

    def at(self, index: IntArray) -> npt.NDArray[Any]:
        """Return the rows at these positions."""
        return to_floats(self.chosen.take(pa.array(index)), self.layout, self.dtype)

    def ids(self, units: Any) -> Any:
        """Return the unit column, or the ids that were passed in."""
        return self.table.column(find_unit(self.table.column_names, units)) if isinstance(units, str) else units
