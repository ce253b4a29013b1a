"""Records of a stream's checkpoint: turn a stream's state into plain values, and back."""

from __future__ import annotations

import dataclasses
import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

from eigenveil.algorithms.release_warnings import ReleaseWarning
from eigenveil.algorithms.stream.batch import OpenBatch, Seen
from eigenveil.algorithms.stream.blocks import Schema
from eigenveil.algorithms.stream.checkpoint import Checkpoint, pack, pack_hashes, unpack, unpack_hashes
from eigenveil.algorithms.stream.options import StreamOptions
from eigenveil.algorithms.stream.round import Located, StreamProgress
from eigenveil.algorithms.tracked.state import State
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms import SeededBytes
from eigenveil.privacy import Budget, Ledger, Relation
from eigenveil.privacy.ledger import as_account

_SCHEMA = 7
_ARRAYS = ("V", "eigenvalues", "outside", "inside")
_LOCATED = ("mean", "spread", "scale", "errors")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PublicRecord:
    """Public part of a stream: options, counts of slots and releases. It holds no rows.

    Parameters
    ----------
    options : StreamOptions
        Options of the stream.
    prepared : dict
        How rows are changed before they are added, as declared by the caller, in JSON values.
    schema : Schema, optional
        Number and names of the columns. None before the first block.
    closed_slots, open_slots : int
        Number of slots in the closed batches, and number of filled slots in the open batch.
    closing : bool
        Whether a batch is about to be charged.
    progress : StreamProgress
        Releases of the closed batches.
    warnings : tuple of ReleaseWarning
        Warnings so far.
    seeded_position : int, optional
        Number of bytes that were drawn from a seeded source. None without a seed.
    key_hash : str
        Hash of the key in the raw-data file, so that the file of another stream is detected.
    mark : str
        Random mark of the last record of ids in the raw-data file, so that an older file is detected.
    ledger : Ledger
        Ledger of the stream. A ledger that was read from a file is a copy: see `account`.
    """

    options: StreamOptions
    prepared: dict[str, Any]
    schema: Schema | None
    closed_slots: int
    open_slots: int
    closing: bool
    progress: StreamProgress
    warnings: tuple[ReleaseWarning, ...]
    seeded_position: int | None
    key_hash: str
    mark: str
    ledger: Ledger

    def account(self, budget: Budget) -> Ledger:
        """Return the ledger of a stream with this budget, not as a copy: the file is the account.

        `Checkpoint.take` makes the stream the one that holds it.
        """
        ledger = as_account(self.ledger)
        kinds = (None, "person" if self.options.people else "row")
        alike = ledger.budget == budget and (ledger.unit and ledger.unit.kind) in kinds
        if not alike or ledger.relation is not Relation.EMPTY_SLOT:
            raise InvalidInputError("the ledger of this checkpoint does not fit its stream.")
        return ledger

    def source(self) -> SeededBytes | None:
        """Return the seeded source, at its position; None without a seed."""
        seed = self.options.random_state
        return None if seed is None else SeededBytes(seed, position=self.seeded_position or 0)

    def to_plain(self) -> dict[str, Any]:
        """Return the record as JSON values."""
        state = self.progress.state
        return {
            "schema": _SCHEMA,
            "what": "a checkpoint of eigenveil's TrackedStream: releases only",
            "options": self.options.to_plain(),
            "prepared": self.prepared,
            "columns": None if self.schema is None else [self.schema[0], self.schema[1]],
            "closed_slots": self.closed_slots,
            "open_slots": self.open_slots,
            "closing": self.closing,
            "rounds": self.progress.rounds,
            "last": self.progress.last,
            "warnings": [one.to_plain() for one in self.warnings],
            "drift": self.progress.drift,
            "state": None if state is None else _pack_state(state),
            "located": None if self.progress.located is None else _pack_located(self.progress.located),
            "seeded_position": self.seeded_position,
            "key_hash": self.key_hash,
            "mark": self.mark,
            "ledger": json.loads(self.ledger.to_json()),
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Return the record that `to_plain` wrote.

        Raises
        ------
        InvalidInputError, AttributeError, KeyError, TypeError, ValueError
            The values are not those of a record.
        """
        if plain["schema"] != _SCHEMA:
            raise InvalidInputError(f"expected a checkpoint of schema {_SCHEMA}, got {plain['schema']!r}.")
        options = StreamOptions.from_plain(plain["options"])
        schema = None
        if plain["columns"] is not None:
            width, names = plain["columns"]
            schema = (int(width), None if names is None else tuple(names))
        state = None if plain["state"] is None else _unpack_state(plain["state"])
        located = None if plain["located"] is None else _unpack_located(plain["located"])
        rounds, drift = int(plain["rounds"]), float(plain["drift"])
        return cls(
            options=options,
            prepared=_mapping(plain["prepared"]),
            schema=schema,
            closed_slots=int(plain["closed_slots"]),
            open_slots=int(plain["open_slots"]),
            closing=plain["closing"],
            progress=StreamProgress(state, rounds, drift, dict(plain["last"]), located),
            warnings=tuple(map(ReleaseWarning.from_plain, plain["warnings"])),
            seeded_position=None if options.random_state is None else int(plain["seeded_position"]),
            key_hash=plain["key_hash"],
            mark=plain["mark"],
            ledger=Ledger.from_json(json.dumps(plain["ledger"])),
        )


@contextmanager
def refusing_damage() -> Iterator[None]:
    """Raise an `InvalidInputError` if a checkpoint does not hold what `save` wrote."""
    try:
        yield
    except InvalidInputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InvalidInputError("this is not a checkpoint written by `TrackedStream.save`.") from None


def raw_records(seen: Seen, batch: OpenBatch, *, batches: int) -> Iterator[dict[str, Any]]:
    """Yield the records with raw data: the secret key and hashes of ids, and the open batch if it has rows.

    Parameters
    ----------
    seen : Seen
        Ids of the closed batches.
    batch : OpenBatch
        Open batch.
    batches : int
        Number of closed batches.
    """
    yield {"key": seen.key.hex(), "before": batches, "mark": seen.mark, "ids": pack_hashes(seen.hashes)}
    if batch.filled:
        yield {
            "batch": batches,
            "rows": pack(batch.values),
            "empty": pack(batch.empty),
            "ids": pack_hashes(batch.ids),
        }


def append_ids(checkpoint: Checkpoint, seen: Seen, batch: OpenBatch, *, batches: int) -> None:
    """Append the ids of a batch that closes, after `batches` others, with a new mark, which `seen` keeps."""
    mark = secrets.token_hex(16)
    checkpoint.append_raw({"batch": batches, "mark": mark, "ids": pack_hashes(batch.ids)})
    seen.mark = mark


def read_raw_records(
    checkpoint: Checkpoint, record: PublicRecord, seen: Seen, batch: OpenBatch, *, batches: int
) -> None:
    """Fill `seen` and `batch` from the raw-data file of a checkpoint.

    Of a batch that has closed since its rows were written, only the ids are read. Of the open batch, the record
    with as many rows as the public part states is read: a crash during `save` may have left a later one, too.

    If ids may return, the file must have the ids of every closed batch, and the mark that the public part states.
    An older file of the same stream would let people count again.

    Parameters
    ----------
    checkpoint : Checkpoint
        Checkpoint to read.
    record : PublicRecord
        Public part of the same checkpoint.
    seen : Seen
        Receives the ids of the closed batches, and the key of their hashes.
    batch : OpenBatch
        Receives the rows of the open batch.
    batches : int
        Number of closed batches, by the ledger. A batch that was about to be charged counts as closed here.
    """
    key, current, open_slots = None, batches + (1 if record.closing else 0), record.open_slots
    raws = list(checkpoint.read_raw())
    for raw in raws:
        if "key" in raw:
            key = bytes.fromhex(raw["key"])
            seen.hashes |= unpack_hashes(raw["ids"])
        elif "batch" in raw and raw["batch"] < current and not seen.forget:
            seen.hashes |= unpack_hashes(raw["ids"])
        elif "rows" in raw and raw["batch"] == current and not batch.filled:
            empty = unpack(raw["empty"])
            if len(empty) == open_slots:
                batch.take(unpack(raw["rows"]), empty)
                batch.ids = unpack_hashes(raw["ids"])
    if key is not None:
        seen.key = key
    seen.mark = record.mark
    foreign = key is not None and seen.key_hash != record.key_hash
    if foreign or (key is None and record.options.people) or batch.filled != open_slots:  # ids need their key
        raise InvalidInputError(
            f"the file with raw data, {str(checkpoint.raw_path)!r}, is missing or belongs to another checkpoint.",
            hint="Keep both files of a checkpoint side by side: the open batch needs its raw data to continue.",
        )
    if record.options.keeps_ids and not _has_all_ids(raws, mark=record.mark, batches=current):
        raise InvalidInputError(
            f"the file with raw data, {str(checkpoint.raw_path)!r}, lacks ids of closed batches. It is damaged "
            "or older than the checkpoint. People of those batches would count again.",
            hint="Restore the file that was last beside the checkpoint, or start a new stream with other people.",
        )


def _has_all_ids(raws: list[dict[str, Any]], *, mark: str, batches: int) -> bool:
    """Return whether the records hold the ids of all closed batches, the last of them with this mark."""
    marked = [raw for raw in raws if "mark" in raw]
    together = max((raw["before"] for raw in marked if "key" in raw), default=0)
    single = {raw["batch"] for raw in marked if "key" not in raw}
    return any(raw["mark"] == mark for raw in marked) and single.issuperset(range(together, batches))


def _mapping(plain: Any) -> dict[str, Any]:
    if not isinstance(plain, dict):
        raise TypeError("expected a mapping")
    return plain


def _pack_state(state: State) -> dict[str, Any]:
    """Return a state as JSON values. A stream never buys Sigma itself, so `sigma` is None."""
    return {"rest": state.rest, **{name: pack(getattr(state, name)) for name in _ARRAYS}}


def _unpack_state(plain: Mapping[str, Any]) -> State:
    """Return the state that `_pack_state` wrote."""
    return State(rest=float(plain["rest"]), **{name: unpack(plain[name]) for name in _ARRAYS})


def _pack_located(located: Located) -> dict[str, Any]:
    """Return mean and scales as JSON values."""
    return {"noise": located.noise, **{name: pack(getattr(located, name)) for name in _LOCATED}}


def _unpack_located(plain: Mapping[str, Any]) -> Located:
    """Return what `_pack_located` was given."""
    return Located(noise=float(plain["noise"]), **{name: unpack(plain[name]) for name in _LOCATED})
