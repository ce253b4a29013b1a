"""A full disk: a clear error and no half-written file; a fit whose ledger cannot be written draws no noise."""

import os
import shutil
import subprocess
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest

import eigenveil as ev
from eigenveil.algorithms.stream.tracked_stream import TrackedStream
from eigenveil.engines import LocalEngine
from eigenveil.errors import InvalidInputError, UnreadableError
from faults import ledgers, work

PAGE = 4096
FULL = "No space left on device"


class Disk:
    """A file system of 256 kB in memory."""

    def __init__(self, folder):
        self.folder = folder

    def fill(self, free):
        """Leave room for `free` bytes."""
        about = os.statvfs(self.folder)
        with (self.folder / "filler").open("ab") as file:
            file.write(bytes(max(0, about.f_bavail * about.f_frsize - free)))

    def empty(self):
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.fixture(scope="module")
def mounted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("disk")
    mount = shutil.which("mount")
    command = [mount, "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:  # noqa: S603
        pytest.skip("a small tmpfs cannot be mounted here (needs root)")
    yield Disk(folder)
    subprocess.run([shutil.which("umount"), str(folder)], check=True)  # noqa: S603


@pytest.fixture
def disk(mounted):
    mounted.empty()
    return mounted


def fit(server, data, folder, *flags):
    line = ["fit", str(data / "rows.parquet"), "--algorithm", "dp-gauss-1", *map(str, flags)]
    found = server("command", folder, line=line)
    assert "Traceback" not in found.err
    return found


def failed(found):
    assert found.status == 1
    assert FULL in found.err
    assert "Hint: Check the free space" in found.err
    return True


def names(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != "filler")


@pytest.mark.parametrize("pages", [0, 1])
def test_a_new_ledger_file(server, data, disk, tmp_path, *, pages, tried):
    disk.fill(pages * PAGE)
    found = fit(server, data, tmp_path, "--json", "--ledger", disk.folder / "budget.json")
    assert failed(found)
    assert (found.granted, found.drawn, found.out) == ([], 0, "")
    assert not ledgers.charged(ledgers.read(disk.folder / "budget.json"))
    tried(f"disk full, room for {pages} pages: a new ledger file", 1, "exit 1, no noise, nothing charged")


def test_a_ledger_file_that_grows(server, data, disk, tmp_path, tried):
    """The fit ends where the next charge cannot be written: noise was granted for what the file shows, no more."""
    book = disk.folder / "budget.json"
    assert fit(server, data, tmp_path, "--json", "--ledger", book, "--cap-epsilon", 5).status == 0
    kept = book.read_bytes()
    disk.fill(2 * PAGE)  # a new version fits beside the old one, until it has three pages
    granted, ends = [], []
    while not ends or not ends[-1]:
        found = fit(server, data, tmp_path, "--json", "--ledger", book)
        granted += found.granted
        ends.append(found.status)
        assert ledgers.charged(ledgers.check(book, granted)).total() >= len(granted)
    assert failed(found)
    assert book.read_bytes().startswith(kept[:20])
    assert names(disk.folder) == [".budget.json.lock", "budget.json"]
    (disk.folder / "filler").unlink()
    assert fit(server, data, tmp_path, "--json", "--ledger", book).status == 0, "goes on when there is space"
    tried(
        "disk full while a ledger file grows",
        len(ends),
        "exit 1, the file is whole, no noise without a written charge; goes on when there is space",
    )


@pytest.mark.parametrize("pages", [0, 1, 8])
def test_a_model_and_a_report(server, data, disk, tmp_path, *, pages, tried):
    flags = ["--out", disk.folder / "model", "--report", disk.folder / "report.html", "--force"]
    ev.save(work.FITTED[1], disk.folder / "model")
    disk.fill(pages * PAGE)
    found = fit(server, data, tmp_path, *flags)
    assert failed(found)
    assert "The fit is complete, but not all of its results were written. Count its budget as spent." in found.err
    assert ev.load(disk.folder / "model").random_state == (1 if pages < 8 else None)
    assert names(disk.folder) == ["model"]
    what = "exit 1, the budget counts as spent, each file is the old or the new one"
    tried(f"disk full, room for {pages} pages: model and report of a fit", 1, what)


def test_a_report_is_kept(disk, tried):
    path = disk.folder / "report.html"
    ev.report.write_report(work.FITTED[1], path)
    old = path.read_text()
    disk.fill(2 * PAGE)
    with pytest.raises(InvalidInputError, match=rf"report.html' could not be written: {FULL}"):
        ev.report.write_report(work.FITTED[1], path)
    assert path.read_text() == old
    assert names(disk.folder) == ["report.html"]
    tried("disk full while a report is replaced", 1, "a clear error, the old report is whole")


def test_a_saved_model(disk, tried):
    ev.save(work.FITTED[1], disk.folder / "model")
    disk.fill(PAGE)
    for name in ("model", "other"):
        with pytest.raises(InvalidInputError, match=rf"{name}' could not be written: {FULL}"):
            ev.save(work.FITTED[2], disk.folder / name)
    assert ev.load(disk.folder / "model").random_state == 1
    assert names(disk.folder) == ["model"]
    tried("disk full during `save`", 2, "a clear error, the old model is whole, no new one is begun")


@pytest.mark.filterwarnings("ignore:batches of 400 slots")
@pytest.mark.parametrize("pages", [0, 1])
def test_a_checkpoint(disk, pages, tried):
    """A batch that cannot be recorded is not charged. After a restart, the last good files are continued."""
    path = disk.folder / "checkpoint"
    stream = TrackedStream(1, epsilon=1.0, delta=1e-6, batch_size=400)
    rows = np.random.default_rng(0).normal(size=(800, 3))
    stream.add(rows[:300])
    stream.save(path)
    disk.fill(pages * PAGE)

    def close_and_save():
        stream.add(rows[300:700])
        stream.save(path)

    with pytest.raises(InvalidInputError, match=f"checkpoint.* could not be written: {FULL}"):
        close_and_save()
    assert (stream.ledger.mu == 0) == (pages == 0)
    (disk.folder / "filler").unlink()
    again = TrackedStream.load(path)
    assert (again.arrivals, again.batches) == ((300, 0) if pages == 0 else (400, 1))
    again.add(rows[again.arrivals :])
    assert again.batches == 2
    what = "a batch that cannot be recorded is not charged; the last good files go on"
    tried(f"disk full, room for {pages} pages: checkpoint of a stream", 1, what)


@pytest.mark.parametrize("units", [None, "id"])
def test_temporary_files(disk, tmp_path, monkeypatch, units, tried):
    """A text file is then parsed in every pass; people cannot be sorted without space."""
    rows = np.random.default_rng(0).normal(size=(4000, 10))
    table = pa.table({"id": np.arange(4000) // 2, **{f"x{i}": column for i, column in enumerate(rows.T)}})
    pc.write_csv(table, tmp_path / "rows.csv")
    monkeypatch.setenv("TMPDIR", str(disk.folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    disk.fill(PAGE)
    model = ev.DPPCA(1, algorithm="dp-gauss-1", engine=LocalEngine(memory=0), columns=["x*"], random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if units is None:
            model.fit(str(tmp_path / "rows.csv"))
            plain = ev.DPPCA(1, algorithm="dp-gauss-1", columns=["x*"], random_state=0).fit(table)
            np.testing.assert_array_equal(model.components_, plain.components_)
        else:
            with pytest.raises(InvalidInputError, match=r"Check the free space in .* \(TMPDIR\)"):
                model.fit(str(tmp_path / "rows.csv"), units=units)
    del model
    assert not [name for name in names(disk.folder) if not name.startswith("eigenveil-")]
    tried(f"no room for temporary files, units {units}", 1, "the same release, or a clear error; nothing is left")


def test_a_stream_of_arrow_batches(disk, monkeypatch, tried):
    monkeypatch.setenv("TMPDIR", str(disk.folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    disk.fill(PAGE)
    table = pa.table({"x": np.random.default_rng(0).normal(size=20_000)})
    with pytest.raises(UnreadableError, match="TMPDIR"):
        ev.DPPCA(1).fit(table.to_reader())
    tried("no room for an Arrow reader's rows", 1, "a clear error")
