"""DPPCA(verbose=1) shows its progress on stderr, as the command line does, and nothing about the data."""

import builtins
import io
import re
import sys

import numpy as np
import pytest
from sklearn.base import clone

import eigenveil as ev
from eigenveil import DPPCA, samples
from eigenveil.errors import InvalidInputError
from eigenveil.estimators.progress import watch

N, END = 6000, r"fitted: (\d+) releases, 100% of the budget, (\d+) passes over the data"
HINT = r"No bounds are declared\. .*"
LINE = rf".+: \d+% of the budget, pass \d+( of at most \d+)?(, \S+ rows/s)?(, at most .+ left)?|{END}"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def rows(n=N):
    return np.random.default_rng(0).normal(size=(n, 5)) * [4, 3, 1, 1, 1]


@pytest.fixture
def chatty(monkeypatch):
    """Print every line that is offered, instead of one every few seconds."""
    monkeypatch.setattr(watch, "_QUIET", -1.0)


def test_silent_by_default(capsys):
    DPPCA(2).fit(rows())
    DPPCA(2, center=False, options={"batch_size": 3000}).partial_fit(rows())
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("chatty")
@pytest.mark.parametrize("algorithm", ["tracked", "dp-gauss-1", "k-dp-pca"])
def test_lines_of_labels_shares_and_passes(capsys, algorithm):
    pca = DPPCA(2, algorithm=algorithm, verbose=1).fit(rows())
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert re.fullmatch(HINT, lines[0])
    assert all(re.fullmatch(LINE, line) for line in lines[1:]), lines
    labels = {line.partition(": ")[0] for line in lines} | {line.rpartition(":")[0] for line in lines}
    assert {entry.what.partition(": ")[0] for entry in pca.ledger_.entries} <= labels
    assert str(N) not in err
    assert re.fullmatch(END, lines[-1])[1] == str(len(pca.ledger_.entries))


def test_a_short_fit_prints_its_hints_and_its_last_line_only(capsys):
    DPPCA(2, verbose=True).fit(rows())
    assert re.fullmatch(f"{HINT}\n{END}\n", capsys.readouterr().err)


@pytest.mark.parametrize("verbose", [0, 1])
def test_counting_rows_changes_nothing(capsys, verbose):
    plain = DPPCA(2, random_state=0).fit(rows())
    shown = DPPCA(2, random_state=0, verbose=verbose).fit(rows())
    assert bool(capsys.readouterr().err) == bool(verbose)
    assert shown.components_.tobytes() == plain.components_.tobytes()
    assert [entry.what for entry in shown.ledger_.entries] == [entry.what for entry in plain.ledger_.entries]


def test_units_without_rows(capsys):
    matrices = samples.matrices([np.diag([3.0, 1.0, 1.0])] * 5000)
    DPPCA(1, center=False, verbose=1).fit(matrices)
    assert re.fullmatch(END + "\n", capsys.readouterr().err)


def test_the_callback_hears_as_much(capsys):
    told = []
    pca = DPPCA(2, verbose=1, callback=told.append).fit(rows())
    assert len(told) == len(pca.ledger_.entries)
    assert f"fitted: {len(told)} releases" in capsys.readouterr().err


class Full(io.StringIO):
    def write(self, _):
        raise OSError(28, "No space left on device")


class FullTerminal(Full, Terminal):
    pass


def closed():
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.usefixtures("chatty")
@pytest.mark.parametrize("stream", [Full, FullTerminal, closed, lambda: None])
def test_a_fit_is_not_ended_by_its_progress(monkeypatch, stream):
    monkeypatch.setattr(sys, "stderr", stream())
    monkeypatch.setenv("TERM", "xterm")
    assert DPPCA(2, algorithm="dp-gauss-1", verbose=1).fit(rows()).n_components_ == 2


def test_a_bar_on_a_terminal(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "150")
    DPPCA(2, algorithm="dp-gauss-1", verbose=1).fit(rows())
    drawn = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())
    assert "% of the budget" in drawn
    assert re.search(r"pass \d+ of at most \d+, \S+ rows/s", drawn)
    assert re.search(END, drawn)


def test_lines_on_a_terminal_without_rich(monkeypatch):
    screen, load = Terminal(), builtins.__import__

    def without_rich(name, *given):
        if name.partition(".")[0] == "rich":
            raise ImportError(name)
        return load(name, *given)

    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(builtins, "__import__", without_rich)
    DPPCA(2, verbose=1).fit(rows())
    assert re.fullmatch(f"{HINT}\n{END}\n", screen.getvalue())


def test_a_stream_tells_of_closed_batches(capsys):
    pca = DPPCA(2, center=False, options={"batch_size": 3000}, verbose=1)
    pca.partial_fit(rows(2000))
    assert capsys.readouterr().err == ""
    pca.partial_fit(rows(5000))
    assert capsys.readouterr() == ("", "stream: 2 batches closed\n")
    pca.partial_fit(rows(1000))
    assert capsys.readouterr().err == ""
    pca.partial_fit(rows(1000))
    assert capsys.readouterr().err == "stream: 3 batches closed\n"


@pytest.mark.usefixtures("chatty")
def test_a_stream_tells_of_every_batch_if_they_take_long(capsys):
    DPPCA(2, center=False, options={"batch_size": 3000}, verbose=1).partial_fit(rows(9000))
    closed = [int(line.split()[1]) for line in capsys.readouterr().err.splitlines()]
    assert closed == sorted(closed)
    assert set(closed) == {0, 1, 2, 3}


def test_it_is_a_parameter_like_others(tmp_path, capsys):
    pca = clone(DPPCA(2, verbose=1))
    assert pca.get_params()["verbose"] == 1
    ev.save(pca.fit(rows()), tmp_path / "model")
    again = ev.load(tmp_path / "model")
    assert again.verbose == 0, "as for callback: it belongs to the process, not to the model"
    assert "fitted" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [-1, 2, "yes", None, 0.5])
def test_other_values_raise_before_anything_is_spent(wrong):
    with pytest.raises(InvalidInputError, match="verbose must be 0 or 1"):
        DPPCA(2, verbose=wrong).fit(rows())
