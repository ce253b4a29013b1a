"""A ledger file is written by one process at a time, shows all that its ledger does, and is refused if forged."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack, nullcontext
from pathlib import Path

import numpy as np
import pytest

import eigenveil as ev
from eigenveil import _atomic_files
from eigenveil.algorithms.oracles.oja import Oja
from eigenveil.errors import EigenveilError, InvalidInputError, UnreadableError
from eigenveil.mechanisms.noise.veil import Veil
from eigenveil.persistence import ledger_file
from eigenveil.persistence.ledger_file import Account, RequestedBudget, open_ledger, read_ledger
from eigenveil.persistence.outputs import check_outputs_apart
from eigenveil.privacy import Budget
from support.forks import forking, in_a_fork


def account(path, mu=0.8):
    return Account(path=path, requested=RequestedBudget(fit=Budget.from_mu(mu)))


def charge(ledger, mu=0.8):
    ledger.charge_gaussian("x", mu=mu, sensitivity=1.0, scale=1 / mu)


@pytest.fixture
def book(tmp_path):
    path = tmp_path / "book.json"
    with open_ledger(account(path)) as ledger:
        charge(ledger, 0.3)
    return path


def test_a_mark_after_the_last_charge_is_written(book):
    with open_ledger(account(book, 0.1)) as ledger:
        charge(ledger, 0.1)
        ledger.mark_not_private("a test")
    assert read_ledger(book).reasons == ("a test",)


def use(path, *steps, mu=0.1):
    """Open the ledger, and call the steps with it."""
    with open_ledger(account(path, mu)) as ledger:
        for step in steps:
            step(ledger)


def mark(ledger):
    ledger.mark_not_private("a test")


def fail(_):
    raise ZeroDivisionError


def test_a_mark_is_in_the_file_at_once(book):
    """A kill must not hide it: its result may be on the screen, and nothing need be charged for it."""
    use(book, mark, lambda _: mark_is_in(book))


def mark_is_in(book):
    assert read_ledger(book).reasons == ("a test",)


@pytest.mark.parametrize("fails", [False, True])
def test_a_ledger_is_not_charged_after_its_block(book, fails):
    """Its file would not see the charge."""
    kept, grants = [], []

    def grant(ledger):
        kept.append(ledger)
        grants.append(Veil(ledger).gaussian("x", mu=0.05, sensitivity=1.0, draws=1))

    with pytest.raises(ZeroDivisionError) if fails else nullcontext():
        use(book, grant, *[fail] * fails)
    after = book.read_bytes()
    for late in (lambda: charge(kept[0], 0.01), lambda: grants[0].release(grants[0].on_grid(np.zeros(1)))):
        with pytest.raises(
            InvalidInputError, match=r"(?s)this ledger is a copy.*closed again.*Open a ledger file"
        ):
            late()
    assert book.read_bytes() == after
    assert kept[0].mu == read_ledger(book).mu


@pytest.mark.parametrize("function", ["as_copy", "wait"])
def test_an_interrupt_at_the_end_of_the_block_leaves_no_ledger_that_can_be_charged(book, monkeypatch, function):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(ledger_file if function == "as_copy" else ledger_file._LedgerFile, function, interrupted)
    kept = []
    with pytest.raises(KeyboardInterrupt):
        use(book, kept.append, charge_a_little)
    after = book.read_bytes()
    for late in (charge_a_little, mark):
        with pytest.raises(EigenveilError, match=r"(?s)is closed.*Open"):
            late(kept[0])
    assert book.read_bytes() == after


def test_threads_that_go_on_after_the_block_charge_nothing_that_the_file_does_not_show(book):
    accepted, refused, stop = [], [], threading.Event()

    def work(ledger, name):
        while not stop.is_set():
            note = f"{name}, {len(accepted)}"
            try:
                ledger.charge_gaussian("x", mu=1e-3, sensitivity=1.0, scale=1e3, note=note)
            except EigenveilError as error:
                refused.append(error)
                return
            accepted.append(note)

    threads = []
    try:
        with open_ledger(account(book, 0.5)) as ledger:
            threads += [threading.Thread(target=work, args=(ledger, name), daemon=True) for name in "ab"]
            for thread in threads:
                thread.start()
            stop.wait(0.2)
        for thread in threads:
            thread.join(30)
    finally:
        stop.set()
    assert len(refused) == 2
    assert set(accepted) <= {entry.note for entry in read_ledger(book).entries}


def test_a_write_that_is_overtaken_by_the_end_of_the_block_is_given_up(book, monkeypatch):
    """As by a signal handler, or by two interrupts: the lock may be free, and the file that of another process."""
    to_disk, block = _atomic_files.to_disk, ExitStack()

    def closed_meanwhile(path):
        monkeypatch.setattr(_atomic_files, "to_disk", to_disk)
        with pytest.raises(EigenveilError, match="writing the ledger file"):
            block.close()
        use(book, lambda other: charge(other, 0.02))
        to_disk(path)

    ledger = block.enter_context(open_ledger(account(book, 0.1)))
    monkeypatch.setattr(_atomic_files, "to_disk", closed_meanwhile)
    with pytest.raises(EigenveilError, match="is closed; nothing more is charged or drawn"):
        charge(ledger, 0.01)
    assert [entry.mu for entry in read_ledger(book).entries] == [0.3, 0.02]


@forking
def test_a_process_that_is_forked_while_a_thread_writes_does_not_hang(book, monkeypatch):
    to_disk, begun, go_on = _atomic_files.to_disk, threading.Event(), threading.Event()

    def slow(path):
        begun.set()
        go_on.wait(60)
        to_disk(path)

    def in_the_child():
        signal.alarm(30)
        mark(ledger)

    with open_ledger(account(book, 0.1)) as ledger:
        monkeypatch.setattr(_atomic_files, "to_disk", slow)
        thread = threading.Thread(target=charge_a_little, args=(ledger,))
        thread.start()
        begun.wait(30)
        assert "belongs to the process that opened it" in in_a_fork(in_the_child)
        go_on.set()
        thread.join(30)
    assert len(read_ledger(book).entries) == 2


def test_nothing_is_marked_after_the_block(book):
    """Oja's algorithm charges nothing: its mark would be lost."""
    kept = []
    use(book, kept.append)
    rows = np.random.default_rng(0).normal(size=(200, 3)) * [3, 1, 1]
    with pytest.raises(EigenveilError, match="this ledger is a copy"):
        ev.black_box_pca(rows, 1, Oja(), ledger=kept[0])
    assert read_ledger(book).private


def test_a_mark_that_could_not_be_written_is_written_when_it_is_made_again(book, monkeypatch):
    write = Path.write_bytes

    def full(*_):
        monkeypatch.setattr(Path, "write_bytes", write)
        raise OSError(errno.ENOSPC, "No space left on device")

    def twice(ledger):
        monkeypatch.setattr(Path, "write_bytes", full)
        with pytest.raises(InvalidInputError, match="No space left"):
            mark(ledger)
        mark(ledger)

    use(book, twice, lambda _: mark_is_in(book))


def test_a_working_folder_that_is_gone(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(InvalidInputError, match=r"'book\.json' could not be written: No such file"):
        account(Path("book.json"))


def test_a_relative_path_is_that_of_the_folder_at_first(book, tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    shutil.copy(book, tmp_path / "other")
    before = book.read_bytes()
    monkeypatch.chdir(tmp_path)
    use(Path(book.name), lambda _: os.chdir("other"), charge_a_little)
    assert (tmp_path / "other" / "book.json").read_bytes() == before
    assert len(read_ledger(book).entries) == 2


def charge_a_little(ledger):
    charge(ledger, 0.01)


def test_a_charge_within_a_charge_is_refused(book, monkeypatch):
    """As by the handler of a signal: it would wait for itself, or its entry would be lost."""
    fsync, refused = os.fsync, []

    def interrupted(handle):
        monkeypatch.setattr(os, "fsync", fsync)
        try:
            charge(kept[0], 0.02)
        except EigenveilError as error:
            refused.append(error.fact)
        fsync(handle)

    kept = []
    use(book, kept.append, lambda _: monkeypatch.setattr(os, "fsync", interrupted), charge_a_little)
    assert "this thread is writing the ledger file" in refused[0]
    assert read_ledger(book).mu == kept[0].mu


def test_a_charge_that_was_written_although_an_error_followed_is_known(book, monkeypatch):
    to_disk = _atomic_files.to_disk

    def fails(path):
        if path == book.parent:
            monkeypatch.setattr(_atomic_files, "to_disk", to_disk)
            raise OSError(5, "Input/output error")
        to_disk(path)

    def refused(ledger):
        monkeypatch.setattr(_atomic_files, "to_disk", fails)
        with pytest.raises(InvalidInputError, match="Input/output error"):
            charge(ledger, 0.02)

    use(book, refused, charge_a_little)
    assert [entry.mu for entry in read_ledger(book).entries] == [0.3, 0.02, 0.01]


def test_a_mark_before_an_error_is_written_and_the_error_is_kept(book):
    with pytest.raises(ZeroDivisionError):
        use(book, mark, fail)
    assert read_ledger(book).reasons == ("a test",)


def test_the_first_error_is_kept_if_the_file_cannot_be_written(book):
    with pytest.raises(ZeroDivisionError):
        use(book, unwritten, lambda _: book.unlink(), fail)
    assert not book.exists()


def unwritten(ledger):
    """A change that is written at the end of the block only."""
    ledger._not_private.append("a test")


def test_the_first_error_is_kept_if_the_file_cannot_be_read(book, monkeypatch):
    def fails(_):
        monkeypatch.setattr(Path, "read_bytes", lambda _: os.open("/dev/null/x", os.O_RDONLY))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        use(book, unwritten, fails)
    with pytest.raises(UnreadableError, match="could not be read: Not a directory"):
        read_ledger(book)


def test_a_file_system_without_locks_is_refused(book, monkeypatch):
    def without(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(_atomic_files.fcntl, "flock", without)
    with pytest.raises(EigenveilError, match="a file system without locks"):
        use(book, charge_a_little)


ORPHAN = """
import os, pathlib, signal, sys, time
from eigenveil.persistence.ledger_file import Account, RequestedBudget, open_ledger
from eigenveil.privacy import Budget

account = Account(path=pathlib.Path(sys.argv[1]), requested=RequestedBudget(fit=Budget.from_mu(0.1)))
with open_ledger(account):
    if not (child := os.fork()):
        os.close(1)
        os.close(2)
        time.sleep(60)
    print(child, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_lock_ends_with_its_process_and_not_with_a_forked_one(book):
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", ORPHAN, str(book)], check=False, timeout=60, capture_output=True, text=True
    )
    try:
        use(book, charge_a_little)
    finally:
        os.kill(int(done.stdout), signal.SIGKILL)


@pytest.mark.parametrize("function", ["_unlock", "_lock_of"])
def test_an_interrupt_leaves_nothing_locked(book, monkeypatch, function):
    """As a second ^C while the first one ends the block."""
    flock = _atomic_files.fcntl.flock

    def interrupted(file, how):
        if how != _atomic_files.fcntl.LOCK_UN:
            flock(file, how)
        if sys._getframe(1).f_code.co_name == function:
            monkeypatch.setattr(_atomic_files.fcntl, "flock", flock)
            raise KeyboardInterrupt

    monkeypatch.setattr(_atomic_files.fcntl, "flock", interrupted)
    with pytest.raises(KeyboardInterrupt) as kept:  # as the last traceback is in a notebook
        use(book)
    use(book, charge_a_little)
    assert kept.traceback


def test_two_holders_after_the_lock_was_removed(tmp_path):
    path, lock = tmp_path / "book.json", tmp_path / ".book.json.lock"
    with pytest.raises(EigenveilError, match="changed by someone else"):
        use(path, lambda _: lock.unlink(), lambda _: use(path, charge, mu=0.8), charge, mu=0.8)
    assert len(read_ledger(path).entries) == 1


@pytest.mark.parametrize("change", [lambda path: path.unlink(), lambda path: path.write_text("{}")])
def test_a_file_that_was_changed_is_not_charged(book, change):
    with pytest.raises(EigenveilError, match="nothing more is charged"):
        use(book, lambda _: change(book), lambda ledger: charge(ledger, 0.1))
    assert not book.exists() or book.read_text() == "{}"


def test_a_file_that_got_a_second_name_is_not_charged(book):
    other = book.with_name("other.json")
    before = book.read_bytes()
    with pytest.raises(EigenveilError, match="one name"):
        use(book, lambda _: other.hardlink_to(book), lambda ledger: charge(ledger, 0.1))
    assert book.read_bytes() == other.read_bytes() == before


@pytest.mark.skipif(not _atomic_files.CAN_LOCK, reason="no file locks")
def test_a_lock_that_was_removed_while_it_was_taken_is_taken_again(tmp_path, monkeypatch):
    lock, taken = tmp_path / ".book.json.lock", []
    flock = _atomic_files.fcntl.flock

    def removed_first(handle, how):
        flock(handle, how)
        if how == _atomic_files.fcntl.LOCK_UN:
            return
        taken.append(handle)
        if len(taken) == 1:
            lock.unlink()

    monkeypatch.setattr(_atomic_files.fcntl, "flock", removed_first)
    with _atomic_files.locked(tmp_path / "book.json"):
        assert len(taken) == 2
        assert lock.exists()


FORKED = """
import os, pathlib, sys
from eigenveil.errors import EigenveilError
from eigenveil.persistence.ledger_file import Account, RequestedBudget, open_ledger
from eigenveil.privacy import Budget

account = Account(path=pathlib.Path(sys.argv[1]), requested=RequestedBudget(fit=Budget.from_mu(0.1)))
go, gone = os.pipe()
try:
    with open_ledger(account) as ledger:
        child = os.fork()
        if not child:
            os.close(gone)
            os.read(go, 1)  # until the parent has left the block, and does not hold the lock any more
            if sys.argv[2] == "number of the parent":
                os.getpid = os.getppid
            if sys.argv[2] != "charge":
                ledger.mark_not_private("a test")
            else:
                ledger.adopt().charge_gaussian("x", mu=0.1, sensitivity=1.0, scale=10.0)
except EigenveilError as error:
    print(error.fact)
if child:
    os.close(gone)
    os.waitpid(child, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize("how", ["mark", "charge", "number of the parent"])
def test_a_forked_process_does_not_write_the_file_of_its_parent(book, how):
    before = book.read_bytes()
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", FORKED, str(book), how], check=True, timeout=60, capture_output=True, text=True
    )
    assert "belongs to the process that opened it" in done.stdout
    assert book.read_bytes() == before


def damaged(book, change):
    plain = json.loads(book.read_text())
    change(plain)
    return json.dumps(plain)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda book: book.read_text().rstrip()[:-1] + ', "entries": []}', "duplicate"),
        (lambda book: damaged(book, lambda plain: plain["entries"][0].update(scale=float("inf"))), "not finite"),
        (lambda book: book.read_text().replace('"draws": 1', '"draws": 1, "draws": 1'), "duplicate"),
        (
            lambda book: damaged(
                book, lambda plain: plain["entries"].append({"parallel": "x", "parts": [[], []], "finished": -3})
            ),
            "at least 0",
        ),
    ],
)
def test_forged_files_are_refused(book, damage, said):
    book.write_text(damage(book))
    with pytest.raises(UnreadableError, match=said):
        read_ledger(book)


def test_outputs_are_apart(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    real, link = tmp_path / "real", tmp_path / "link"
    for places in (
        (real / "a", None, link / "a"),
        (real / "a", real / "a", None),
        (link / "out" / "deep" / "a", real / "out", None),
        (None, real / "a", link / "a"),
    ):
        with pytest.raises(InvalidInputError, match="Hint"):
            check_outputs_apart(*places)
    check_outputs_apart(real / "a", real / "b", real / "c")
    check_outputs_apart(real / "out.json", real / "out", real / "out" / "page.html")
    check_outputs_apart(None, None, None)
    (tmp_path / "loop").symlink_to("loop")
    check_outputs_apart(real / "a", tmp_path / "loop", None)
