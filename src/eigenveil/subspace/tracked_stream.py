"""Tracked PCA on a stream: each unit is used once, components can be read after every batch, for ever.

TrackedStream(arrivals, k, mu, B):
  0  every arrival takes a slot; bad rows, and rows of an id that has been there, leave theirs empty
  1  a batch closes after exactly B slots; it is charged mu, the whole budget, in parallel with all other batches
  2  n_hat <- noisy count of slots that are not empty                              # 1 % of mu^2
  3  one question of tracked PCA with the rest:
       the first three: about all directions that are followed; what was known before does not count
       later: about the first k, damped inside; what was known before counts, with its variance enlarged by
       memory/(memory - 1), and to what this and the last few answers show: how much more than noise they put
       outside the span of V (drift). If the first k hold less than half of their variance, it begins anew (a jump)
  4  the batch is forgotten; the first k directions are a release
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Iterator, Sequence
from typing import Any, Literal, Self

import numpy as np

from eigenveil._checks import whole
from eigenveil._typing import BoolArray, FloatArray
from eigenveil.engines import Engine, LocalEngine
from eigenveil.engines.plans import StreamBatches
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms import SeededBytes, Veil, noisy_count
from eigenveil.mechanisms.radius import count_noise
from eigenveil.privacy import Budget, Ledger, Purpose, Relation, split_mu
from eigenveil.privacy.ledger import as_account
from eigenveil.privacy.uncopied import Uncopied
from eigenveil.sources import Layout, Source, memory, open_source
from eigenveil.sources.identities import identities
from eigenveil.sources.rows import RowsSource
from eigenveil.subspace.counting import COUNT_SHARE
from eigenveil.subspace.diagnostics import StreamDiagnostics
from eigenveil.subspace.opening import check_k
from eigenveil.subspace.release import Release, signed
from eigenveil.subspace.release_warnings import FEW, Code, ReleaseWarning, bad_rows, show, small_batches
from eigenveil.subspace.stream_batch import USE_CHECKPOINTS, OpenBatch, Seen
from eigenveil.subspace.stream_files import Checkpoint, pack, pack_hashes, unpack, unpack_hashes
from eigenveil.subspace.tracked.question import Asking, Purse, Question
from eigenveil.subspace.tracked.state import Answer, State
from eigenveil.subspace.tracked.tuning import DEFAULT
from eigenveil.units import Units

PILOT_ROUNDS = 3
MEMORY = 50.0
DRIFT_WEIGHT = 0.2
"""Weight of the last answer in the running mean of what drift the answers show."""
DRIFT_KEPT = 4.0
"""No more than this of the running mean is carried on: a jump is taken in at once and need not be remembered."""
_SCHEMA = 3
_ONE_SLOT = {
    "rows": "each row is a unit and takes one slot",
    "people": "only the first row of a person takes a slot that is not empty",
}


@dataclasses.dataclass(frozen=True)
class Progress:
    """What the closed batches have released, as far as it is needed further on."""

    state: State | None = None
    rounds: int = 0
    drift: float = 0.0
    """Running mean of what answers put outside the known span beyond noise, over the noise's variance."""
    last: dict[str, float] = dataclasses.field(default_factory=dict)


class TrackedStream(Uncopied):
    """k private principal directions of a stream, as of the last closed batch.

    Parameters
    ----------
    k : int
        How many directions.
    epsilon, delta : float
        What everything that is ever released costs.
    batch_size : int, optional
        Slots in a batch. By default as many as the budget and the number of columns ask for. Larger batches make
        better directions, smaller ones come sooner and follow faster.
    oversampling : int
        How many directions more than k are followed.
    memory : float
        For how many batches, about, an answer counts at most: above 1. Where the answers show drift, what is known
        counts less at once; this is for drift too slow to show.
    units : {"rows", "people"}
        Whether a unit is a row or a person; people need an id with every row (see `add`).
    ids_never_return : bool
        Declares that the rows of one person never lie in two batches; ids of closed batches are then not kept.
    columns : list of str or int, optional
        Which columns of a block to take.
    random_state : int, optional
        A seed, for tests and teaching: everything then says "not private".

    Attributes
    ----------
    arrivals : int
        How many rows have been taken; public. After `load`, go on with the row of this number.
    batches : int
        How many batches have closed.
    ledger : Ledger
        What was spent.

    Formal guarantees
    -----------------
    *Relation:* empty slot. Neighbours have the same arrivals in the same order; one unit's content (and id) is
    replaced by nothing, in all of its slots. So the number of arrivals is public, and with it which slot is in
    which batch: that depends on nobody's values.

    *One unit, one slot.* Rows: by definition. People: a slot is left empty if its id is missing or has been there
    before. Whether an id has been there depends on the rows of that person alone, so emptying a person changes
    nothing for others, and of the person itself only the first slot was not empty. (Ids are compared by 128-bit
    keyed hashes; that two of n people share one has a chance below n^2 2^-129.) With `ids_never_return` the ids of
    the open batch alone are compared, and the caller vouches for the rest; the ledger says so.

    *The kind of ids*, numbers or text, is public: the first id fixes it for all, and the other kind is refused.

    *Cost.* In the one batch that a unit touches it adds at most R to a sum and at most 1 to a count, so the
    mechanisms are as private as under add-remove, and the batch is mu-GDP with the mu that (epsilon, delta) buys.
    What other batches ask depends on this unit through releases only. Hence the whole, for any number of
    batches, is mu-GDP (parallel composition; adaptive, since batches come one after the other), and (epsilon,
    delta)-DP. Memory, weights and directions are arithmetic on releases.

    *The divisor.* B is public and dividing by it would be private. But if most slots are empty (people who
    return), half of B is never reached in the search for a radius, and the answer is lost. So a count of the slots
    that are not empty is bought with 1 % of mu^2 (0.5 % more noise).

    *Copies.* A stream is not copied and not pickled, and takes no rows in a process that a fork has made, unless
    ``stream.ledger.adopt()`` declares there that the original takes none any more. Of all streams that share one
    checkpoint only the last to take it up goes on: others are refused before they charge their next batch.

    ==============================  ==================================================================
    edge case                       answer
    ==============================  ==================================================================
    no batch has closed             `release` raises; nothing was spent
    hardly any slot is not empty    (by the noisy count) the batch teaches nothing; directions stay
    nan, inf, norm overflows        an empty slot, in silence; a warning if the noisy count says many
    blocks of any size, no rows     the same result, bit by bit under the same random bytes
    k = d, d = 1, d < k + 5         fewer directions are followed, at most d
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

    _uncopied = "a stream", "it holds raw rows, and a copy that also goes on spends the same people's budget again"
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
        random_state: int | None = None,
        engine: Engine | None = None,
    ) -> None:
        _check_options(k, batch_size, oversampling, memory, units, ids_never_return=ids_never_return)
        self._options: dict[str, Any] = {
            "k": int(k),
            "epsilon": float(epsilon),
            "delta": float(delta),
            "batch_size": batch_size,
            "oversampling": oversampling,
            "memory": float(memory),
            "units": units,
            "ids_never_return": ids_never_return,
            "columns": None if columns is None else [c if isinstance(c, str) else int(c) for c in columns],
            "random_state": None if random_state is None else int(random_state),
        }
        self.budget = Budget.from_epsilon_delta(epsilon, delta)
        self._engine = LocalEngine() if engine is None else engine
        self._open = OpenBatch()
        self._progress = Progress()
        self._schema: tuple[int, tuple[str, ...] | None] | None = None
        self._id_kind: str | None = None
        self._warned: dict[Code, ReleaseWarning] = {}
        self._checkpoint: Checkpoint | None = None
        self._partition = StreamBatches(_ONE_SLOT[units])
        source = None if random_state is None else SeededBytes(random_state)
        self._attach(Ledger(self.budget, relation=Relation.EMPTY_SLOT), source)
        self._declare()
        self._seen = Seen(self._veil.fresh_key(), forget=ids_never_return)

    # -- taking in -------------------------------------------------------------------------------

    def add(self, block: Any, *, units: Any = None) -> None:
        """Take in rows; batches that become full on the way are closed and their releases made.

        Parameters
        ----------
        block : anything that holds rows
            Any number of rows, of the same columns as in the first block.
        units : array-like of ids, or str
            Only with ``units="people"``: whose row each row is, as whole numbers or text, or the name of the
            column that says so. Of each person the first row ever counts, good or bad; later ones leave their
            slots empty, and so do rows without an id: however arrivals are cut into blocks.
        """
        self.ledger.refuse_copy()
        source, ids = self._opened(block, units)
        self._check_schema(source)
        start = 0
        for piece in source.blocks():
            rows = int(piece.values.shape[0])
            self._take(piece.values, None if ids is None else ids[start : start + rows])
            start += rows

    def partial_fit(self, block: Any, *, units: Any = None) -> Self:
        """The same as `add`; returns the stream."""
        self.add(block, units=units)
        return self

    # -- giving out ------------------------------------------------------------------------------

    @property
    def arrivals(self) -> int:
        """How many rows have been taken."""
        return self._partition.end + self._open.filled

    @property
    def batches(self) -> int:
        """How many batches have closed; one that was interrupted counts."""
        return self._rounds.finished

    @property
    def batch_size(self) -> int | None:
        """Slots in a batch; None as long as it depends on a number of columns yet to come."""
        fixed: int | None = self._options["batch_size"]
        if fixed is not None or self._schema is None:
            return fixed
        return default_batch_size(self._schema[0], self._followed(), mu=self.budget.mu)

    @property
    def schema(self) -> tuple[int, tuple[str, ...] | None] | None:
        """Number and names of the columns; None before the first row."""
        return self._schema

    @property
    def stated(self) -> tuple[int, float, float]:
        """The number of components, epsilon and delta that it was begun with."""
        return self._options["k"], self._options["epsilon"], self._options["delta"]

    @property
    def open_slots(self) -> int:
        """How many slots of the open batch are filled: their rows are raw data."""
        return self._open.filled

    def release(self) -> Release:
        """Directions as of the last closed batch, and what they cost; the ledger is the stream's and goes on."""
        state = self._progress.state
        if state is None:
            of = "" if self.batch_size is None else f" of {self.batch_size} slots"
            raise InvalidInputError(
                f"expected at least one closed batch{of}, got {self.arrivals} arrivals.",
                hint="Add more rows first, or choose a smaller batch_size.",
            )
        k = self._options["k"]
        return Release(
            algorithm="tracked stream",
            components=signed(np.ascontiguousarray(state.V[:, :k].T)),
            eigenvalues=state.eigenvalues[:k],
            ledger=self.ledger,
            diagnostics=StreamDiagnostics(
                self.batches, self.batch_size, self._progress.rounds, **self._progress.last
            ),
            warnings=tuple(self._warned.values()),
        )

    def __repr__(self) -> str:
        batches = f"{self.batches} batches of {self.batch_size}"
        return f"<TrackedStream: {self.arrivals} arrivals, {batches}, {self.ledger!r}>"

    # -- keeping ---------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a checkpoint, and keep it up with every batch that closes from now on.

        At `path` there is a file of releases only; beside it `path` + ".RAW-DATA", for its owner only, with the
        rows of the open batch and hashes of ids: it is *not private*. Before a batch is charged, the first file
        says so; a crash then cannot hide it, and on `load` a batch that was charged but not released is dropped.
        A stream has one checkpoint: saved to another path, it leaves at the first only a mark that it has moved.
        """
        self.ledger.refuse_copy()
        if self._checkpoint is not None:
            self._checkpoint.refuse_lost()
        before, checkpoint = self._checkpoint, Checkpoint(path)
        checkpoint.write_raw(self._raw())
        if before is not None and before.path.resolve() != checkpoint.path.resolve():
            before.retire()  # first: at no time can two streams be loaded
        checkpoint.take(self._public(closing=False))
        self._checkpoint = checkpoint

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, engine: Engine | None = None) -> Self:
        """Take up a stream where its checkpoint left it: go on with the row number `arrivals`.

        One stream at a time goes on from a checkpoint: with this call another one that kept it up can no longer
        close a batch. Copies of the files cannot be known; one that also goes on would spend twice.
        """
        checkpoint = Checkpoint(path)
        public = checkpoint.read()
        try:
            stream = cls._from_public(public, engine)
            stream._read_raw(checkpoint, open_slots=int(public["open_slots"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, InvalidInputError):
                raise
            raise InvalidInputError("this is not a checkpoint written by `TrackedStream.save`.") from None
        if public["closing"]:
            stream._drop()
        checkpoint.take(public)
        stream._checkpoint = checkpoint
        return stream

    # -- inside: batches -------------------------------------------------------------------------

    def _attach(self, ledger: Ledger, source: SeededBytes | None) -> None:
        self.ledger = ledger
        self._source = source
        self._veil = self._open_veil(ledger, source)
        self._rounds = ledger.open_ended(self._partition, name="batches")

    def _open_veil(self, ledger: Ledger, source: SeededBytes | None) -> Veil:
        return Veil(ledger, source=source)

    def _declare(self) -> None:
        declare = self.ledger.declare
        declare(
            "number of arrivals",
            note="public: neighbours have the same slots, one of them empty",
            purpose=Purpose.COUNT,
        )
        if self._options["units"] == "people":
            declare("kind of ids", note="public: numbers or text, as the first id has it", purpose=Purpose.BATCHES)
        if self._options["ids_never_return"]:
            declare(
                "the rows of one person never lie in two batches",
                note="declared by the caller",
                purpose=Purpose.BATCHES,
            )

    def _followed(self) -> int:
        assert self._schema is not None
        return int(min(self._options["k"] + self._options["oversampling"], self._schema[0]))

    def _opened(self, block: Any, units: Any) -> tuple[Source, list[bytes | None] | None]:
        people = self._options["units"] == "people"
        if people != (units is not None):
            raise InvalidInputError(
                f"expected blocks {'with' if people else 'without'} units=..., since this stream was made with "
                f"units={self._options['units']!r}.",
                hint="TrackedStream(..., units='people') takes one id per row.",
            )
        columns = self._options["columns"]
        if not people:
            return open_source(block, columns=columns), None
        if not memory.accepts(block):
            raise InvalidInputError(f"expected a block of rows in memory, got {type(block).__name__}.")
        rows = memory.hold(block, layout=Layout.of(columns), units=units)
        kind, ids = identities(rows.ids(units))
        if len(ids) != rows.n_rows:
            raise InvalidInputError(f"expected one id per row, got {len(ids)} ids for {rows.n_rows} rows.")
        self._check_id_kind(kind)
        return RowsSource(rows), ids

    def _check_id_kind(self, kind: str | None) -> None:
        if kind is not None and self._id_kind not in (None, kind):
            raise InvalidInputError(
                f"expected ids of the same kind as before ({self._id_kind}), got {kind}.",
                hint="An id must look the same in every block, or a person who returns is not known again.",
            )
        self._id_kind = self._id_kind or kind

    def _check_schema(self, source: Source) -> None:
        found = (source.n_columns, source.columns)
        if self._schema is None:
            check_k(self._options["k"], source.n_columns)
            self._schema = found
            assert self.batch_size is not None, "the number of columns is known"
            self._warn(small_batches(self.batch_size, _count_noise(self.budget.mu)))
        elif found != self._schema:
            raise InvalidInputError(
                f"expected blocks of {self._schema[0]} columns like the first one, got {source.n_columns}"
                + (" with other names or in another order." if found[0] == self._schema[0] else "."),
                hint="columns=[...] can choose the columns that all blocks share.",
            )

    def _take(self, values: Any, ids: list[bytes | None] | None) -> None:
        size, start, rows = self.batch_size, 0, int(values.shape[0])
        assert size is not None
        while start < rows:
            stop = min(rows, start + size - self._open.filled)
            self._open.take(values[start:stop], self._empty(ids, start, stop))
            start = stop
            if self._open.filled == size:
                self._close()

    def _empty(self, ids: list[bytes | None] | None, start: int, stop: int) -> BoolArray:
        if ids is None:
            return np.zeros(stop - start, dtype=bool)
        return self._seen.empty(ids[start:stop], self._open)

    def _close(self) -> None:
        """Steps 1 to 4. Once it is taken the batch is gone, whatever happens."""
        if self._checkpoint is not None:
            self._checkpoint.refuse_lost()
        batch, self._open = self._open, OpenBatch()
        self._partition.claim(self._partition.end, self._partition.end + batch.filled)
        self._seen.close(batch)
        if self._checkpoint is not None:
            if batch.ids:
                self._checkpoint.append_raw({"batch": self.batches, "ids": pack_hashes(batch.ids)})
            self._checkpoint.write(self._public(closing=True))
        # 1
        veil = self._veil.over(self._rounds.part())
        units = Units(batch.operator(), veil, self.budget, plan=batch.plan(), engine=self._engine)
        try:
            with np.errstate(over="ignore", under="ignore"):
                self._progress = self._round(units, batch.filled)
        finally:
            self._rounds.finish()
        if self._checkpoint is not None:
            self._checkpoint.write(self._public(closing=False))

    def _round(self, units: Units, slots: int) -> Progress:
        """Steps 2 and 3, on the units of one batch and with all of its budget."""
        k, before = self._options["k"], self._progress
        mu_count, mu = split_mu(self.budget.mu, [COUNT_SHARE, 1 - COUNT_SHARE])
        # 2
        counted = noisy_count(units.vectors(), mu=mu_count, veil=units.veil, what="batch: slots not empty")
        n_hat = min(max(counted.value, 1.0), float(slots))
        if self._options["units"] == "rows":
            self._warn(bad_rows(slots, counted))
        state = before.state or State.unknown(units.random_start(self._followed()))
        if n_hat < min(slots / 10, 3 * _count_noise(mu)):
            return dataclasses.replace(before, state=state, last={**before.last, "n_hat": n_hat})
        # 3
        asking = Asking(units, k, n_hat, Purse(mu), DEFAULT)
        pilot = before.rounds < PILOT_ROUNDS
        asked = (
            Question.wide(state.forgotten(), k, DEFAULT)
            if pilot
            else Question.narrow(_faded(state, self._growth(), k), k, DEFAULT)
        )
        answer, mean, _ = asked.bought(asking, mu, "batch")
        last = {"n_hat": n_hat, "radius": mean.radius, "noise": mean.noise, "offset": mean.offset}
        known, drift, rounds = asked.state, 0.0, before.rounds
        if not pilot:
            answer = _with_sampling(answer, known, asked.columns, k=k, n_hat=n_hat, radius=mean.radius)
            drift = (1 - DRIFT_WEIGHT) * min(before.drift, DRIFT_KEPT)
            drift += DRIFT_WEIGHT * _surprise(answer, known, k=k)
            rounds = 0 if _lost(answer, known, k=k) else rounds
            known = _loosened(known, answer, drift)
        return Progress(known.learned(answer), rounds + 1, drift, last)

    def _growth(self) -> float:
        span: float = self._options["memory"]
        return 1.0 if math.isinf(span) else span / (span - 1)

    def _drop(self) -> None:
        """A batch that was to be charged when the process ended: take it as charged in full."""
        part, mu = self._rounds.part(), self.budget.mu
        part.charge_gaussian(
            "batch: charged, not released",
            mu=mu,
            sensitivity=1.0,
            scale=1 / mu,
            draws=0,
            note="dropped on resume",
            purpose=Purpose.BATCHES,
        )
        self._rounds.finish()

    def _warn(self, found: list[ReleaseWarning]) -> None:
        """Show each kind of warning once, and keep it for releases."""
        new = [one for one in found if one.code not in self._warned]
        self._warned.update({one.code: one for one in new})
        show(new)

    # -- inside: checkpoints ---------------------------------------------------------------------

    def _public(self, *, closing: bool) -> dict[str, Any]:
        """Everything but the open batch, all of it public."""
        state = self._progress.state
        options = {**self._options, "memory": repr(self._options["memory"])}
        return {
            "schema": _SCHEMA,
            "what": "a checkpoint of eigenveil's TrackedStream: releases only",
            "options": options,
            "columns": None if self._schema is None else [self._schema[0], self._schema[1]],
            "id_kind": self._id_kind,
            "closed_slots": self._partition.end,
            "open_slots": self._open.filled,
            "closing": closing,
            "rounds": self._progress.rounds,
            "last": self._progress.last,
            "warnings": [one.to_plain() for one in self._warned.values()],
            "drift": self._progress.drift,
            "state": None if state is None else _pack_state(state),
            "seeded_position": None if self._source is None else self._source.position,
            "ledger": json.loads(self.ledger.to_json()),
        }

    def _raw(self) -> Iterator[dict[str, Any]]:
        yield {"key": self._seen.key.hex(), "before": self.batches, "ids": pack_hashes(self._seen.hashes)}
        batch = self._open
        if batch.filled:
            yield {
                "batch": self.batches,
                "rows": pack(batch.values),
                "empty": pack(batch.empty),
                "ids": pack_hashes(batch.ids),
            }

    @classmethod
    def _from_public(cls, public: dict[str, Any], engine: Engine | None) -> Self:
        if public["schema"] != _SCHEMA:
            raise InvalidInputError(f"expected a checkpoint of schema {_SCHEMA}, got {public['schema']!r}.")
        options = {**public["options"], "memory": float(public["options"]["memory"])}
        stream = cls(**options, engine=engine)
        # the file is the account, and `Checkpoint.take` makes this stream the one that holds it
        ledger = as_account(Ledger.from_json(json.dumps(public["ledger"])))
        if ledger.budget != stream.budget or ledger.relation is not Relation.EMPTY_SLOT:
            raise InvalidInputError(
                "the ledger of this checkpoint has another budget or relation than its stream."
            )
        seed, position = options["random_state"], public["seeded_position"]
        stream._partition.end = int(public["closed_slots"])
        stream._attach(ledger, None if seed is None else SeededBytes(seed, position=int(position)))
        if public["columns"] is not None:
            width, names = public["columns"]
            stream._schema = (int(width), None if names is None else tuple(names))
        stream._id_kind = public["id_kind"]
        state = None if public["state"] is None else _unpack_state(public["state"])
        stream._progress = Progress(state, int(public["rounds"]), float(public["drift"]), dict(public["last"]))
        kept = map(ReleaseWarning.from_plain, public["warnings"])
        stream._warned = {one.code: one for one in kept}
        return stream

    def _read_raw(self, checkpoint: Checkpoint, *, open_slots: int) -> None:
        """The open batch and the ids of closed ones; of a batch that has closed since, only its ids."""
        batches = self.batches + (1 if checkpoint.read()["closing"] else 0)
        key = None
        for record in checkpoint.read_raw():
            if "key" in record:
                key = bytes.fromhex(record["key"])
                self._seen.hashes |= unpack_hashes(record["ids"])
            elif "batch" in record and record["batch"] < batches and not self._seen.forget:
                self._seen.hashes |= unpack_hashes(record["ids"])
            elif "rows" in record and record["batch"] == batches and open_slots:
                self._open.take(unpack(record["rows"])[:open_slots], unpack(record["empty"])[:open_slots])
                self._open.ids = unpack_hashes(record["ids"])
        if (key is None and self._options["units"] == "people") or self._open.filled != open_slots:
            raise InvalidInputError(
                f"the file with raw data, {str(checkpoint.raw_path)!r}, is missing or does not fit.",
                hint="Both files belong together; without the one with raw data the open batch cannot go on.",
            )
        if key is not None:
            self._seen.key = key


def _with_sampling(
    answer: Answer, state: State, columns: FloatArray, *, k: int, n_hat: float, radius: float
) -> Answer:
    """The answer with the chance of which units came added to its noise: at most R^2/n_hat over all entries.

    Of that, wanted columns get the share that released eigenvalues suggest.
    """
    size = state.eigenvalues[: columns.size] * columns**2
    share = float(np.mean(size[:k]) / size.sum())
    chance = radius**2 * share / (n_hat * state.d)
    return dataclasses.replace(answer, variance=answer.variance + chance / columns**2)


def _surprise(answer: Answer, state: State, *, k: int) -> float:
    """How much more than noise lies outside the span of V, over the noise's variance: mean of wanted columns."""
    d, M = state.V.shape
    if d == M:
        return 0.0
    outside = answer.product - state.V @ (state.V.T @ answer.product)
    energy = np.sum(outside**2, axis=0) / (d - M)
    return float(np.mean((energy / answer.variance)[:k])) - 1


def _lost(answer: Answer, state: State, *, k: int) -> bool:
    """Whether the wanted directions hold, beyond noise, less than half of the variance that was known: a jump."""
    found = float(np.sum(state.V[:, :k] * answer.product[:, :k]))
    noise = math.sqrt(float(np.sum(answer.variance[:k]))) / answer.inside
    return found + 3 * noise < float(state.eigenvalues[:k].sum()) / 2


def _loosened(known: State, answer: Answer, drift: float) -> State:
    """What is known, with no less variance than the drift, in units of the answer's noise, tells."""
    m = answer.variance.size
    least = np.zeros(known.eigenvalues.size)
    least[:m] = max(drift, 0.0) * answer.variance
    return dataclasses.replace(
        known,
        outside=np.maximum(known.outside, least),
        inside=np.maximum(known.inside, least / answer.inside**2),
    )


def _faded(state: State, growth: float, k: int) -> State:
    """What is known of the first k directions, as of one batch ago; of the others nothing new will be asked."""
    grown = np.ones(state.eigenvalues.size)
    grown[:k] = growth
    return dataclasses.replace(state, outside=state.outside * grown, inside=state.inside * grown)


def default_batch_size(d: int, m: int, *, mu: float) -> int:
    """Slots in a batch, from public numbers: quiet counts, and noise on d x m entries well below what they hold.

    Examples
    --------
    >>> default_batch_size(100, 7, mu=0.2367)
    2236
    """
    return math.ceil(max(_count_noise(mu) / FEW, 20 * math.sqrt(d * m) / mu))


def _count_noise(mu: float) -> float:
    """Noise of the counts in a round's radius search."""
    return count_noise(mu * math.sqrt(DEFAULT.curve_share))


def _check_options(
    k: int, batch_size: int | None, oversampling: int, memory: float, units: str, *, ids_never_return: bool
) -> None:
    check_k(k, k if isinstance(k, int) and k >= 1 else 1)
    if batch_size is not None:
        whole("batch_size", batch_size, least=1)
    whole("oversampling", oversampling, least=0)
    if not memory > 1:
        raise InvalidInputError(f"memory must be a number of batches above 1, got {memory!r}.")
    if units not in _ONE_SLOT:
        raise InvalidInputError(
            f"units must be 'rows' or 'people', got {units!r}.", hint="The ids go to add(block, units=ids)."
        )
    if ids_never_return and units != "people":
        raise InvalidInputError("ids_never_return is about people; this stream was made with units='rows'.")


_ARRAYS = ("V", "eigenvalues", "outside", "inside")


def _pack_state(state: State) -> dict[str, Any]:
    """The state as plain numbers; a stream never asks for Sigma itself."""
    return {"rest": state.rest, **{name: pack(getattr(state, name)) for name in _ARRAYS}}


def _unpack_state(plain: dict[str, Any]) -> State:
    return State(rest=float(plain["rest"]), **{name: unpack(plain[name]) for name in _ARRAYS})
