"""Arrow tables and record batches, and the one way from Arrow columns to a block of floats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eigenveil._typing import IntArray
from eigenveil.kernels import Columns
from eigenveil.sources.columns import choose_names, find_unit, refuse_types


def accepts(data: Any) -> bool:
    """Whether this is a table or a record batch."""
    return isinstance(data, (pa.Table, pa.RecordBatch))


def hold(data: Any, *, columns: Any, units: Any) -> ArrowRows:
    """The chosen columns of a table."""
    table = pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else data
    chosen = choose_fields(table.schema, columns, units)
    return ArrowRows(table, table.select(chosen), block_type(table.schema, chosen))


def choose_fields(schema: pa.Schema, columns: Any, units: Any) -> list[int]:
    """Positions of the chosen columns in the schema; refuses those that hold no numbers."""
    chosen = choose_names(schema.names, columns, unit=units if isinstance(units, str) else None)
    fields = [schema.field(position) for position in chosen]
    refuse_types({field.name: field.type for field in fields}, [is_number(field.type) for field in fields])
    return chosen


def is_number(kind: pa.DataType) -> bool:
    """Whether a column of this type holds numbers; truth values count as 0 and 1."""
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    return any(test(kind) for test in tests)


def block_type(schema: pa.Schema, chosen: Sequence[int]) -> np.dtype[Any]:
    """float32 if every chosen column is, else float64."""
    single = all(schema.field(position).type == pa.float32() for position in chosen)
    return np.dtype(np.float32 if single else np.float64)


def to_floats(table: pa.Table | pa.RecordBatch, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """All columns of a table or batch as one C-contiguous array; nulls become nan."""
    batches = table.to_batches() if isinstance(table, pa.Table) else [table]
    parts = [np.asarray(to_columns(batch, dtype)) for batch in batches]
    if not parts:
        return np.empty((0, table.num_columns), dtype=dtype)
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def to_columns(batch: pa.RecordBatch, dtype: np.dtype[Any]) -> Columns:
    """The same as columns, which stay where they are if they are floats of this type without nulls."""
    return Columns([_floats(column, dtype) for column in batch.columns])


def _floats(column: pa.Array, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """A column of numbers as floats; nulls become nan. Arrow's own `to_numpy` would load pandas first."""
    kind = pa.from_numpy_dtype(dtype)
    if pa.types.is_decimal(column.type):  # by its digits: otherwise the last bit depends on the scale of the type
        column = column.cast(pa.string())
    plain = column if column.type == kind else column.cast(kind, safe=False)
    if plain.null_count:
        plain = plain.fill_null(float("nan"))
    if not len(plain):
        return np.empty(0, dtype=dtype)
    return np.frombuffer(plain.buffers()[1], dtype=dtype, count=len(plain), offset=plain.offset * dtype.itemsize)


@dataclass(frozen=True, repr=False, eq=False)
class ArrowRows:
    """Rows of a table."""

    sparse: ClassVar[bool] = False

    table: pa.Table
    chosen: pa.Table
    dtype: np.dtype[Any]

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.chosen.num_rows)

    @property
    def n_columns(self) -> int:
        """How many numbers a row has."""
        return int(self.chosen.num_columns)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.chosen.column_names)

    @property
    def row_bytes(self) -> float:
        """How large a row is as floats."""
        return self.n_columns * self.dtype.itemsize

    def between(self, start: int, stop: int) -> npt.NDArray[Any]:
        """Rows start to stop."""
        return to_floats(self.chosen.slice(start, stop - start), self.dtype)

    def at(self, index: IntArray) -> npt.NDArray[Any]:
        """The rows at these positions."""
        return to_floats(self.chosen.take(pa.array(index)), self.dtype)

    def ids(self, units: Any) -> Any:
        """The unit column, or the ids as they were given."""
        return self.table.column(find_unit(self.table.column_names, units)) if isinstance(units, str) else units
