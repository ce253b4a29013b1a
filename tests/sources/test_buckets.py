"""Buckets by a keyed hash of the id: the same in every process, and unpredictable without the key."""

import pickle

import numpy as np
import pyarrow as pa
import pytest

from eigenveil.errors import InvalidInputError
from eigenveil.sources.people.buckets import Buckets, check_no_bucket_split


def test_buckets_depend_on_the_key():
    ids = list(range(100))
    one, other = Buckets(1 << 16), Buckets(1 << 16)
    assert np.array_equal(one.of(ids)[0], pickle.loads(pickle.dumps(one)).of(ids)[0])  # noqa: S301
    assert not np.array_equal(one.of(ids)[0], other.of(ids)[0])
    assert repr(one) == "Buckets(number=65536)"


def test_an_id_has_one_bucket_whatever_its_type():
    some = Buckets(1000)
    places, there = some.of([7, 8, None])
    assert np.array_equal(some.of(np.array([7.0, 8.0, np.nan]))[0], places)
    assert np.array_equal(some.of(pa.array([7, 8, None], pa.int8()))[0], places)
    assert there.tolist() == [True, True, False]


def test_a_bucket_in_two_partitions_is_refused():
    check_no_bucket_split([3, 1, 2], "Dask")
    with pytest.raises(InvalidInputError, match="Spark's shuffle left rows of one person in several partitions"):
        check_no_bucket_split([3, 1, 3], "Spark")
