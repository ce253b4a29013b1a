"""Files with a column of labels: the last column is the index of each row's label in a public list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from eigenveil.errors import InvalidInputError
from eigenveil.sources.columns import find_unit
from eigenveil.sources.files.any_files import has_paths, open_scan, scan_of
from eigenveil.sources.files.csv_files import CsvScan, as_text, read_as_encoded
from eigenveil.sources.files.scans import Scan
from eigenveil.sources.layout import Layout
from eigenveil.sources.source import Source

_CODE = "\0 label"
"""Name of the added column of label indices; no file has a column of this name."""


def open_labelled(data: Any, *, layout: Layout, units: Any, labels_in: str, labels: Sequence[Any]) -> Source:
    """Open files with labels as a source with one more column: the index of each row's label from 0, or nan.

    Parameters
    ----------
    data : path, glob, folder or list of these
        Parquet, Feather or CSV files.
    layout : Layout
        Columns to read, and how to read them.
    units : str or array-like of ids, optional
        Which person each row belongs to.
    labels_in : str
        Name of the column of labels: text, whole numbers, truth values or dates, which are compared as text.
    labels : sequence
        All possible labels, in the order of their indices. Rows with another label get nan.
    """
    scan = scan_of(data, units) if has_paths(data) else None
    if scan is None:
        raise InvalidInputError(
            f"expected files with named columns for labels given by a column name, got {type(data).__name__}.",
            hint="Pass the labels themselves, one per row.",
        )
    exact = layout.by_names(scan.schema.names, unit=units if isinstance(units, str) else None)
    place = find_unit(scan.schema.names, labels_in, what="column of labels")
    if isinstance(scan, CsvScan):  # where whole numbers would be read as floats
        scan = as_text(read_as_encoded(scan, exact), labels_in)
    kind = scan.schema.field(place).type
    binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    if pa.types.is_nested(kind) or pa.types.is_floating(kind) or binary:
        raise InvalidInputError(
            f"expected a column of labels (text, whole numbers, dates), but {labels_in!r} is of type {kind}.",
            hint="Write one label per row, as text.",
        )
    coded = LabelledScan(scan, labels_in, tuple(map(str, labels)))
    return open_scan(coded, layout=exact.with_column(_CODE), units=units)


@dataclass(frozen=True, repr=False, eq=False)
class LabelledScan:
    """Another scan with one more column, which holds the indices of the labels."""

    scan: Scan
    labels_in: str
    labels: tuple[str, ...]

    @property
    def schema(self) -> pa.Schema:
        """Names and types of all columns."""
        return self.scan.schema.append(pa.field(_CODE, pa.float64()))

    def batches(self, names: Sequence[str], height: int) -> Iterator[pa.RecordBatch]:
        """Yield the named columns in batches."""
        read = list(dict.fromkeys([*(name for name in names if name != _CODE), self.labels_in]))
        for batch in self.scan.batches(read, height):
            columns = [self._codes(batch) if name == _CODE else batch.column(name) for name in names]
            yield pa.RecordBatch.from_arrays(columns, names=list(names))

    def by_file(self) -> Sequence[LabelledScan]:
        """Return one scan per file."""
        return [replace(self, scan=scan) for scan in self.scan.by_file()]

    def _codes(self, batch: pa.RecordBatch) -> pa.Array:
        import pyarrow.compute as pc  # noqa: PLC0415

        given = batch.column(self.labels_in)
        plain = given.dictionary_decode() if pa.types.is_dictionary(given.type) else given
        known = pa.array(self.labels, pa.string())
        return pc.index_in(plain.cast(pa.string()), value_set=known).cast(pa.float64())
