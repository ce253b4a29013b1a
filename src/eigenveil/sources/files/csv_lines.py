"""From the bytes of a CSV file to lines that all have the same number of fields, each line by itself.

A line is what stands between two newlines, whatever it holds. A quoted field cannot go on in the next line. So
quotes, delimiters, NUL, bytes that are not UTF-8 and very long lines change nothing but their own line: a line
that cannot be split into the right number of fields becomes a line of empty fields, in the same place.
"""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Callable, Iterator
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

LONGEST_LINE = 64 << 20
"""Bytes. A longer line is never held in memory; it becomes a line of empty fields."""

PIECE = 4 << 20
"""Bytes that are read at a time; at most `LONGEST_LINE`, so that only a line that spans pieces can be too long."""

INNER_COMMA = b"\x1f"
"""Stands for a comma inside quotes. Where it stands in the data it becomes a space first."""

_NEWLINE, _QUOTE, _COMMA = b'\n",'
_BROKEN_BYTES = {0xDC00 + byte: 0xF700 + byte for byte in range(128, 256)}
"""Python's stand-ins for bytes that are not UTF-8, which Arrow refuses, to characters for private use."""


def pieces(file: BinaryIO) -> Iterator[bytes]:
    """The file from where it stands, in pieces of whole lines that each end with a newline."""
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
    """The first line that is not blank, without its newline; the file then stands behind it."""
    while line := file.readline(LONGEST_LINE):
        if line.strip():
            return line.rstrip(b"\r\n")
    return b""


def fields(line: str) -> list[str]:
    """The fields of one line. A quote is special only where a field begins.

    Examples
    --------
    >>> fields('1,"a, b",6" pipe')
    ['1', 'a, b', '6" pipe']
    """
    with contextlib.suppress(csv.Error):
        return next(csv.reader([line]), [])
    return []


def well_formed(lines: bytes, width: int) -> bytes:
    r"""The same lines, each with `width` fields, commas inside quotes replaced by `INNER_COMMA`.

    Parameters
    ----------
    lines : bytes
        Whole lines, the last of which ends with a newline.
    width : int
        The number of fields.

    Returns
    -------
    bytes
        As many lines, UTF-8. A field with quotes begins and ends with one, and has others in pairs only. What a
        line becomes depends on that line alone.

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
    """The number of fields in every line; 0 for lines that no number of fields fits."""
    texts = _plain_characters(lines).decode().split("\n")[:-1]
    return np.array([len(fields(text)) for text in texts], dtype=np.int64)


def _plain_characters(lines: bytes) -> bytes:
    """Valid UTF-8; lines end with a newline only, and neither a carriage return nor `INNER_COMMA` is left."""
    if b"\r" in lines:
        lines = lines.replace(b"\r\n", b"\n").replace(b"\r", b" ")
    if INNER_COMMA in lines:
        lines = lines.replace(INNER_COMMA, b" ")
    try:
        lines.decode()
    except UnicodeDecodeError:
        return lines.decode("utf-8", "surrogateescape").translate(_BROKEN_BYTES).encode()
    return lines


def _ends(text: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    return np.flatnonzero(text == _NEWLINE).astype(np.int64)


def _irregular(lines: bytes) -> npt.NDArray[np.int64]:
    """Numbers of the lines with a quote that neither opens nor closes a field nor is one of a pair."""
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
    """A line with every quote in its place, or the empty one."""
    found = fields(line.decode())
    if len(found) != width:
        return empty
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(found)
    return out.getvalue().encode()


def _inner_commas(lines: bytes) -> bytes:
    """Commas inside quotes replaced; every line has an even number of quotes, so none reaches into the next."""
    text = np.frombuffer(lines, dtype=np.uint8).copy()
    inside = np.bitwise_xor.accumulate(text == _QUOTE)
    text[inside & (text == _COMMA)] = INNER_COMMA[0]
    return text.tobytes()


def _of_other_width(lines: bytes, width: int) -> npt.NDArray[np.int64]:
    """Numbers of the lines that do not have `width` fields."""
    text = np.frombuffer(lines, dtype=np.uint8)
    before = np.searchsorted(np.flatnonzero(text == _COMMA), _ends(text))
    return np.flatnonzero(np.diff(before, prepend=0) != width - 1)


def _replaced(lines: bytes, numbers: npt.NDArray[np.int64], by: Callable[[bytes], bytes]) -> bytes:
    """The lines, those of the given numbers replaced one by one."""
    if not numbers.size:
        return lines
    ends = _ends(np.frombuffer(lines, dtype=np.uint8)) + 1
    starts = np.concatenate([[0], ends[:-1]])
    out, done = [], 0
    for start, end in zip(starts[numbers].tolist(), ends[numbers].tolist(), strict=True):
        out += [lines[done:start], by(lines[start : end - 1])]
        done = end
    return b"".join([*out, lines[done:]])
