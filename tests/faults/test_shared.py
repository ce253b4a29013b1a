"""Several processes on one ledger file or checkpoint: no entry is lost, and no budget is spent twice."""

import random
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from eigenveil.algorithms.stream.tracked_stream import TrackedStream
from eigenveil.errors import InvalidInputError
from eigenveil.privacy import Budget
from faults import ledgers, work
from faults.conftest import KILLED, Server

REFUSED = 3


@pytest.fixture(scope="module")
def servers(server):
    """Four servers, three of which are started when they are needed."""
    more = []

    def first(number):
        more.extend(Server() for _ in range(number - 1 - len(more)))
        return [server, *more][:number]

    yield first
    for one in more:
        one.close()


def fit_once(server, data, folder, book, *, epsilon, kill=None):
    """One fit that charges the ledger file."""
    flags = ["--ledger", str(book), "--cap-epsilon", "1", "--epsilon", str(epsilon), "--json"]
    line = ["fit", str(data / "rows.parquet"), "--algorithm", "dp-gauss-1", *flags]
    return server("command", folder, line=line, kill=kill)


def spend_all(server, data, folder, book, *, epsilon, kills):
    """Fit again and again until the ledger file refuses; a busy file is tried again, as the error says."""
    folder.mkdir()
    outcomes = []
    while not outcomes or outcomes[-1].status != REFUSED:
        outcomes.append(fit_once(server, data, folder, book, epsilon=epsilon, kill=next(kills, None)))
        last = outcomes[-1]
        if last.status == 1:
            assert "another process or thread is charging" in last.err
            assert not last.granted
        else:
            assert last.status in (0, REFUSED, KILLED), last.err
    return outcomes


def share(servers, data, tmp_path, *, epsilon, kills=()):
    """Let every server spend all of one ledger file; check the file, and return the outcomes."""
    book = tmp_path / "budget.json"
    first = fit_once(servers[0], data, tmp_path, book, epsilon=epsilon)  # makes the file: a link needs one
    (tmp_path / "link.json").symlink_to(book)  # every second process knows the file by another name
    names = [book, tmp_path / "link.json"] * 2
    kills = iter([*kills])
    with ThreadPoolExecutor(len(servers)) as pool:
        jobs = [
            pool.submit(
                spend_all, server, data, tmp_path / str(number), names[number], epsilon=epsilon, kills=kills
            )
            for number, server in enumerate(servers)
        ]
        outcomes = [first, *(outcome for job in jobs for outcome in job.result(timeout=900))]
    granted = [grant for outcome in outcomes for grant in outcome.granted]
    ledger = ledgers.check(book, granted)
    assert (tmp_path / "link.json").is_symlink(), "one account, whatever its name"
    killed = sum(outcome.status == KILLED for outcome in outcomes)
    if not killed:
        assert ledgers.charged(ledger).total() == len(granted), "nothing but what was granted"
    assert ledger.remaining_mu < Budget.from_epsilon_delta(epsilon, 1e-6).mu
    return outcomes


def test_two_processes_share_a_ledger_file(servers, data, tmp_path):
    outcomes = share(servers(2), data, tmp_path, epsilon=0.6)
    assert sum(outcome.status == 0 for outcome in outcomes) == 2


@pytest.mark.slow
@pytest.mark.parametrize("processes", [2, 4])
def test_processes_share_a_ledger_file(servers, data, tmp_path, processes, tried):
    outcomes = share(servers(processes), data, tmp_path, epsilon=0.15)
    done = sum(outcome.status == 0 for outcome in outcomes)
    assert done > 20
    tried(
        f"{processes} processes charge one ledger file, half of them by a symbolic link",
        f"{done} fits and {sum(outcome.status == 1 for outcome in outcomes)} that met a lock",
        "the file has exactly the charges of all processes; the cap holds; all come to an end",
    )


@pytest.mark.slow
def test_processes_that_share_a_ledger_file_are_killed(servers, data, tmp_path, tried):
    rng = random.Random(4)
    kills = [[rng.randrange(60), rng.uniform(0, 0.004)] for _ in range(60)]
    outcomes = share(servers(4), data, tmp_path, epsilon=0.15, kills=kills)
    killed = sum(outcome.status == KILLED for outcome in outcomes)
    assert killed > 20
    tried(
        "4 processes charge one ledger file and are killed at random instants",
        killed,
        "no charge is lost; a killed process does not keep the lock; the cap holds",
    )


# -- checkpoints ---------------------------------------------------------------------------------


def used_batches(outcome):
    """The batches of which noise was granted."""
    used, closing = set(), None
    for mark in outcome.marks:
        closing = mark.get("closing", closing)
        if "granted" in mark:
            used.add(closing)
    return used


def race(servers, folder, *, pause):
    """One stream pauses at a mark while another one is loaded from its checkpoint and goes on."""
    folder.mkdir()
    settings = {"units": "rows", "save_every": 25, "path": "checkpoint"}
    first = servers[0]("stream", folder, arrivals=work.BATCH // 2, **settings)
    assert first.status == 0, first.err
    found = []
    slow = threading.Thread(
        target=lambda: found.append(servers[0]("stream", folder, arrivals=4 * work.BATCH, pause=pause, **settings))
    )
    slow.start()
    while slow.is_alive() and not (folder / "paused").exists():
        time.sleep(0.01)
    found.append(servers[1]("stream", folder, arrivals=4 * work.BATCH, **settings))
    (folder / "go").touch()
    slow.join()
    both = [used_batches(outcome) for outcome in found]
    assert not both[0] & both[1], "a batch was released twice"
    assert sorted(outcome.status for outcome in found) in ([0, 0], [0, 70]), [outcome.err for outcome in found]
    assert all("another stream has loaded" in outcome.err for outcome in found if outcome.status)
    assert len(both[0] | both[1]) >= 3


@pytest.mark.parametrize("pause", [11, 14])
def test_two_streams_race_for_a_checkpoint(servers, tmp_path, pause):
    race(servers(2), tmp_path / "race", pause=pause)


@pytest.mark.slow
def test_two_streams_race_at_every_mark(servers, tmp_path, tried):
    for pause in range(1, 61):
        race(servers(2), tmp_path / str(pause), pause=pause)
    tried(
        "a stream is loaded from a checkpoint while the one that holds it is at work",
        60,
        "no batch is released twice; the stream that lost the checkpoint is refused",
    )


def test_a_stream_killed_over_the_checkpoint_of_another(server, tmp_path):
    """The ids of the old stream are gone. It is refused, and does not go on as if it had seen nobody."""
    settings = {"units": "people", "arrivals": 2 * work.BATCH, "save_every": 25}  # no open rows in the last file
    assert server("stream", tmp_path, path="old", **settings).status == 0
    assert server("stream", tmp_path, path="new", **settings, last_mark=10).status == KILLED
    shutil.copy(tmp_path / "new.RAW-DATA", tmp_path / "old.RAW-DATA")
    with pytest.raises(InvalidInputError, match="belongs to another checkpoint"):
        TrackedStream.load(tmp_path / "old")
