"""Conversion of the bytes of a CSV file to lines with the same number of fields, each line separately.

A line is the text between two newlines, whatever it contains. A quoted field cannot continue in the next line. So
quotes, delimiters, NUL, bytes that are not UTF-8 and very long lines affect only their own line. A line that
cannot be split into the right number of fields becomes a line of empty fields, in the same position.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
from collections.abc import Callable, Iterator
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

LONGEST_LINE = 64 << 20
"""Maximum length of a line in bytes. A longer line is never held in memory; it becomes a line of empty fields."""

PIECE = 4 << 20
"""Bytes read at a time; at most `LONGEST_LINE`, so that only a line that spans pieces can be too long."""

INNER_COMMA = b"\x1f"
"""Represents a comma inside quotes. If this byte occurs in the data, it is first replaced by a space."""

_NEWLINE, _QUOTE, _COMMA = b'\n",'
_BROKEN = "eigenveil-broken-bytes"


def _as_private_use(error: UnicodeError) -> tuple[str, int]:
    """Return private-use characters for bytes that are not UTF-8; Arrow refuses Python's own surrogates."""
    assert isinstance(error, UnicodeDecodeError), "registered for decoding only"
    return "".join(chr(0xF700 + byte) for byte in error.object[error.start : error.end]), error.end


codecs.register_error(_BROKEN, _as_private_use)


def pieces(file: BinaryIO) -> Iterator[bytes]:
    """Yield the rest of the file in pieces of whole lines; each piece ends with a newline."""
    held: list[bytes] = []
    size = 0
    while piece := file.read(PIECE):
        end = piece.rfind(b"\n") + 1
        if end:
            first = piece.index(b"\n")
            yield (b"" if size + first > LONGEST_LINE else b"".join([*held, piece[:first]])) + piece[first:end]
            held, size = [], 0
        rest = piece[end:]
        size += len(rest)
        held = [*held, rest] if size <= LONGEST_LINE else []
    if size:
        yield b"".join([*held, b"\n"])


def first_line(file: BinaryIO) -> bytes:
    """Read the first line that is not blank, and return it without its newline."""
    while line := file.readline(LONGEST_LINE):
        if line.strip():
            return line.rstrip(b"\r\n")
    return b""


def fields(line: str) -> list[str]:
    """Split one line into its fields. A quote is special only at the start of a field.

    Examples
    --------
    >>> fields('1,"a, b",6" pipe')
    ['1', 'a, b', '6" pipe']
    """
    with contextlib.suppress(csv.Error):
        return next(csv.reader([line]), [])
    return []


def well_formed(lines: bytes, width: int) -> bytes:
    r"""Return the same lines, each with `width` fields, and with `INNER_COMMA` for commas inside quotes.

    Parameters
    ----------
    lines : bytes
        Whole lines; the last line ends with a newline.
    width : int
        The number of fields.

    Returns
    -------
    bytes
        The same number of lines, in UTF-8. A field with quotes begins and ends with a quote, and contains other
        quotes only in pairs. Each line of the result depends on the same line of the input alone.

    Examples
    --------
    >>> well_formed(b'1,2\n"oops,2\n"a,b",2\n1,2,3\n', 2)
    b'1,2\n,\n"a\x1fb",2\n,\n'
    """
    lines = _plain_characters(lines)
    empty = b"," * (width - 1) + b"\n"
    if b'"' in lines:
        lines = _replaced(lines, _irregular(lines), lambda line: _regular(line, width, empty))
        lines = _inner_commas(lines)
    return _replaced(lines, _of_other_width(lines, width), lambda _: empty)


def widths(lines: bytes) -> npt.NDArray[np.int64]:
    """Return the number of fields of every line; 0 for lines that cannot be split into fields."""
    texts = _plain_characters(lines).decode().split("\n")[:-1]
    return np.array([_width(text) for text in texts], dtype=np.int64)


def _width(line: str) -> int:
    return len(fields(line)) if '"' in line or not line else line.count(",") + 1


def _plain_characters(lines: bytes) -> bytes:
    """Convert lines to valid UTF-8 that end with a newline only, without carriage returns and `INNER_COMMA`."""
    if b"\r" in lines:
        lines = lines.replace(b"\r\n", b"\n").replace(b"\r", b" ")
    if INNER_COMMA in lines:
        lines = lines.replace(INNER_COMMA, b" ")
    return lines.decode("utf-8", _BROKEN).encode()


def _ends(text: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    return np.flatnonzero(text == _NEWLINE).astype(np.int64)


def _irregular(lines: bytes) -> npt.NDArray[np.int64]:
    """Return the numbers of lines with a quote that does not open or close a field and is not one of a pair."""
    text = np.frombuffer(lines, dtype=np.uint8)
    ends = _ends(text)
    quotes = np.flatnonzero(text == _QUOTE)
    line = np.searchsorted(ends, quotes)
    counts = np.bincount(line, minlength=ends.size)
    first = np.cumsum(counts) - counts
    opens = (np.arange(quotes.size) - first[line]) % 2 == 0
    neighbour = np.where(opens, np.where(quotes == 0, _NEWLINE, text[quotes - 1]), text[quotes + 1])
    fine = (neighbour == _COMMA) | (neighbour == _NEWLINE) | (neighbour == _QUOTE)
    odd = counts % 2 == 1
    odd[line[~fine]] = True
    return np.flatnonzero(odd)


def _regular(line: bytes, width: int, empty: bytes) -> bytes:
    """Return the line with all quotes in regular positions, or the empty line."""
    found = fields(line.decode())
    if len(found) != width:
        return empty
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(found)
    return out.getvalue().encode()


def _inner_commas(lines: bytes) -> bytes:
    """Replace commas inside quotes.

    Every line has an even number of quotes, so no quoted text extends into the next line.
    """
    text = np.frombuffer(lines, dtype=np.uint8).copy()
    inside = np.bitwise_xor.accumulate(text == _QUOTE)
    text[inside & (text == _COMMA)] = INNER_COMMA[0]
    return text.tobytes()


def _of_other_width(lines: bytes, width: int) -> npt.NDArray[np.int64]:
    """Return the numbers of the lines that do not have `width` fields."""
    text = np.frombuffer(lines, dtype=np.uint8)
    before = np.searchsorted(np.flatnonzero(text == _COMMA), _ends(text))
    return np.flatnonzero(np.diff(before, prepend=0) != width - 1)


def _replaced(lines: bytes, numbers: npt.NDArray[np.int64], by: Callable[[bytes], bytes]) -> bytes:
    """Return the lines, with those of the given numbers replaced one by one."""
    if not numbers.size:
        return lines
    ends = _ends(np.frombuffer(lines, dtype=np.uint8)) + 1
    starts = np.concatenate([[0], ends[:-1]])
    out, done = [], 0
    for start, end in zip(starts[numbers].tolist(), ends[numbers].tolist(), strict=True):
        out += [lines[done:start], by(lines[start : end - 1])]
        done = end
    return b"".join([*out, lines[done:]])
