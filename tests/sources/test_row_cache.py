"""Files are decoded once if their rows fit in memory, else in every pass; text is parsed once in any case."""

import pickle
import tempfile
from collections.abc import Iterator
from dataclasses import replace

import duckdb
import numpy as np
import pandas as pd
import pytest

from eigenveil import DPPCA
from eigenveil.engines import LocalEngine
from eigenveil.errors import InvalidInputError
from eigenveil.estimators.progress.watch import CountedSource
from eigenveil.operators import samples
from eigenveil.sources import open_source
from eigenveil.sources.files import csv_files, free_memory, scans
from eigenveil.sources.files.row_cache import Keeper, KeptSource, kept, memory_for_blocks
from eigenveil.sources.files.spool import Spool
from eigenveil.sources.people import on_disk
from eigenveil.sources.source import Block

ROWS = np.random.default_rng(0).normal(size=(600, 3))


class Read:
    """A partition that counts how often it is read."""

    def __init__(self, blocks: int = 3) -> None:
        self.times, self._blocks = 0, blocks

    def blocks(self) -> Iterator[Block]:
        self.times += 1
        yield from (Block(np.full((2, 2), float(i))) for i in range(self._blocks))


def values(blocks: Iterator[Block]) -> list[float]:
    return [float(block.values[0, 0]) for block in blocks]


def test_partitions_that_fit_are_read_once() -> None:
    keeper, read = Keeper(3 * 32), Read()
    assert [values(keeper.blocks(0, read)) for _ in range(3)] == [[0.0, 1.0, 2.0]] * 3
    assert read.times == 1


@pytest.mark.parametrize("limit", [3 * 32, 0])
def test_a_look_at_the_first_block_is_the_start_of_the_first_pass(limit) -> None:
    keeper, read = Keeper(limit), Read()
    assert keeper.first(0, read) is keeper.first(0, read)
    assert [values(keeper.blocks(0, read)) for _ in range(2)] == [[0.0, 1.0, 2.0]] * 2
    assert read.times == (1 if limit else 2)
    assert keeper.first(1, Read(0)) is None


def test_a_partition_that_does_not_fit_is_read_every_time_and_leaves_memory_for_others() -> None:
    keeper, large, small = Keeper(3 * 32 - 1), Read(), Read(2)
    for _ in range(2):
        assert values(keeper.blocks(0, large)) == [0.0, 1.0, 2.0]
        assert values(keeper.blocks(1, small)) == [0.0, 1.0]
    assert (large.times, small.times) == (2, 1)
    late = Read(1)
    for _ in range(2):
        list(keeper.blocks(2, late))
    assert late.times == 2, "the room has been used up"


def test_an_interrupted_pass_keeps_nothing() -> None:
    keeper, read = Keeper(1000), Read()
    next(keeper.blocks(0, read))
    assert values(keeper.blocks(0, read)) == [0.0, 1.0, 2.0]
    assert read.times == 2


def test_a_pickled_copy_contains_no_rows() -> None:
    keeper = Keeper(1000)
    list(keeper.blocks(0, Read()))
    there, read = pickle.loads(pickle.dumps(keeper)), Read()  # noqa: S301
    list(there.blocks(0, read))
    assert read.times == 1


@pytest.fixture
def decoded(monkeypatch):
    """List with one entry per Parquet file that has been decoded."""
    seen = []
    real = scans._parquet_batches
    monkeypatch.setattr(scans, "_parquet_batches", lambda *given: seen.append(given[0]) or real(*given))
    return seen


@pytest.mark.parametrize("people", [False, True])
@pytest.mark.parametrize(("memory", "few"), [(None, True), (0, False)])
def test_a_fit_decodes_a_file_once_where_memory_allows(tmp_path, decoded, memory, few, people) -> None:
    frame = pd.DataFrame(ROWS, columns=["a", "b", "c"]).assign(who=np.arange(600) // 3)
    path = tmp_path / "rows.parquet"
    (frame if people else frame.drop(columns="who")).to_parquet(path)
    options = {"epsilon": 9.0, "random_state": 0, "engine": LocalEngine(memory=memory)}
    pca = DPPCA(1, **options).fit(path, units="who" if people else None)
    passes = pca.release_.diagnostics["passes"]
    assert len(decoded) == (1 + people if few else passes + people)  # people are sorted into a file first
    inside = DPPCA(1, epsilon=9.0, random_state=0).fit(ROWS, units=frame["who"] if people else None)
    assert np.array_equal(pca.components_, inside.components_)


def test_only_files_are_kept_and_wrappers_stay_outside(tmp_path) -> None:
    path = tmp_path / "rows.csv"
    pd.DataFrame(ROWS, columns=["a", "b", "c"]).to_csv(path, index=False)
    inside, outside = open_source(ROWS), open_source(path)
    assert kept(inside, 100) is inside
    wrapped = kept(CountedSource(outside, None), 100)
    assert isinstance(wrapped, CountedSource)
    assert isinstance(wrapped.source, KeptSource)
    spiked = samples.spiked(np.eye(3, 1), [2.0], ROWS)
    assert LocalEngine().keeping(spiked) is spiked
    rows = LocalEngine(memory=0).keeping(replace(samples.rows(path)))
    assert np.array_equal(np.concatenate([np.asarray(block.values) for block in rows.source.blocks()]), ROWS)


def test_the_memory_is_a_quarter_of_what_system_and_container_leave(monkeypatch, tmp_path) -> None:
    assert memory_for_blocks() > 0
    written = {"meminfo": "MemFree: 1 kB\nMemAvailable:  4096 kB\n", "max": "1000000\n", "current": "200000\n"}
    for name, text in written.items():
        (tmp_path / name).write_text(text)
    assert free_memory._number_after("MemAvailable:", tmp_path / "meminfo") == 4096
    assert free_memory._number_after("", tmp_path / "max") == 1_000_000
    (tmp_path / "max").write_text("max\n")
    assert free_memory._number_after("", tmp_path / "max") is None
    assert free_memory._number_after("", tmp_path / "nothing") is None
    monkeypatch.setattr(free_memory, "_available_here", lambda: iter([4000]))
    monkeypatch.setattr(free_memory, "_limits", lambda: iter([2000]))
    assert memory_for_blocks() == 500


def test_two_concurrent_passes_do_not_use_the_same_memory() -> None:
    keeper, one, other = Keeper(3 * 32), Read(), Read()
    for _ in zip(keeper.blocks(0, one), keeper.blocks(1, other), strict=True):
        pass
    for _ in range(2):
        assert values(keeper.blocks(0, one)) == values(keeper.blocks(1, other)) == [0.0, 1.0, 2.0]
    assert sorted((one.times, other.times)) == [1, 3], "one is kept"


@pytest.mark.parametrize("memory", [-1, 1.5, "1GB", True])
def test_memory_is_a_number_of_bytes(memory) -> None:
    with pytest.raises(InvalidInputError, match="memory must be a whole number"):
        LocalEngine(memory=memory)


# -- text that does not fit ----------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def scratch(monkeypatch, tmp_path):
    """An empty folder for temporary files."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def parsed(monkeypatch):
    """List with one entry per CSV file that has been parsed; reading the head for the schema is not counted."""
    seen = []
    real = csv_files.CsvScan.batches
    monkeypatch.setattr(csv_files.CsvScan, "batches", lambda *given: seen.append(1) or real(*given))
    return seen


def csv(path, rows=ROWS):
    pd.DataFrame(rows, columns=["a", "b", "c"]).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("limit", [0, 2 * 32, 3 * 32 - 1])
def test_spooled_partitions_are_read_once_for_any_limit(scratch, limit) -> None:
    keeper, read = Keeper(limit, spools=True), Read()
    assert [values(keeper.blocks(0, read)) for _ in range(3)] == [[0.0, 1.0, 2.0]] * 3
    assert read.times == 1
    del keeper
    assert list(scratch.iterdir()) == []


def test_two_concurrent_spooled_passes_lose_nothing() -> None:
    keeper, one, other = Keeper(3 * 32, spools=True), Read(), Read()
    for _ in zip(keeper.blocks(0, one), keeper.blocks(1, other), strict=True):
        pass
    for _ in range(2):
        assert values(keeper.blocks(0, one)) == values(keeper.blocks(1, other)) == [0.0, 1.0, 2.0]
    assert (one.times, other.times) == (1, 1)


def test_an_interrupted_pass_leaves_no_file(scratch) -> None:
    keeper, read = Keeper(0, spools=True), Read()
    running = keeper.blocks(0, read)
    next(running)
    assert list(scratch.iterdir())
    running.close()
    assert list(scratch.iterdir()) == []
    assert values(keeper.blocks(0, read)) == values(keeper.blocks(0, read)) == [0.0, 1.0, 2.0]
    assert read.times == 2


def test_partitions_that_fit_need_no_file(scratch) -> None:
    keeper = Keeper(1000, spools=True)
    for _ in keeper.blocks(0, Read()):
        assert list(scratch.iterdir()) == []


def test_a_full_disk_is_no_error(scratch, monkeypatch) -> None:
    real, calls = Spool.write, []

    def full(self, blocks) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        real(self, blocks)

    monkeypatch.setattr(Spool, "write", full)
    keeper, read = Keeper(0, spools=True), Read()
    assert [values(keeper.blocks(0, read)) for _ in range(3)] == [[0.0, 1.0, 2.0]] * 3
    assert read.times == 3
    assert list(scratch.iterdir()) == []


def test_a_pickled_copy_spools_and_contains_no_file() -> None:
    keeper = Keeper(0, spools=True)
    list(keeper.blocks(0, Read()))
    there, read = pickle.loads(pickle.dumps(keeper)), Read()  # noqa: S301
    for _ in range(2):
        list(there.blocks(0, read))
    assert read.times == 1


@pytest.mark.parametrize("memory", [None, 0, 5000])
def test_a_fit_parses_text_once_whatever_memory_allows(tmp_path, scratch, parsed, memory) -> None:
    pca = DPPCA(1, epsilon=9.0, random_state=0, engine=LocalEngine(memory=memory)).fit(csv(tmp_path / "a.csv"))
    assert len(parsed) == 1
    assert np.array_equal(pca.components_, DPPCA(1, epsilon=9.0, random_state=0).fit(ROWS).components_)
    del pca
    assert list(scratch.iterdir()) == []


def test_later_passes_have_the_rows_of_the_first(tmp_path) -> None:
    source = kept(open_source(csv(tmp_path / "a.csv")), 0)
    first = [np.asarray(block.values) for block in source.blocks()]
    csv(tmp_path / "a.csv", ROWS[::-1] + 1)
    for again, once in zip(source.blocks(), first, strict=True):
        assert np.array_equal(again.values, once)


# -- people --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("memory", "megabytes"), [(0, 256), (100 << 20, 256), (3 << 30, 3 << 10)])
def test_people_are_sorted_in_the_memory_that_a_fit_may_take(tmp_path, monkeypatch, memory, megabytes) -> None:
    seen, real = [], duckdb.connect
    monkeypatch.setattr(duckdb, "connect", lambda **how: seen.append(how["config"]["memory_limit"]) or real(**how))
    path = tmp_path / "people.parquet"
    pd.DataFrame(ROWS, columns=["a", "b", "c"]).assign(who=np.arange(600) % 200).to_parquet(path)
    DPPCA(1, epsilon=9.0, random_state=0, engine=LocalEngine(memory=memory)).fit(path, units="who")
    assert seen == [f"{megabytes}MiB"]


def test_the_error_of_a_sort_without_enough_memory_names_the_option(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(on_disk, "_LEAST_MEGABYTES", 1)
    monkeypatch.setattr(on_disk, "_VECTORS", 0)
    path = tmp_path / "people.parquet"
    rows = np.random.default_rng(0).normal(size=(60_000, 20))
    pd.DataFrame(rows).rename(columns=str).assign(who=np.arange(60_000) % 2_000).to_parquet(path)
    with pytest.raises(InvalidInputError, match="within 1 MB") as refusal:
        list(kept(open_source(path, units="who"), 0).blocks())
    assert "--memory" in refusal.value.hint
    assert refusal.value.__context__ is None


def test_a_kept_source_is_not_kept_twice(tmp_path) -> None:
    source = kept(open_source(csv(tmp_path / "a.csv")), 100)
    assert kept(source, 5) is source
    outside = kept(CountedSource(source, None), 5)
    assert isinstance(outside, CountedSource)
    assert outside.source is source
