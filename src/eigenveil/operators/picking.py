"""Some units of a chunk, so that what is left out costs nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from eigenveil._typing import BoolArray
from eigenveil.sources import Block


def pick(chunk: Any, keep: BoolArray) -> Any | None:
    """The units of a chunk that are kept, in their order; None where the chunk is of a kind not known here.

    Examples
    --------
    >>> pick(np.eye(3), np.array([True, False, True])).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    >>> pick(Block(np.eye(3), np.array([0, 2, 3])), np.array([False, True])).values.tolist()
    [[0.0, 0.0, 1.0]]
    """
    if isinstance(chunk, Block) and chunk.offsets is not None:
        lengths = np.diff(chunk.offsets)
        rows = np.repeat(keep, lengths)
        offsets = np.concatenate([[0], np.cumsum(lengths[keep])]).astype(np.int64)
        return Block(chunk.values[rows], offsets)
    known = isinstance(chunk, np.ndarray) or sparse.issparse(chunk)
    return chunk[keep] if known and chunk.shape[0] == keep.size else None
