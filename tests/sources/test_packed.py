"""Packed blocks are restored to the bit; missing, duplicate and reordered records are detected."""

import numpy as np
import pyarrow as pa
import pytest

from eigenveil.errors import InvalidInputError
from eigenveil.sources.clusters.packed import SCHEMA, BlockPacker, Unpacker
from eigenveil.sources.source import Block

RNG = np.random.default_rng(0)
ROWS = [Block(RNG.normal(size=(n, 3))) for n in (40, 1, 7)]
PEOPLE = [Block(RNG.normal(size=(9, 3)), np.array([0, 2, 9])), Block(RNG.normal(size=(2, 3)), np.array([0, 2]))]


def packed(blocks, **options):
    packer = BlockPacker(**options)
    return [batch for block in blocks for batch in packer(block)]


def unpacker(batches, kind=float):
    return Unpacker(3, np.dtype(kind), batches[0]["copy"][0].as_py(), len(batches))


@pytest.mark.parametrize("piece", [8, 24, 200, 1 << 20])
@pytest.mark.parametrize("blocks", [ROWS, PEOPLE])
def test_blocks_are_restored_to_the_bit_for_any_size_of_pieces(blocks, piece):
    batches = packed(blocks, piece=piece)
    assert all(batch.schema == SCHEMA and batch.num_rows == 1 for batch in batches)
    found = list(unpacker(batches)(batches).blocks())
    for one, other in zip(found, blocks, strict=True):
        assert one.values.tobytes() == other.values.tobytes()
        assert one.values.shape == other.values.shape
        assert one.values.flags.aligned
        assert (one.offsets is None) == (other.offsets is None)
        assert other.offsets is None or np.array_equal(one.offsets, other.offsets)


def test_odd_values_and_single_precision_stay_as_they_are():
    values = np.array([[np.nan, -0.0, np.inf], [5e-324, -1e308, 1.0]])
    for kind in (np.float64, np.float32):
        with np.errstate(over="ignore"):
            block = Block(values.astype(kind))
        batches = packed([block])
        (found,) = unpacker(batches, kind)(batches).blocks()
        assert found.values.dtype == kind
        assert found.values.tobytes() == block.values.tobytes()


def test_records_that_come_in_one_batch_are_the_same():
    batches = packed(ROWS, piece=64)
    (whole,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    found = [block.values.tobytes() for block in unpacker(batches)([whole]).blocks()]
    assert found == [block.values.tobytes() for block in ROWS]


def test_no_records_give_no_blocks():
    assert list(Unpacker(3, np.dtype(float))([]).blocks()) == []


@pytest.mark.parametrize(
    "wrong",
    [
        lambda records: records[:-1],
        lambda records: records[1:],
        lambda records: records[::-1],
        lambda records: [*records, records[-1]],
        lambda _: [],
        lambda _: packed(ROWS, piece=200),  # the same rows, packed a second time
    ],
)
def test_missing_duplicate_reordered_and_foreign_records_are_refused(wrong):
    records = packed(ROWS, piece=200)
    with pytest.raises(InvalidInputError, match="as it kept them"):
        list(unpacker(records)(wrong(records)).blocks())
