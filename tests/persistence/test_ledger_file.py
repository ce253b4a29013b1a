"""A ledger file is written by one process at a time, shows all that its ledger does, and is refused if forged."""

import json
import os
import subprocess
import sys

import pytest

from eigenveil import _atomic_files
from eigenveil.errors import EigenveilError, InvalidInputError, UnreadableError
from eigenveil.persistence.ledger_file import Account, RequestedBudget, open_ledger, read_ledger
from eigenveil.persistence.outputs import check_outputs_apart
from eigenveil.privacy import Budget


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


def test_a_mark_before_an_error_is_written_and_the_error_is_kept(book):
    with pytest.raises(ZeroDivisionError):
        use(book, mark, fail)
    assert read_ledger(book).reasons == ("a test",)


def test_the_first_error_is_kept_if_the_file_cannot_be_written(book):
    with pytest.raises(ZeroDivisionError):
        use(book, mark, lambda _: book.unlink(), fail)
    assert not book.exists()


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
            if sys.argv[2] == "mark":
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
@pytest.mark.parametrize("how", ["mark", "charge"])
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
