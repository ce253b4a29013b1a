"""Labels of groups: how they are compared, and files with a column of labels.

Labels and groups are compared as text of one form, so that they match whatever their types are.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from eigenveil.errors import InvalidInputError
from eigenveil.sources.columns import find_unit
from eigenveil.sources.encodings import DATE, text_of
from eigenveil.sources.files.any_files import has_paths, open_scan, scan_of
from eigenveil.sources.files.csv_files import CsvScan, as_text, read_as_encoded
from eigenveil.sources.files.scans import Scan
from eigenveil.sources.kinds import Kind, arrow_type, is_text
from eigenveil.sources.layout import Layout
from eigenveil.sources.people.normal_form import normal_text
from eigenveil.sources.source import Source

CODE = "\0 label"
"""Name of the added column of label indices; no file has a column of this name."""


def label_text(one: Any) -> str | None:
    """Return the text by which a label is compared; None if it is missing, or of a type that cannot be a label.

    Whole numbers are the same in any type, and as text. Truth values are 1 and 0. Dates and times are written as
    in ISO 8601, in UTC, without a time of day at midnight, and periods as pandas writes them. All other text is
    compared by its characters, without blanks around it; bytes are text in UTF-8.

    Examples
    --------
    >>> [label_text(one) for one in (7, 7.0, " 7", "007", True, "FALSE", "2020-01-31 00:00", b"north ")]
    ['7', '7', '7', '007', '1', '0', '2020-01-31', 'north']
    """
    text = text_of(_plain(one))
    if text is None:
        return None
    text = text.strip()
    found = re.fullmatch(DATE, text)
    if found is None:
        return {"true": "1", "false": "0"}.get(text.lower(), normal_text(text))
    clock = ":".join(found[name] or "00" for name in ("hour", "minute", "second"))
    part = (found["part"] or "").rstrip("0")
    time = f"T{clock}{'.' * bool(part)}{part}"
    return text[:10] + time * (time != "T00:00:00")


def _plain(one: Any) -> Any:
    """Return dates of numpy, bytes and periods of pandas as `text_of` takes them; others unchanged."""
    if isinstance(one, np.datetime64):
        return one.astype("datetime64[us]").item()
    if isinstance(one, bytes):
        with contextlib.suppress(UnicodeDecodeError):
            return one.decode()
    return str(one) if type(one).__name__ == "Period" else one


def number_text(text: str) -> str:
    """Return the text that `label_text` gives to the float that is written as this text; other text unchanged.

    Examples
    --------
    >>> [number_text(one) for one in ("0.50", ".5", "1e3", "7", "north")]
    ['0.5', '0.5', '1000', '7', 'north']
    """
    if re.fullmatch(_FITS[Kind.NUMBER], text):
        number = float(text)
        if np.isfinite(number) and Decimal(repr(number)) == Decimal(text):
            return label_text(number) or text
    return text


def label_texts(labels: Sequence[Any], kind: Kind | None = None) -> list[str]:
    """Return `label_text` of every label; refuse labels that groups of this kind cannot have, and equal ones."""
    texts = [text for text in map(label_text, labels) if text is not None]
    texts = list(map(number_text, texts)) if kind is Kind.NUMBER else texts
    if not texts or len(texts) != len(labels) or len(set(texts)) != len(texts):
        raise InvalidInputError(
            "labels must be a list of at least one group, each named once.",
            hint="A label is text, a number, a truth value or a date. 1, 1.0, '1' and True name one group.",
        )
    like = _FITS.get(kind, "(?s:.*)")
    wrong = [label for label, text in zip(labels, texts, strict=True) if not re.fullmatch(like, text)]
    if wrong:
        raise InvalidInputError(
            f"expected labels that groups can have, but groups are {kind}, and {wrong[0]!r} is not one of these.",
            hint="Write the labels as they are in the data.",
        )
    return texts


_FITS: dict[Kind | None, str] = {
    Kind.WHOLE: "0|-?[1-9][0-9]*",
    Kind.NUMBER: r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?",
    Kind.TRUTH: "[01]",
    Kind.DATE: DATE,
}
"""By kind of groups: what the text of a label of that kind looks like."""


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
        Name of the column of labels: text, whole numbers, truth values or dates, compared by `label_text`.
    labels : sequence
        All possible labels, in the order of their indices. Rows with another label get nan.
    """
    scan = scan_of(data, units) if has_paths(data) else None
    if scan is None:
        raise InvalidInputError(
            f"expected files with named columns for labels given by a column name, got {type(data).__name__}.",
            hint="Pass the labels themselves, one per row.",
        )
    exact = layout.by_names(scan.schema.names, units=units)
    place = find_unit(scan.schema.names, labels_in, what="column of labels")
    if isinstance(scan, CsvScan):  # where whole numbers would be read as floats
        scan = as_text(read_as_encoded(scan, exact), labels_in)
    kind = scan.schema.field(place).type
    of_labels = arrow_type(kind).kind
    if of_labels is Kind.OTHER or pa.types.is_floating(kind):
        raise InvalidInputError(
            f"expected a column of labels (text, whole numbers, dates), but {labels_in!r} is of type {kind}.",
            hint="Write one label per row, as text.",
        )
    coded = LabelledScan(scan, labels_in, tuple(label_texts(labels, of_labels)))
    return open_scan(coded, layout=exact.with_column(CODE), units=units)


@dataclass(frozen=True, repr=False, eq=False)
class LabelledScan:
    """Another scan with one more column, which holds the indices of the labels."""

    scan: Scan
    labels_in: str
    labels: tuple[str, ...]

    @property
    def schema(self) -> pa.Schema:
        """Names and types of all columns."""
        return self.scan.schema.append(pa.field(CODE, pa.float64()))

    def batches(self, names: Sequence[str], height: int) -> Iterator[pa.RecordBatch]:
        """Yield the named columns in batches."""
        read = list(dict.fromkeys([*(name for name in names if name != CODE), self.labels_in]))
        for batch in self.scan.batches(read, height):
            columns = [self._codes(batch) if name == CODE else batch.column(name) for name in names]
            yield pa.RecordBatch.from_arrays(columns, names=list(names))

    def by_file(self) -> Sequence[LabelledScan]:
        """Return one scan per file."""
        return [replace(self, scan=scan) for scan in self.scan.by_file()]

    def _codes(self, batch: pa.RecordBatch) -> pa.Array:
        coded = _as_text(batch.column(self.labels_in)).dictionary_encode()
        found = [
            one.decode(errors="surrogateescape") for one in coded.dictionary.cast(pa.large_binary()).to_pylist()
        ]
        number_of: dict[str | None, float] = {label: float(number) for number, label in enumerate(self.labels)}
        numbers = pa.array([number_of.get(label_text(one)) for one in found], pa.float64())
        return numbers.take(coded.indices)


def _as_text(values: pa.Array) -> pa.Array:
    """Return a column of labels as text."""
    import pyarrow.compute as pc  # noqa: PLC0415  # heavy

    plain = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    if pa.types.is_decimal(plain.type):  # 1.50 as 1.5
        return pc.replace_substring_regex(plain.cast(pa.string()), r"(\.[0-9]*?)0+$", r"\1")
    if pa.types.is_timestamp(plain.type):
        plain = plain.cast(pa.timestamp(plain.type.unit))  # in UTC
    return plain if is_text(plain.type) and plain.type != pa.string_view() else plain.cast(pa.large_string())
