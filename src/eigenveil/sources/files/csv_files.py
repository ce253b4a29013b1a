"""CSV files: every line after the header is one row, whatever it contains."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from eigenveil.errors import InvalidInputError, UnreadableError
from eigenveil.sources.encodings import Categories
from eigenveil.sources.files.csv_lines import INNER_COMMA, fields, first_line, pieces, well_formed, widths
from eigenveil.sources.files.scans import READ_ERRORS, ahead, unreadable_file_error
from eigenveil.sources.guard import attempt, guarded
from eigenveil.sources.layout import Layout
from eigenveil.sources.people.normal_form import MISSING

_HEAD = 2000
"""Number of first lines of every file that decide which columns hold numbers."""

_BOM = b"\xef\xbb\xbf"
_NUMBER = r"^-?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf)$"


_VALUE = re.compile(r"[$€£+(\s-]*[.,]?[0-9][0-9.,:/\s%)TZeE+-]*$|.+@.+|(true|false)$", re.IGNORECASE)
"""Texts that look like values, not names of columns: numbers, amounts, dates, times, addresses, truth values."""


@dataclass(frozen=True)
class CsvFiles:
    """CSV files, and how to read them. Accepted wherever a path is accepted.

    Parameters
    ----------
    paths : path, glob, folder or list of these
        The files, with any file extension.
    header : bool, optional
        Whether the first line of each file contains the names of the columns. None: it must, and a line with a
        field that looks like a value (a number, a date, an amount, an address with @) is refused. Names are
        published with a model, so they must not be a person's values. True: such a line is accepted as names.
        False: there is no header, and the columns are named column_1, column_2 and so on.

    Examples
    --------
    >>> files = CsvFiles("measurements.csv", header=False)
    """

    paths: Any = field(repr=False)
    header: bool | None = None


@dataclass(frozen=True, repr=False, eq=False)
class CsvScan:
    """Scan of CSV files with one schema; numbers are float64, all other columns are text.

    Formal guarantees
    -----------------
    A row is a function of its own line and the schema alone: `well_formed` processes each line separately, and the
    Arrow functions after it process each field separately. Each line is one row, in the same position; a line with
    the wrong number of fields, such as a blank line, is a row without values.
    The schema consists of the header and, for each column, whether most of the entries that are present in the
    first lines of the files are numbers. A single line can change this vote only at a tie; the column is then
    accepted or refused as a whole, which only the data holder sees.
    """

    files: tuple[_CsvFile, ...]
    schema: pa.Schema
    verbatim: frozenset[str] = frozenset()
    """Text columns in which NA and similar texts are not missing: encoded columns, whose lists may have them."""

    def batches(self, names: Sequence[str], height: int) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """Yield the named columns of all files, one file after the other, with numbers as float64."""
        schema = pa.schema([self.schema.field(name) for name in names])
        for file in self.files:
            read = guarded(file.texts(names, file.lines()), unreadable_file_error(file.path), *READ_ERRORS)
            for batch in ahead(read):
                columns = [self._read(column, of) for column, of in zip(batch.columns, schema, strict=True)]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def by_file(self) -> Sequence[CsvScan]:
        """Return one scan per file."""
        return [replace(self, files=(file,)) for file in self.files]

    def _read(self, texts: pa.Array, of: pa.Field) -> pa.Array:
        if of.type == pa.float64():
            return _numbers(texts)
        return texts if of.name in self.verbatim else _present(texts)


@dataclass(frozen=True, repr=False, eq=False)
class _CsvFile:
    """One CSV file and the names of its columns."""

    path: str
    names: tuple[str, ...]
    header: bool

    def lines(self) -> Iterator[bytes]:
        """Yield the lines after the header, in pieces."""
        with open(self.path, "rb") as file:  # noqa: PTH123
            _skip_mark(file)
            if self.header:
                first_line(file)
            yield from pieces(file)

    def texts(self, names: Sequence[str], lines: Iterator[bytes]) -> Iterator[pa.RecordBatch]:
        """Yield the named columns of the given lines of this file, as text."""
        for piece in lines:
            yield _parsed(well_formed(piece, len(self.names)), self.names, names)


def scan_csv(paths: list[str], unit: str | None = None, *, header: bool | None = None) -> CsvScan:
    """Return a scan of CSV files. A column is numeric if most of its first entries are numbers; ids are text."""
    files = tuple(
        attempt(partial(_opened, path, header=header), unreadable_file_error(path), *READ_ERRORS) for path in paths
    )
    first = files[0]
    for file in files:
        if header is None:
            _refuse_other_separators(file.path, file.names)
            _refuse_values(file.path, file.names)
        _refuse_other_width(file)
    for file in files[1:]:
        _refuse_other_names(first, file)
    numeric = _numeric_columns(files)
    kinds = [
        pa.float64() if fine and name != unit else pa.string()
        for name, fine in zip(first.names, numeric, strict=True)
    ]
    return CsvScan(files, pa.schema(list(zip(first.names, kinds, strict=True))))


def as_text(scan: CsvScan, name: str) -> CsvScan:
    """Return the same scan with one column read as text."""
    return _with_type(scan, name, pa.string())


def read_as_encoded(scan: CsvScan, layout: Layout) -> CsvScan:
    """Return the same scan with encoded columns read as numbers or text, as declared and not by their values."""
    for name, encoding in layout.encode.items():
        numbers = isinstance(encoding, Categories) and encoding.all_numbers
        scan = _with_type(scan, name, pa.float64() if numbers else pa.string())
    return replace(scan, verbatim=frozenset(layout.encode))


def _with_type(scan: CsvScan, name: str, kind: pa.DataType) -> CsvScan:
    place = scan.schema.names.index(name)
    return replace(scan, schema=scan.schema.set(place, pa.field(name, kind)))


# -- schema ----------------------------------------------------------------------------------------


def _opened(path: str, *, header: bool | None) -> _CsvFile:
    """Return the file with the names of its columns; raise ValueError if the first line cannot be names."""
    with open(path, "rb") as file:  # noqa: PTH123
        _skip_mark(file)
        if header is False:
            width = _usual_width(pieces(file))
            if width is None:
                raise ValueError
            return _CsvFile(path, tuple(f"column_{j + 1}" for j in range(width)), header=False)
        line = first_line(file).decode()
    names = tuple(fields(line))
    if not names or line.count('"') % 2 or "\0" in line:
        raise ValueError
    return _CsvFile(path, names, header=True)


def _usual_width(lines: Iterator[bytes]) -> int | None:
    """Return the most frequent number of fields in the first lines; None unless it leads by at least two lines.

    So adding, removing or replacing a single line never changes one number of columns into another.
    """
    counts = np.bincount(np.concatenate([np.zeros(1, np.int64), *map(widths, _head(lines))]))
    counts[0] = 0
    ranked = np.sort(np.append(counts, [0, 0]))
    return int(counts.argmax()) if ranked[-1] - ranked[-2] >= 2 else None


def _head(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the first `_HEAD` lines."""
    left = _HEAD
    for piece in lines:
        yield b"".join(line + b"\n" for line in piece.split(b"\n", left)[: min(left, piece.count(b"\n"))])
        left -= piece.count(b"\n")
        if left <= 0:
            return


def _refuse_other_names(first: _CsvFile, other: _CsvFile) -> None:
    """Refuse a file with other columns; its own names may be a person's values, so they are not shown."""
    missing, more = set(first.names) - set(other.names), set(other.names) - set(first.names)
    if missing or more:
        raise UnreadableError(
            f"expected files with the same columns, but {other.path!r} lacks {sorted(missing)[:8]} of "
            f"{first.path!r} and has {len(more)} others.",
            hint="Write all files with one header, or pass only files that belong together.",
        )


def _refuse_other_separators(path: str, names: tuple[str, ...]) -> None:
    """Refuse a first line that names a separator, as Excel's `sep=;`, or names separated by other signs."""
    if re.fullmatch(r"sep=.?,?", ",".join(names)):
        raise InvalidInputError(
            f"expected names of columns in the first line of {path!r}, got a line for Excel, 'sep='.",
            hint="Delete that line from the file. Fields must be separated by commas.",
        )
    found = next((sign for sign in ";\t|" if len(names) == 1 and sign in names[0]), None)
    if found is not None:
        raise InvalidInputError(
            f"expected names separated by commas in the first line of {path!r}, got names separated by {found!r}.",
            hint="Write the file again with commas, and with points in decimals: from pathlib import Path; "
            f"Path('new.csv').write_bytes(Path({path!r}).read_bytes()"
            f".translate(bytes.maketrans({b',' + found.encode()!r}, b'.,')))",
        )


def _refuse_other_width(file: _CsvFile) -> None:
    """Refuse a first line with another number of fields than the lines after it have.

    The number of the lines is a vote with a lead of two (`_usual_width`). One line never turns it into another
    number. Where the lead is just two, one line decides whether there is a number to compare with, so whether the
    file is refused, which only the data holder sees; columns and rows are the same in either case.
    """
    width = len(file.names)
    failure = unreadable_file_error(file.path)
    usual = attempt(lambda: _usual_width(file.lines()), failure, *READ_ERRORS)
    if usual is None or usual == width:
        return
    hints = ["If the first line is a title or a comment, delete it."]
    if usual == width + 1:
        hints.append(
            "If the other lines begin with row names, as R writes them, put a comma before the first name; if "
            "they end with a comma, put a comma after the last name. Then choose the columns that have names: "
            "columns='?*', or --columns '?*'."
        )
    hints.append("For a file without names: eigenveil.CsvFiles(path, header=False), or --no-header.")
    raise InvalidInputError(
        f"expected as many names in the first line of {file.path!r} as fields in the lines after it, got {width} "
        f"and {usual}.",
        hint=" ".join(hints),
    )


def _refuse_values(path: str, names: tuple[str, ...]) -> None:
    values = sum(bool(_VALUE.match(name.strip())) or name.strip() in MISSING[1:] for name in names)
    if values:
        raise InvalidInputError(
            f"expected names of columns in the first line of {path!r}, but {values} of its {len(names)} fields "
            "could be values, so it looks like data. Names are published with a model.",
            hint="For a file without a header: eigenveil.CsvFiles(path, header=False), or --no-header. If these "
            "are names: header=True, or --header.",
        )


def _numeric_columns(files: Sequence[_CsvFile]) -> list[bool]:
    """Return for every column whether most entries that are present in the first lines are numbers."""
    names = files[0].names
    there, numbers = np.zeros(len(names)), np.zeros(len(names))
    for file in files:
        head = attempt(partial(_head_texts, file, names), unreadable_file_error(file.path), *READ_ERRORS)
        for batch in head:
            there += [len(column) - _present(column).null_count for column in batch.columns]
            numbers += [len(column) - _numbers(column).null_count for column in batch.columns]
    return [bool(fine) for fine in (2 * numbers > there) | (there == 0)]


def _head_texts(file: _CsvFile, names: Sequence[str]) -> list[pa.RecordBatch]:
    return list(file.texts(names, _head(file.lines())))


# -- values ----------------------------------------------------------------------------------------


def _skip_mark(file: BinaryIO) -> None:
    """Skip the byte order mark that some programs write at the start of UTF-8 files."""
    if file.read(len(_BOM)) != _BOM:
        file.seek(0)


def _parsed(lines: bytes, of: Sequence[str], names: Sequence[str]) -> pa.RecordBatch:
    """Return the named columns of well-formed lines, as text without quotes.

    Arrow drops one byte order mark at the start of what it reads. It is always ours, so that a mark at the start
    of a line is kept wherever the line is.
    """
    import pyarrow.csv as pc  # noqa: PLC0415  # heavy, and only for files

    place_of = {name: place for place, name in reversed(list(enumerate(of)))}  # the first of each name
    places = [str(place_of[name]) for name in names]
    table = pc.read_csv(
        pa.BufferReader(_BOM + lines),
        read_options=pc.ReadOptions(
            column_names=[str(place) for place in range(len(of))],
            block_size=len(_BOM) + len(lines) + 1,
            use_threads=False,
        ),
        parse_options=pc.ParseOptions(quote_char=False, double_quote=False, ignore_empty_lines=False),
        convert_options=pc.ConvertOptions(
            include_columns=places, column_types=dict.fromkeys(places, pa.string()), strings_can_be_null=False
        ),
    )
    columns = [column.combine_chunks() for column in table.columns]
    quoted = b'"' in lines
    return pa.RecordBatch.from_arrays(
        [_unquoted(column) if quoted else column for column in columns], names=[str(name) for name in names]
    )


def _unquoted(texts: pa.Array) -> pa.Array:
    """Remove the quotes around fields; a field that contains a quote begins and ends with one."""
    import pyarrow.compute as pc  # noqa: PLC0415

    inner = pc.replace_substring(pc.utf8_slice_codeunits(texts, 1, -1), '""', '"')
    plain = pc.if_else(pc.starts_with(texts, '"'), inner, texts)
    return pc.replace_substring(plain, INNER_COMMA.decode(), ",")


def _present(texts: pa.Array) -> pa.Array:
    """Return the texts, with null in place of texts that represent a missing entry."""
    import pyarrow.compute as pc  # noqa: PLC0415

    missing = pc.is_in(texts, value_set=pa.array(MISSING, pa.string()))
    return pc.if_else(missing, pa.scalar(None, pa.string()), texts)


def _numbers(texts: pa.Array) -> pa.Array:
    """Parse numbers from text; true becomes 1, false becomes 0, and text that is not a number becomes null."""
    import pyarrow.compute as pc  # noqa: PLC0415

    plain = pc.utf8_lower(pc.utf8_trim_whitespace(texts))
    for pattern, plainer in ((r"^\+", ""), ("^true$", "1"), ("^false$", "0")):
        plain = pc.replace_substring_regex(plain, pattern, plainer)
    fine = pc.match_substring_regex(plain, _NUMBER)
    return pc.if_else(fine, plain, pa.scalar(None, pa.string())).cast(pa.float64())
