"""Open batch of a stream: the slots filled so far, and hashes of the ids that have been seen."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from eigenveil._typing import BoolArray, FloatArray
from eigenveil.engines import plans
from eigenveil.operators import Operator, samples
from eigenveil.privacy.uncopied import Uncopied

USE_CHECKPOINTS = "stream.save(path) writes a checkpoint, and TrackedStream.load(path) continues from it."


class OpenBatch(Uncopied):
    """Slots in the order of arrival. Each is a row of numbers, or is marked as empty.

    Rows are copied. So later changes to a block by the caller have no effect, and large blocks are not kept alive.
    """

    _uncopied = "the open batch of a stream", "it holds raw rows, which are used once"
    _instead = USE_CHECKPOINTS

    def __init__(self) -> None:
        self.filled = 0
        self.ids: set[bytes] = set()
        self._pieces: list[Any] = []
        self._empty: list[BoolArray] = []

    def take(self, values: Any, empty: BoolArray | None) -> None:
        """Append slots.

        Parameters
        ----------
        values : array or sparse array of shape (slots, d)
            Rows.
        empty : array of bool, optional
            Slots that count as empty. None: no slot does.
        """
        whole = sparse.issparse(values)
        piece = sparse.csr_array(values, dtype=np.float64, copy=True) if whole else np.array(values, np.float64)
        rows = int(piece.shape[0])
        self._pieces.append(piece)
        self._empty.append(np.zeros(rows, dtype=bool) if empty is None else np.array(empty, dtype=bool))
        self.filled += rows

    @property
    def values(self) -> FloatArray | sparse.csr_array[Any, Any]:
        """All rows in one array; sparse if any block was sparse."""
        if any(sparse.issparse(piece) for piece in self._pieces):
            return sparse.csr_array(sparse.vstack([sparse.csr_array(piece) for piece in self._pieces]))
        rows: FloatArray = np.concatenate(self._pieces)
        return rows

    @property
    def empty(self) -> BoolArray:
        """Slots that count as empty."""
        return np.concatenate(self._empty)

    def operator(self) -> Operator:
        """Return the rows as units."""
        return samples.rows(self.values)

    def plan(self) -> plans.EmptySlots:
        """Return the plan that includes all slots except the empty ones."""
        return plans.EmptySlots(self.empty)


class Seen(Uncopied):
    """Ids that have been in a batch, as keyed hashes. Without the key, nobody can link a hash to an id.

    Parameters
    ----------
    key : bytes
        32 random bytes.
    forget : bool
        Keep ids only while their batch is open, because the caller has declared that they never return.

    Attributes
    ----------
    mark : str
        Random text. It identifies the last record of ids in the file with raw data.
    """

    _uncopied = "the record of ids in a stream", "a copy would miss later ids, and its key is secret"
    _instead = USE_CHECKPOINTS

    def __init__(self, key: bytes, *, forget: bool) -> None:
        self.key, self.forget = key, forget
        self.mark = secrets.token_hex(16)
        self.hashes: set[bytes] = set()

    @property
    def key_hash(self) -> str:
        """Public hash of the random key. It identifies the file with the ids of this stream."""
        return hashlib.sha256(self.key).hexdigest()

    def empty(self, ids: Sequence[bytes | None], batch: OpenBatch) -> BoolArray:
        """Return which of these arrivals count as empty: those without an id, or with an id that has been seen.

        The ids are added to the batch.
        """
        out = np.zeros(len(ids), dtype=bool)
        for place, one in enumerate(ids):
            hashed = None if one is None else hashlib.blake2b(one, key=self.key, digest_size=16).digest()
            out[place] = hashed is None or hashed in self.hashes or hashed in batch.ids
            if hashed is not None:
                batch.ids.add(hashed)
        return out

    def close(self, batch: OpenBatch) -> None:
        """Keep the ids of a batch that closes, unless they are to be forgotten."""
        if not self.forget:
            self.hashes |= batch.ids
