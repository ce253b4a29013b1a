"""Where a hostile input is played: a folder, what may not be touched, and all that was shown or written."""

import contextlib
import io
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import eigenveil as ev
from eigenveil.cli.app import app
from eigenveil.errors import EigenveilError

CANARY, WORD = 7234.123456789, "canary-tweet"
TRACES = ("7234.12", WORD)
"""A number and a word of the data, and what must be found nowhere."""

ROWS = np.random.default_rng(0).normal(size=(3000, 3)) * [5, 2, 1]
ROWS[17] = CANARY


@dataclass(frozen=True)
class Answer:
    """What a command said."""

    code: int
    out: str
    err: str


@dataclass
class Place:
    """A folder for inputs and outputs, and a folder that nothing may write to.

    `shown` collects everything that a user would see; files are read by `written`.
    """

    folder: Path
    outside: Path
    shown: list[str] = field(default_factory=list)

    def fit(self, data, *, units=None, **options) -> ev.DPPCA:
        """A fitted model; what it shows is collected."""
        options = {"n_components": 1, "epsilon": 8.0, **options}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            pca = ev.DPPCA(**options).fit(data, **({} if units is None else {"units": units}))
        self.shown += [
            repr(pca),
            pca._repr_html_(),
            str(pca.ledger_),
            repr(vars(pca)),
            *(str(w.message) for w in caught),
        ]
        return pca

    def cli(self, *arguments) -> Answer:
        """The answer of the command line, in this process; an exception that leaves it fails the case."""
        texts = [str(one) for one in arguments]
        out, err = io.StringIO(), io.StringIO()
        before, sys.argv = sys.argv, ["eigenveil", *texts]
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), contextlib.chdir(self.folder):
                app(texts, prog_name="eigenveil")
            code = 0
        except SystemExit as end:
            code = end.code
        finally:
            sys.argv = before
        self.shown += [out.getvalue(), err.getvalue()]
        assert code in (0, 1, 2, 3), f"exit code {code}"
        assert "Traceback" not in err.getvalue()
        return Answer(code, out.getvalue(), err.getvalue())

    def written(self, *inputs: str) -> str:
        """The text of all files in the folder but the inputs."""
        found = (file for file in self.folder.rglob("*") if file.is_file() and not file.is_symlink())
        files = [file for file in found if file.name not in inputs]
        return "\n".join(file.read_bytes().decode("utf-8", "replace") for file in files)


@dataclass(frozen=True)
class Case:
    """One hostile input.

    Parameters
    ----------
    name, door : str
        What it is, and what meets it: fit, read, load, report, ledger, command.
    play : callable
        Meets it. A right answer is checked here; an error is raised, or is the answer of a command.
    error : type or int, optional
        The error that is right, or the exit code. None for a right answer.
    says : str
        A part of the message.
    slow : bool
        Whether it takes more than a few seconds.
    """

    name: str
    door: str
    play: Callable[[Place], Answer | None]
    error: type[EigenveilError] | int | None = None
    says: str = ""
    slow: bool = False

    def outcome(self, place: Place) -> str:
        """Play the case, check what came, and return it in words."""
        try:
            answer = self.play(place)
        except (EigenveilError, ValueError) as error:
            place.shown.append(str(error))
            if type(error) is not self.error or self.says not in str(error):
                raise
            return f"{type(error).__name__}: {_first_line(str(error), place)}"
        if answer is not None and self.error is not None:
            assert answer.code == self.error, answer.err
            said = answer.err.replace("\n", " ")
            assert self.says in said, answer.err
            return f"exit code {answer.code}: {_first_line(answer.err, place)}"
        assert self.error is None, "no error came"
        return f"right answer: {self.says}"


def _first_line(text: str, place: Place) -> str:
    """The first line of a message, without folders of this run."""
    line = next((line for line in text.splitlines() if line.startswith("error")), text.splitlines()[0])
    return line.replace(f"{place.folder}/", "").replace(f"{place.folder.parent}/", "").replace("|", "\\|")[:150]


CASES: list[Case] = []


def case(door: str, name: str, **expected):
    """Add a function to the catalogue."""

    def add(play):
        CASES.append(Case(name, door, play, **expected))
        return play

    return add
