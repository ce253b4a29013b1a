"""A query returns the same integers for any partitioning of the units and on every engine."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from contracts.catalogue import SHIFT, N, people_data, rows_data, single_data
from contracts.test_travelling import queries, same
from eigenveil.engines import DaskEngine, FullPlan, LocalEngine
from eigenveil.engines.dask_engine import _groups
from eigenveil.engines.query import SlotsQuery
from eigenveil.operators import samples

dask = pytest.importorskip("dask", reason="dask is not installed (extra eigenveil[dask])")

UNITS = {
    "rows": lambda mine: samples.rows(rows_data()[mine]),
    "rows float32": lambda mine: samples.rows(single_data()[mine]),
    "rows shifted": lambda mine: samples.rows(rows_data()[mine]).shifted(SHIFT),
    "sparse rows": lambda mine: samples.rows(sparse.csr_array(rows_data()[mine])),
    "sparse rows shifted": lambda mine: samples.rows(sparse.csr_array(rows_data()[mine])).shifted(SHIFT),
    "people": lambda mine: _people(mine, np.asarray),
    "sparse people": lambda mine: _people(mine, sparse.csr_array),
}
ENGINES = [LocalEngine(1), LocalEngine(3), DaskEngine()]


def _people(mine, kind):
    rows, ids = people_data()
    return samples.people(kind(rows[mine]), ids[mine])


def _owners(name):
    """The unit of every row."""
    return people_data()[1] if "people" in name else np.arange(N)


@functools.cache
def _whole(name):
    operator = UNITS[name](np.full(N, True))
    asked = [query for query in queries(operator) if not isinstance(query, SlotsQuery)]
    return asked, [LocalEngine(1).reduce(operator.partitions(), FullPlan(), query) for query in asked]


@pytest.mark.parametrize("name", UNITS)
def test_any_partitioning_gives_the_same_integers(name):
    asked, wanted = _whole(name)
    owners = _owners(name)
    units = int(owners.max()) + 1
    places = st.lists(st.integers(0, 9), min_size=units, max_size=units)

    @settings(max_examples=12)
    @given(places, st.integers(0, len(asked) - 1), st.sampled_from(ENGINES))
    def check(places, which, engine):
        of_row = np.array(places)[owners]
        cut = [UNITS[name](of_row == piece) for piece in range(10)]  # some of them empty
        partitions = [partition for operator in cut for partition in operator.partitions()]
        same(engine.reduce(partitions, FullPlan(), asked[which]), wanted[which])

    check()


# -- which partitions a task of Dask reads -------------------------------------------------------------


class Cluster:
    """A fake client with the information that the Dask engine needs before it sends tasks."""

    def __init__(self, threads, holders):
        self.threads, self.holders = threads, holders

    def nthreads(self):
        return self.threads

    def who_has(self, _):
        return self.holders


class Piece:
    """A piece of a collection, as Dask's `futures_of` sees it."""

    def __init__(self, key):
        self.key = key

    def __dask_graph__(self):
        return {}


WORKERS = ["one", "two", "three"]


@given(
    st.lists(st.sampled_from([None, "file", "gone", *WORKERS]), max_size=80),
    st.dictionaries(st.sampled_from(WORKERS), st.integers(0, 40)),
)
def test_every_partition_is_in_one_task(where, threads):
    """This holds even if the cluster has no worker, or a worker has left."""
    pieces = [object() if place == "file" else Piece(number) for number, place in enumerate(where)]
    holders = {number: (place,) if place else () for number, place in enumerate(where) if place != "file"}
    groups = list(_groups(pieces, Cluster(threads, holders)))
    assert sorted(number for group in groups for number in group) == list(range(len(where)))
    assert all(1 <= len(group) <= 8 for group in groups)
    assert all(len({where[number] for number in group}) == 1 for group in groups)
