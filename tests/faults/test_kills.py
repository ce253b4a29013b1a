"""kill -9 at every operation on files and at random instants: fits with a ledger file, streams, and `save`."""

import itertools
import random
import signal
import warnings
from collections import Counter

import pytest

import eigenveil as ev
from eigenveil.algorithms.stream.batch import OpenBatch
from eigenveil.algorithms.stream.tracked_stream import TrackedStream
from eigenveil.privacy import Budget
from eigenveil.sources.people.identities import bytes_to_hash
from faults import ledgers, work
from faults.conftest import KILLED
from persistence.test_round_trip import assert_same
from support.recompute import recompute

TORN = -signal.SIGXFSZ
REFUSED = 3
REQUESTED = Budget.from_epsilon_delta(1.0, 1e-6).mu
"""What each fit requests, by default."""


def kill_at_random(trials, marks, *, kills, seed):
    """Run trials until so many were killed, up to 4 ms after a random mark: a quick one may end before that."""
    rng, wanted = random.Random(seed), trials.killed + kills
    for _ in range(6 * kills):
        trials.run(kill=[rng.randrange(marks), rng.uniform(0, 0.004)])
        if trials.killed == wanted:
            return
    pytest.fail(f"only {trials.killed} of {wanted} were killed")


# -- fits with a ledger file ---------------------------------------------------------------------


class Fits:
    """Fits that charge one ledger file, one after the other, some of which are killed."""

    def __init__(self, server, data, folder, algorithm):
        self._server, self._data, self._algorithm = server, data, algorithm
        self._folders = (folder / str(number) for number in itertools.count())
        self.refused = self.killed = 0
        self.start()

    def start(self):
        self.folder, self.granted = next(self._folders), []
        self.folder.mkdir()
        self.book = self.folder / "budget.json"

    def run(self, **fault):
        """Run a fit with this fault, check everything, and return what became of it."""
        before = ledgers.read(self.book)
        flags = ["--ledger", "budget.json", "--cap-epsilon", "4", "--out", "model", "--force"]
        line = ["fit", str(self._data / "rows.parquet"), "--algorithm", self._algorithm, *flags]
        found = self._server("command", self.folder, line=line, **fault)
        self.granted += found.granted
        ledger = ledgers.check(self.book, self.granted)
        if (self.folder / "model").exists():
            assert ev.load(self.folder / "model").ledger_.private
        if found.status == REFUSED:
            assert before.remaining_mu < REQUESTED, "refused although the budget covers it"
            assert not found.granted
            self.refused += 1
            self.start()
        elif found.status in (KILLED, TORN):
            self.killed += 1
        else:
            assert found.status == 0, found.err
            assert len(found.granted) > 3
            assert ledger.mu**2 >= (0 if before is None else before.mu**2) + 0.99 * REQUESTED**2
        return found


def test_fits_killed_around_their_first_charge(server, data, tmp_path):
    fits = Fits(server, data, tmp_path, "dp-gauss-1")
    done = fits.run()
    done.check_synced()
    whole = done.marks
    first = next(number for number, mark in enumerate(whole) if "granted" in mark)
    assert whole[first + 1].keys() == {"drawn"}
    for last in range(first - 6, first + 2):
        fits.run(last_mark=last)
    assert fits.run(torn=3000).status == TORN  # in the middle of a write
    fits.start()
    assert fits.run(torn=100).status == TORN
    assert not fits.book.exists()
    assert fits.run().status == 0, "a restart goes on"
    assert fits.killed == 10


@pytest.mark.slow
def test_fits_killed_at_every_mark(server, data, tmp_path, tried):
    fits = Fits(server, data, tmp_path, "dp-gauss-1")
    marks = len(fits.run().marks)
    for last in range(marks):
        fits.run(last_mark=last)
        if last % 20 == 0:
            fits.run()
    recompute(ledgers.read(fits.book))
    assert fits.killed >= 0.9 * marks
    tried(
        "SIGKILL before each file operation and grant of a fit with a ledger file",
        fits.killed,
        "every grant of noise is in the file; the file is whole; the cap holds; restart goes on",
    )


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["tracked", "dp-gauss-1"])
def test_fits_killed_at_random_instants(server, data, tmp_path, algorithm, tried):
    fits = Fits(server, data, tmp_path, algorithm)
    kill_at_random(fits, len(fits.run().marks), kills=80, seed=1)
    tried(
        f"SIGKILL at random instants of a fit with a ledger file ({algorithm})",
        fits.killed,
        "as above; a fit is refused if and only if the budget does not cover it",
    )


# -- streams with checkpoints --------------------------------------------------------------------


class Streams:
    """A stream that is killed and continued from its checkpoint, again and again."""

    ARRIVALS = 6 * work.BATCH

    def __init__(self, server, folder, units):
        self._server, self._units = server, units
        self._folders = (folder / str(number) for number in itertools.count())
        self.killed = 0
        self.start()

    def start(self):
        self.folder = next(self._folders)
        self.folder.mkdir()
        self.path, self.used = self.folder / "checkpoint", Counter()

    def run(self, **fault):
        """Start or continue the stream, check everything, and return what became of it."""
        before = self._loaded()
        settings = {"units": self._units, "arrivals": self.ARRIVALS, "save_every": 15}
        found = self._server("stream", self.folder, path="checkpoint", **settings, **fault)
        closing = None
        for mark in found.marks:
            closing = mark.get("closing", closing)
            if "granted" in mark:
                self.used[closing] += mark["granted"][1] ** 2
        self.killed += found.status in (KILLED, TORN)
        assert found.status in (0, KILLED, TORN), found.err
        after = self._loaded()
        if after is None:
            assert not self.used
            return found
        assert after.arrivals >= (0 if before is None else before.arrivals), "nothing is used twice"
        if self.used:
            assert after.batches > max(self.used), "a batch whose noise could have been seen counts as closed"
            assert after.ledger.mu**2 >= max(self.used.values()) * (1 - 1e-9)
        assert after.ledger.mu <= REQUESTED * (1 + 1e-9)
        assert after.arrivals >= after.batches * work.BATCH
        if self._units == "people":
            ids = [work.arrival(number)[1] for number in range(after.arrivals)]
            later = OpenBatch()
            after._seen.empty(list(bytes_to_hash(ids[after.batches * work.BATCH :])), later)
            assert after._open.ids == later.ids, "ids of the open batch are those of its rows"
            assert after._seen.empty(list(bytes_to_hash(ids[: after.batches * work.BATCH])), later).all()
        if found.status == 0:
            assert after.batches == self.ARRIVALS // work.BATCH
            self.start()
        return found

    def _loaded(self):
        """The stream as its checkpoint has it; its files are put back, as if nobody had loaded it."""
        files = {path: path.read_bytes() for path in self.folder.iterdir() if path.name.startswith("checkpoint")}
        if self.path not in files:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            stream = TrackedStream.load(self.path)
        for path, content in files.items():
            path.write_bytes(content)
        return stream


@pytest.mark.parametrize("units", ["rows", "people"])
def test_streams_killed_at_every_file_operation_of_two_batches(server, tmp_path, units):
    streams = Streams(server, tmp_path, units)
    done = streams.run()
    done.check_synced()
    whole = done.marks
    closes = [number for number, mark in enumerate(whole) if "closing" in mark]
    for last in range(closes[0] - 22, closes[0] + 14):
        streams.run(last_mark=last)
        streams.start()
    for last in (3, 11, 17, 25, 33, 60):  # one stream, killed again and again
        streams.run(last_mark=last)
    streams.run(torn=900)
    streams.run()
    assert streams.killed >= 30


@pytest.mark.slow
@pytest.mark.parametrize("units", ["rows", "people"])
def test_streams_killed_at_random_instants(server, tmp_path, units, tried):
    streams = Streams(server, tmp_path, units)
    marks = len(streams.run().marks)
    for last in range(110):  # two batches and several saves
        streams.run(last_mark=last)
        streams.start()
    kill_at_random(streams, marks // 2, kills=75, seed=2)
    assert streams.killed >= 170
    tried(
        f"SIGKILL at every mark and at random instants of a stream with checkpoints ({units})",
        streams.killed,
        "a batch whose noise could have been seen counts as closed; its rows and ids are not used again",
    )


# -- save ----------------------------------------------------------------------------------------


class Saves:
    """Models that are saved to one folder, new or over the other model; some saves are killed."""

    def __init__(self, server, folder, *, there):
        self._server, self._folder, self._there = server, folder, there
        self._numbers = itertools.count()
        self.killed = 0

    def run(self, **fault):
        path = self._folder / f"model{next(self._numbers)}"
        if self._there:
            ev.save(work.FITTED[1], path)
        found = self._server("save", self._folder, number=2, path=str(path), **fault)
        assert found.status in (0, KILLED, TORN), found.err
        self.killed += found.status != 0
        if path.exists():
            again = ev.load(path)
            assert again.random_state in ((1, 2) if self._there and found.status else (2,))
            assert_same(work.FITTED[again.random_state], again)
        else:
            assert found.status
            assert not self._there
        ev.save(work.FITTED[2], path)
        assert_same(work.FITTED[2], ev.load(path))
        return found


@pytest.mark.parametrize("there", [False, True])
def test_saves_killed_at_every_file_operation(server, tmp_path, there):
    saves = Saves(server, tmp_path, there=there)
    marks = len(saves.run().marks)
    for last in range(marks):
        saves.run(last_mark=last)
    for size in (1, 100, 3000):
        saves.run(torn=size)
    assert saves.killed == marks + 3


@pytest.mark.slow
@pytest.mark.parametrize("there", [False, True])
def test_saves_killed_at_random_instants(server, tmp_path, there, tried):
    saves = Saves(server, tmp_path, there=there)
    kill_at_random(saves, len(saves.run().marks), kills=150, seed=3)
    tried(
        f"SIGKILL at random instants of `save` ({'over a model' if there else 'new folder'})",
        saves.killed,
        "the folder has the old model or the new one, to the bit, or is absent; saving again works",
    )
