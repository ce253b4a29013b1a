"""Hostile files of data, met by `open_source` and `DPPCA.fit`."""

import gzip
import os
import struct
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather

import eigenveil as ev
from eigenveil.errors import InvalidInputError, UnreadableError
from eigenveil.sources import open_source
from hostile.place import CANARY, ROWS, WORD, case

NAMES = ["a", "b", "c"]


def table(rows=ROWS):
    return pa.table({**dict(zip(NAMES, rows.T, strict=True)), "id": [f"{WORD} {i}" for i in range(len(rows))]})


def csv_text(rows=ROWS[:50]):
    return b"a,b,c\n" + b"".join(b",".join(b"%r" % float(one) for one in row) + b"\n" for row in rows)


def read(path, **how):
    blocks = [np.asarray(block.values) for block in open_source(path, **how).blocks()]
    return np.concatenate(blocks) if blocks else np.empty((0, 3))


# -- compressed text -------------------------------------------------------------------------------

BOMB = gzip.compress(b"a,b,c\n" + b"1,2,3\n" * 5_000_000, mtime=0)
"""30 MB in 30 kB: unpacked, it would grow by a factor of 1000."""


@case("read", "a compression bomb, .csv.gz", error=InvalidInputError, says="Unpack it first")
def _(place):
    (place.folder / "bomb.csv.gz").write_bytes(BOMB)
    read(place.folder / "bomb.csv.gz")


@case("read", "a compression bomb that is called .csv", error=UnreadableError, says="could not read")
def _(place):
    (place.folder / "bomb.csv").write_bytes(BOMB)
    read(place.folder / "bomb.csv")


@case("read", "a compression bomb given as CsvFiles", error=UnreadableError, says="could not read")
def _(place):
    (place.folder / "bomb.gz").write_bytes(BOMB)
    read(ev.CsvFiles(place.folder / "bomb.gz", header=False))


# -- CSV -------------------------------------------------------------------------------------------


@case("read", "a header of NUL", error=UnreadableError, says="could not read")
def _(place):
    (place.folder / "x.csv").write_bytes(b"a,\0,c\n1,2,3\n")
    read(place.folder / "x.csv")


@case("read", "a first line of values", error=InvalidInputError, says="2 of its 3 fields could be values")
def _(place):
    (place.folder / "x.csv").write_bytes(f"{WORD},{CANARY},12\n".encode() + csv_text())
    read(place.folder / "x.csv")


@case("read", "20,000 columns in one line", says="all of them, each with its value")
def _(place):
    wide = 20_000
    lines = [",".join(f"x{i}" for i in range(wide)), ",".join(map(str, range(wide)))]
    (place.folder / "x.csv").write_text("\n".join(lines))
    assert np.array_equal(read(place.folder / "x.csv"), [np.arange(wide)])


@case("read", "an empty path", error=UnreadableError, says="empty text")
def _(place):
    del place
    open_source("")


@case("read", "a pipe", error=UnreadableError, says="not a regular file")
def _(place):
    os.mkfifo(place.folder / "x.csv")
    open_source(place.folder / "x.csv")


@case("read", "a link to itself", error=UnreadableError, says="no file or folder")
def _(place):
    (place.folder / "x.csv").symlink_to(place.folder / "x.csv")
    open_source(place.folder / "x.csv")


@case("read", "a folder with a link to the same file", error=InvalidInputError, says="twice")
def _(place):
    (place.folder / "x.csv").write_bytes(csv_text())
    (place.folder / "y.csv").symlink_to(place.folder / "x.csv")
    open_source(place.folder)


@case("read", "a folder with a link to its parent", says="every file once")
def _(place):
    (place.folder / "in").mkdir()
    (place.folder / "in" / "x.csv").write_bytes(csv_text())
    (place.folder / "in" / "up").symlink_to(place.folder)
    assert len(read(place.folder / "in")) == 50


# -- Parquet and Feather ---------------------------------------------------------------------------


@case("read", "Parquet with a corrupt page, and a checksum of it", error=UnreadableError, says="could not read")
def _(place):
    path = place.folder / "x.parquet"
    pq.write_table(table(), path, compression="zstd", write_page_checksum=True)
    whole = bytearray(path.read_bytes())
    whole[200:400] = b"\xff" * 200
    path.write_bytes(whole)
    read(path, columns=NAMES)


@case("read", "Parquet with lying statistics", says="the values, which are all read")
def _(place):
    path = place.folder / "x.parquet"
    pq.write_table(table(), path, compression="none", use_dictionary=False)
    whole = path.read_bytes()
    largest = struct.pack("<d", ROWS[:, 0].max())
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    path.write_bytes(whole[:footer] + whole[footer:].replace(largest, struct.pack("<d", -1e300)))
    assert pq.read_metadata(path).row_group(0).column(0).statistics.max == -1e300
    assert np.array_equal(read(path, columns=NAMES), ROWS)


@case("read", "truncated Parquet", error=UnreadableError, says="could not read")
def _(place):
    path = place.folder / "x.parquet"
    pq.write_table(table(), path)
    path.write_bytes(path.read_bytes()[:-9])
    read(path, columns=NAMES)


@case("read", "Parquet of 67 million equal rows in a small file", says="read in blocks", slow=True)
def _(place):
    path = place.folder / "x.parquet"
    with pq.ParquetWriter(path, pa.schema([("a", pa.float64())]), compression="zstd") as writer:
        for _ in range(64):
            ones = pa.DictionaryArray.from_arrays(np.zeros(1 << 20, np.int32), pa.array([1.0]))
            writer.write_table(pa.table({"a": ones.dictionary_decode()}))
    assert path.stat().st_size < 2_000_000
    largest = 0
    for block in open_source(path).blocks():
        largest = max(largest, block.values.shape[0])
    assert largest * 8 < 64 << 20


@case("read", "Feather whose text points outside its buffer", error=UnreadableError, says="could not read")
def _(place):
    """It once ended the process: Arrow does not check offsets when it reads such files."""
    path = place.folder / "x.feather"
    feather.write_feather(pa.table({"id": ["p", "q"], "a": [1.0, 2.0]}), path, compression="uncompressed")
    whole = path.read_bytes()
    offsets = struct.pack("<iii", 0, 1, 2)
    assert whole.count(offsets) == 1
    path.write_bytes(whole.replace(offsets, struct.pack("<iii", 0, 1 << 30, 2)))
    read(path, columns=["a"], units="id")


@case("read", "Feather with a column name that is not UTF-8", error=UnreadableError, says="could not read")
def _(place):
    path = place.folder / "x.feather"
    feather.write_feather(pa.table({"name": [1.0, 2.0]}), path, compression="uncompressed")
    path.write_bytes(path.read_bytes().replace(b"name", b"na\xff\xfe"))
    read(path)


# -- arrays ----------------------------------------------------------------------------------------


def header(text):
    whole = text.encode() + b" " * (64 - (11 + len(text)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(whole)) + whole


def of_shape(shape, kind="<f8"):
    return header(f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}")


def npz(path, content, member="arr_0.npy"):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, content)
    return path


@case("read", "an archive that states 16 TB", error=UnreadableError, says="do not fit in memory")
def _(place):
    read(npz(place.folder / "x.npz", of_shape("(1000000000000, 2)") + bytes(16)))


@case("read", "an archive that states 10^18 columns", error=UnreadableError, says="do not fit in memory")
def _(place):
    read(npz(place.folder / "x.npz", of_shape(f"(2, {10**18})") + bytes(16)))


@case("read", "an archive that states more rows than it has", error=UnreadableError, says="could not read")
def _(place):
    read(npz(place.folder / "x.npz", of_shape("(100, 2)") + bytes(16)))


@case("read", "a file that states more rows than it has", error=UnreadableError, says="could not read")
def _(place):
    (place.folder / "x.npy").write_bytes(of_shape("(1000000000000, 2)") + bytes(16))
    read(place.folder / "x.npy")


@case("read", "a file that states 10^25 columns", error=UnreadableError, says="could not read")
def _(place):
    (place.folder / "x.npy").write_bytes(of_shape(f"(2, {10**25})") + bytes(16))
    read(place.folder / "x.npy")


@case("read", "objects that run a command when unpickled", error=UnreadableError, says="contains objects")
def _(place):
    pickled = b"cos\nsystem\n(S'touch EXECUTED'\ntR."
    read(npz(place.folder / "x.npz", of_shape("(1, 2)", "|O") + pickled))


@case("read", "a header that is a call", error=UnreadableError, says="could not read")
def _(place):
    (place.folder / "x.npy").write_bytes(header("__import__('os').system('touch EXECUTED')") + bytes(16))
    read(place.folder / "x.npy")


@case("read", "an archive with a member ../../evil.npy", says="its values; nothing is unpacked to a file")
def _(place):
    path = npz(place.folder / "x.npz", of_shape("(5, 2)") + bytes(80), member="../../outside/evil.npy")
    assert read(path).shape == (5, 2)


@case("read", "an archive of a sparse matrix of negative width", error=InvalidInputError, says="2^31")
def _(place):
    parts = {"indices": [0, 1, 0], "indptr": [0, 1, 2, 3], "shape": [3, -2], "data": np.ones(3)}
    np.savez(place.folder / "x.npz", format=np.array(b"csr"), **parts)
    read(place.folder / "x.npz")


@case("read", "an archive of a sparse matrix whose rows overlap", error=InvalidInputError, says="indptr")
def _(place):
    parts = {"indices": [0, 1, 0], "indptr": [0, 3, 2, 3], "shape": [3, 2], "data": np.ones(3)}
    np.savez(place.folder / "x.npz", format=np.array(b"csr"), **parts)
    read(place.folder / "x.npz")
