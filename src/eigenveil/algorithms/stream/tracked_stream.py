"""Tracked PCA on an unbounded stream: each unit is used once, and every closed batch releases components.

TrackedStream(arrivals, k, mu, B):
  0  every arriving row takes a slot; invalid rows, and rows of an id that has been seen, leave their slots empty
  1  a batch closes after exactly B slots; it is charged mu, the whole budget, in parallel with all other batches
  2  n_hat <- noisy count of the slots that are not empty                          # 1 % of mu^2
     frame, mean and scales from the first batch (see `standard`), if wanted; means around the last one from others
  3  buy the answer to one question of tracked PCA with the rest:
       in the first three batches: about all tracked directions; earlier estimates do not count
       later: about the first k directions, damped inside their span; earlier estimates count, with their variance
       multiplied by memory/(memory - 1) and raised to the drift that this answer and the last few show: their
       energy outside the span of V beyond noise. After a jump (the first k directions hold less than half of their
       earlier variance) the stream starts from scratch
  4  discard the batch; the first k directions are a release
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, Self

import numpy as np

from eigenveil.algorithms.diagnostics import StreamDiagnostics
from eigenveil.algorithms.release import Release
from eigenveil.algorithms.release_warnings import Warned, empty_slots, show, small_batches
from eigenveil.algorithms.stream.batch import USE_CHECKPOINTS, OpenBatch, Seen
from eigenveil.algorithms.stream.blocks import BlockReader, Schema, bind_block, noting_rows, refuse_unprepared
from eigenveil.algorithms.stream.checkpoint import Checkpoint
from eigenveil.algorithms.stream.options import MEMORY, ONE_SLOT, StreamOptions, declare_public
from eigenveil.algorithms.stream.round import (
    StreamProgress,
    buy_round,
    buy_slot_count,
    charge_dropped_batch,
    curve_count_noise,
    default_batch_size,
)
from eigenveil.algorithms.stream.state import (
    PublicRecord,
    append_ids,
    raw_records,
    read_raw_records,
    refusing_damage,
)
from eigenveil.engines import Engine, LocalEngine
from eigenveil.engines.plans import StreamBatches
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms import SeededBytes, Veil
from eigenveil.privacy import Budget, Ledger, Relation
from eigenveil.privacy.uncopied import Uncopied
from eigenveil.units import Units


class TrackedStream(Uncopied):
    """k private principal components of a stream, as of the last closed batch.

    Parameters
    ----------
    k : int
        Number of components.
    epsilon, delta : float
        Privacy budget of everything that the stream ever releases.
    batch_size : int, optional
        Number of slots in a batch. By default it follows from the budget and the number of columns. Larger batches
        give better components. Smaller batches release sooner and adapt faster.
    oversampling : int
        Number of directions that are tracked in addition to the k components.
    memory : float
        Number of batches, approximately, for which an answer counts at most; above 1. It covers drift that is too
        slow to be observed.
    units : {"rows", "people"}
        Whether a unit is a row or a person. With people, every row needs an id (see `add`).
    ids_never_return : bool
        Declare that no person has rows in two batches. The ids of closed batches are then not kept.
    columns : list of str or int, optional
        Columns of a block to use. None: all.
    center : bool
        Whether to subtract a private mean, on which every batch spends at most 5 % of its mu^2.
    scaled : list of int, optional
        Positions of columns to divide by private scales of the first batch.
    random_state : int, optional
        Seed, for tests and teaching. The stream and its releases are then marked "not private".

    Attributes
    ----------
    prepared : dict
        How a `DPPCA` changes rows before it adds them, in JSON values; public.
    ledger : Ledger
        Ledger of the stream.

    Formal guarantees
    -----------------
    *Relation:* empty slot. Neighbouring streams have the same arrivals in the same order, but the content (and id)
    of one unit is replaced by nothing, in all of its slots. So the number of arrivals is public. Which slot is in
    which batch is public too, since it depends on nobody's values.

    *One unit, one slot.* Rows: by definition. People: a slot is left empty if its id is missing or has been seen
    before. Whether an id has been seen depends on the rows of that person alone. So emptying a person changes
    nothing for others, and only the first slot of that person was not empty. (Ids are compared by 128-bit keyed
    hashes. The probability that two of n people share a hash is below n^2 2^-129.) With `ids_never_return` only
    the ids of the open batch are compared. The caller guarantees the rest, and the ledger says so. Which ids are
    equal depends on these ids alone. Whole numbers are one id in any type; other ids than text count as missing.

    *Cost.* A unit is in one batch. There it adds at most R to a sum and at most 1 to a count. So the mechanisms
    are as private as under add-remove, and the batch is mu-GDP with the mu of (epsilon, delta). Queries of other
    batches depend on this unit through releases only. Hence the whole stream is mu-GDP for any number of batches
    (adaptive parallel composition), and so (epsilon, delta)-DP. All else is post-processing of releases.

    *Divisor.* Dividing by the public B would be private, but if most slots are empty, no search reaches half of B.

    *Copies.* A stream can be neither copied nor pickled. A forked process cannot add rows, unless
    ``stream.ledger.adopt()`` declares there that the original adds none. Of all streams that share a checkpoint,
    only the last one that loaded it can continue. The others, and a stream whose checkpoint was moved or deleted,
    are refused before they charge their next batch.

    ==============================  ==================================================================
    edge case                       result
    ==============================  ==================================================================
    no batch has closed             `release` raises; nothing was spent
    hardly any slot is not empty    (by the noisy count) the batch is ignored; components stay
    nan, inf, norm overflows, no id an empty slot; a warning if the noisy count finds many empty slots
    blocks of any size, no rows     the same result, bit by bit under the same random bytes
    k = d, d = 1, d < k + 5         fewer directions are tracked, at most d
    interrupted within a batch      that batch stays charged and is dropped
    ==============================  ==================================================================

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> stream = TrackedStream(1, epsilon=1.0, delta=1e-6, batch_size=4000, random_state=0)
    >>> for _ in range(30):
    ...     stream.add(rng.normal(size=(1000, 6)) * [3, 1, 1, 1, 1, 1])
    >>> stream.batches, bool(stream.release().components[0, 0] > 0.98)
    (7, True)
    """

    _uncopied = "a stream", "it holds raw rows, and a copy that also continues spends the same budget again"
    _instead = USE_CHECKPOINTS

    def __init__(
        self,
        k: int,
        *,
        epsilon: float,
        delta: float,
        batch_size: int | None = None,
        oversampling: int = 5,
        memory: float = MEMORY,
        units: Literal["rows", "people"] = "rows",
        ids_never_return: bool = False,
        columns: Sequence[str | int] | None = None,
        center: bool = False,
        scaled: list[int] | None = None,
        random_state: int | None = None,
        engine: Engine | None = None,
    ) -> None:
        self.options = StreamOptions(
            k=k,
            epsilon=epsilon,
            delta=delta,
            batch_size=batch_size,
            oversampling=oversampling,
            memory=memory,
            units=units,
            ids_never_return=ids_never_return,
            columns=None if columns is None else [c if isinstance(c, str) else int(c) for c in columns],
            random_state=random_state,
            center=center,
            scaled=scaled,
        )
        self.budget = Budget.from_epsilon_delta(epsilon, delta)
        self._engine = LocalEngine() if engine is None else engine
        self._open = OpenBatch()
        self._progress = StreamProgress()
        self._reader = BlockReader(self.options)
        self._warned = Warned()
        self._checkpoint: Checkpoint | None = None
        self.prepared: dict[str, Any] = {}
        self._partition = StreamBatches(ONE_SLOT[units])
        source = None if random_state is None else SeededBytes(random_state)
        self._attach(Ledger(self.budget, relation=Relation.EMPTY_SLOT), source)
        declare_public(self.ledger, self.options)
        self._seen = Seen(self._veil.fresh_key(), forget=ids_never_return)

    def add(self, block: Any, *, units: Any = None) -> None:
        """Add rows. Batches that become full on the way close, and their releases are made.

        Parameters
        ----------
        block : anything that holds rows
            Any number of rows, with the same columns as the first block.
        units : array-like of ids, or str
            Only with ``units="people"``: the id of the person that each row belongs to, as whole numbers or text,
            or the name of the column of ids. Only the first row ever of a person counts, valid or invalid. Later
            rows, and rows without an id, leave their slots empty.

        Raises
        ------
        InvalidInputError
            Columns or ids are not as expected; in files and lists, all columns are checked first. Or a `DPPCA`
            changes the rows of this stream. If a generator raises, a note says how many rows were taken.
        """
        refuse_unprepared(self.prepared)
        self.add_prepared(block, units=units)

    def add_prepared(self, block: Any, *, units: Any = None) -> None:
        """Add rows that the caller has changed as `prepared` says."""
        self.ledger.refuse_copy()
        source, ids = self._reader.open(block, units)
        if self._reader.check_columns(source):
            show(self._warned.keep(small_batches(self.batch_size or 0, curve_count_noise(self.budget.mu))))
        bind_block(self.ledger, units)
        start = 0
        with noting_rows(lambda: self.arrivals):
            for piece in source.blocks():
                rows = int(piece.values.shape[0])
                self._take(piece.values, None if ids is None else ids[start : start + rows])
                start += rows

    def partial_fit(self, block: Any, *, units: Any = None) -> Self:
        """Add rows as `add` does, and return the stream."""
        self.add(block, units=units)
        return self

    @property
    def arrivals(self) -> int:
        """Number of rows that have arrived; public. After `load`, continue with the row of this number."""
        return self._partition.end + self._open.filled

    @property
    def batches(self) -> int:
        """Number of closed batches, including those that were interrupted."""
        return self._rounds.finished

    @property
    def batch_size(self) -> int | None:
        """Number of slots in a batch. None if it depends on the number of columns, which is not yet known."""
        fixed, schema = self.options.batch_size, self.schema
        if fixed is not None or schema is None:
            return fixed
        return default_batch_size(schema[0], self.options, mu=self.budget.mu)

    @property
    def schema(self) -> Schema | None:
        """Number and names of the columns; None before the first row."""
        return self._reader.schema

    @property
    def open_slots(self) -> int:
        """Number of filled slots in the open batch. Their rows are raw data."""
        return self._open.filled

    @property
    def released(self) -> bool:
        """Whether there is a `release`: a batch has closed, and was not interrupted."""
        return self._progress.state is not None

    def release(self) -> Release:
        """Return the components as of the last closed batch. The ledger is that of the stream, and still grows."""
        progress, state = self._progress, self._progress.state
        if state is None:
            raise InvalidInputError(
                f"expected at least one closed batch that was not interrupted, got {self.arrivals} arrivals.",
                hint=f"Add more rows first, or choose a smaller batch_size (now {self.batch_size}).",
            )
        return progress.release(
            self.options,
            state,
            ledger=self.ledger,
            diagnostics=StreamDiagnostics(self.batches, self.batch_size, progress.rounds, **progress.last),
            warnings=tuple(self._warned.values()),
        )

    def __repr__(self) -> str:
        size = self.batch_size
        return f"<TrackedStream: {self.arrivals} arrivals, {self.batches} batches of {size}, {self.ledger!r}>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a checkpoint, and update it with every batch that closes from now on.

        The file at `path` holds releases only. The file at `path` + ".RAW-DATA", which only its owner can read,
        holds the rows of the open batch and hashes of ids: it is *not private*. The first file records that a
        batch will be charged before it is. So `load` drops a batch that was charged but not released. If a stream
        is saved to another path, a note replaces its first file. Files that are not its own are refused.
        """
        self.ledger.refuse_copy()
        checkpoint = Checkpoint(path)
        raw = list(raw_records(self._seen, self._open, batches=self.batches))
        checkpoint.save(self._public(closing=False), raw, before=self._checkpoint, stream=self._seen.key_hash)
        self._checkpoint = checkpoint

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        engine: Engine | None = None,
        check: Callable[[Self], object] = lambda _: None,
    ) -> Self:
        """Load a stream from its checkpoint. Continue with the row of number `arrivals`.

        Only one stream at a time can continue from a checkpoint. After this call, another stream that used the
        checkpoint can no longer close a batch. Copies of the files cannot be detected: a stream from a copy spends
        the budget twice. `check` is called with the stream before it takes the checkpoint, and may raise.
        """
        checkpoint = Checkpoint(path)
        checkpoint.read()  # raises if there is none
        with checkpoint.locked():
            public = checkpoint.read()
            with refusing_damage():
                record = PublicRecord.from_plain(public)
                stream = cls._from_record(record, engine)
                read_raw_records(checkpoint, record, stream._seen, stream._open, batches=stream.batches)
            check(stream)
            if record.closing:
                charge_dropped_batch(stream._rounds.part(), mu=stream.budget.mu)
                stream._rounds.finish()
            checkpoint.take(public)
        stream._checkpoint = checkpoint
        return stream

    # -- internal --------------------------------------------------------------------------------

    def _attach(self, ledger: Ledger, source: SeededBytes | None) -> None:
        self.ledger = ledger
        self._source = source
        self._veil = self._open_veil(ledger, source)
        self._rounds = ledger.open_ended(self._partition, name="batches")

    def _open_veil(self, ledger: Ledger, source: SeededBytes | None) -> Veil:
        return Veil(ledger, source=source)

    def _take(self, values: Any, ids: list[bytes | None] | None) -> None:
        size, start, rows = self.batch_size, 0, int(values.shape[0])
        assert size is not None
        while start < rows:
            stop = min(rows, start + size - self._open.filled)
            empty = None if ids is None else self._seen.empty(ids[start:stop], self._open)
            self._open.take(values[start:stop], empty)
            start = stop
            if self._open.filled == size:
                self._close()

    def _close(self) -> None:
        """Steps 1 to 4. After an interruption the batch is not used again."""
        if self._checkpoint is not None:
            self._checkpoint.refuse_lost()
        batch, slots, self._open = self._open, self._open.filled, OpenBatch()
        self._partition.claim(self._partition.end, self._partition.end + slots)
        self._seen.close(batch)
        if self._checkpoint is not None:
            if self.options.keeps_ids:
                append_ids(self._checkpoint, self._seen, batch, batches=self.batches)
            self._checkpoint.write(self._public(closing=True))
        # 1
        veil = self._veil.over(self._rounds.part())
        units = Units(batch.operator(), veil, self.budget, plan=batch.plan(), engine=self._engine)
        try:
            with np.errstate(over="ignore", under="ignore"):
                # 2
                counted, mu = buy_slot_count(units, mu=self.budget.mu)
                new = self._warned.keep(empty_slots(slots, counted, people=self.options.people))
                # 3, 4
                self._progress = buy_round(units, self._progress, self.options, counted, slots=slots, mu=mu)
                new += self._warned.keep(self._progress.warnings(self.options, self._reader.schema))
        finally:
            self._rounds.finish()
        if self._checkpoint is not None:
            self._checkpoint.write(self._public(closing=False))
        show(new)  # last, since a filter may turn warnings into errors

    def _public(self, *, closing: bool) -> dict[str, Any]:
        """Return everything except the open batch and ids, as JSON values. All of it is public."""
        return PublicRecord(
            options=self.options,
            prepared=self.prepared,
            schema=self._reader.schema,
            closed_slots=self._partition.end,
            open_slots=self._open.filled,
            closing=closing,
            progress=self._progress,
            warnings=tuple(self._warned.values()),
            seeded_position=None if self._source is None else self._source.position,
            key_hash=self._seen.key_hash,
            mark=self._seen.mark,
            ledger=self.ledger,
        ).to_plain()

    @classmethod
    def _from_record(cls, record: PublicRecord, engine: Engine | None) -> Self:
        stream = cls(**dataclasses.asdict(record.options), engine=engine)
        stream._partition.end = record.closed_slots
        stream._attach(record.account(stream.budget), record.source())
        stream.prepared, stream._reader.schema = record.prepared, record.schema
        stream._progress = record.progress
        stream._warned.keep(record.warnings)
        return stream
