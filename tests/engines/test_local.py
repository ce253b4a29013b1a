"""The local engine reads every chunk once, in bounded memory, and does not hang after a failure."""

import threading
import time
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from eigenveil.engines import FullPlan, LocalEngine, PoissonPlan
from eigenveil.engines.query import Chunk, SlotsQuery
from eigenveil.operators import samples
from eigenveil.sources import Block, source


@dataclass
class Numbered:
    """A partition with blocks of one row, which contains the number of the block; counts the blocks read."""

    numbers: range
    read: list

    def blocks(self):
        for number in self.numbers:
            self.read.append(number)
            yield Block(np.array([[float(number)]]))


class Slow(SlotsQuery):
    """A slow query that counts rows, and fails at a given number."""

    def __init__(self, partitions, read, fails=None):
        super().__init__(partitions)
        object.__setattr__(self, "watch", (read, fails, [], threading.Lock()))

    def add(self, state, chunk):
        read, fails, done, lock = self.watch
        time.sleep(0.001)
        number = int(chunk.block.values[0, 0])
        if number == fails:
            raise RuntimeError("fails here")
        with lock:
            done.append((number, len(read)))
        return super().add(state, chunk)


def cut(read):
    return [Numbered(range(30), read), Numbered(range(30, 30), read), Numbered(range(30, 70), read)]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_chunk_once_and_few_in_memory(threads):
    read = []
    query = Slow(3, read)
    assert LocalEngine(threads).reduce(cut(read), FullPlan(), query).tolist() == [30, 0, 40]
    done = query.watch[2]
    assert sorted(number for number, _ in done) == list(range(70))
    before = [ahead - place - 1 for place, (_, ahead) in enumerate(done)]  # read, but not finished
    assert max(before) <= 2 * threads + threads + 1


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_failure_ends_the_pass(threads):
    read = []
    with pytest.raises(RuntimeError, match="fails here"):
        LocalEngine(threads).reduce(cut(read), FullPlan(), Slow(3, read, fails=3))
    assert len(read) < 70 or threads == 5


@pytest.mark.parametrize("threads", [1, 3])
def test_no_units(threads):
    assert LocalEngine(threads).reduce([], FullPlan(), SlotsQuery(0)).tolist() == []
    assert LocalEngine(threads).reduce([Numbered(range(0), [])], FullPlan(), SlotsQuery(1)).tolist() == [0]


@pytest.mark.parametrize("threads", [1, 3])
def test_map_is_in_the_order_of_the_data(threads):
    plan = PoissonPlan(0.5)
    kept = np.concatenate([~plan.skip(0, 0, 30), ~plan.skip(2, 0, 40)])
    blocks = LocalEngine(threads).map(cut([]), plan, Chunk.included_units)
    assert [float(block.values[0, 0]) for block in blocks] == np.flatnonzero(kept).tolist()


class Asked:
    """A partition that records when each of its blocks is requested."""

    def __init__(self, partition, blocks):
        self._partition, self.asked = partition, [threading.Event() for _ in range(blocks + 1)]

    def blocks(self):
        coming = iter(self._partition.blocks())
        for asked in self.asked:
            asked.set()
            block = next(coming, None)
            if block is None:
                return
            yield block


class NextFirst(SlotsQuery):
    """A query that finishes a chunk only after the next one was requested."""

    def __init__(self, asked):
        super().__init__(1)
        object.__setattr__(self, "watch", (asked, [], threading.Lock()))

    def add(self, state, chunk):
        asked, done, lock = self.watch
        number = int(chunk.block.values[0, 0])
        came = all(done) and asked[number + 1].wait(20)  # waits 20 seconds only if the test fails
        with lock:
            done.append(came)
        return super().add(state, chunk)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", ["parquet", "feather", "csv", "people"])
@pytest.mark.parametrize("memory", [0, 10**9])
def test_the_next_block_is_read_while_this_one_is_computed(tmp_path, monkeypatch, threads, kind, memory):
    monkeypatch.setattr(source, "BLOCK_BYTES", 8)  # a row
    path = tmp_path / ("a.parquet" if kind == "people" else f"a.{kind}")
    table = pd.DataFrame({"x": np.arange(12.0)})
    table = table.assign(who=range(12)) if kind == "people" else table
    writers = {"feather": table.to_feather, "csv": lambda path: table.to_csv(path, index=False)}
    writers.get(kind, table.to_parquet)(path)
    units = samples.people(path, "who") if kind == "people" else samples.rows(path)
    engine = LocalEngine(threads, memory=memory)
    (partition,) = engine.keeping(units).source.partitions()
    for _ in range(2):  # from the file, and from the cache
        asked = Asked(partition, 12)
        query = NextFirst(asked.asked)
        assert engine.reduce([asked], FullPlan(), query).tolist() == [12]
        assert query.watch[1] == [True] * 12
