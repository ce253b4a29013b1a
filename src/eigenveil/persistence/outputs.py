"""Outputs of a fit: checks of the paths to write to, and the command that is stored with a model."""

from __future__ import annotations

import os
from pathlib import Path

from eigenveil._atomic_files import beside, written_whole
from eigenveil._printable import printable
from eigenveil.errors import InvalidInputError
from eigenveil.persistence.folders import read_regular
from eigenveil.persistence.strict_json import DamagedFileError

_COMMAND_FILE = "command.txt"
_MOST_COMMAND = 1 << 20
"""Maximum size of this file, in bytes."""
PLACES = {"data": "DATA", "ledger": "LEDGER", "out": "MODEL", "report": "REPORT.html", "scheduler": "ADDRESS"}
"""What a published command says in place of names of files, folders and machines, by option."""


def save_command(command: str, folder: Path) -> None:
    """Store the command that created a model in the model's folder, for reports. It names no file (`PLACES`)."""
    with written_whole(folder / _COMMAND_FILE) as part:
        part.write_text(printable(command) + "\n", encoding="utf-8")


def forget_command(folder: Path) -> None:
    """Remove the command from a model's folder, if it is there."""
    (folder / _COMMAND_FILE).unlink(missing_ok=True)


def load_command(folder: Path) -> str | None:
    """Return the command that created the model in a folder, or None if it is not known.

    The file is refused if it is a link. A report shows its text, so the folder of someone else could make a report
    publish any file of its reader.
    """
    if not os.path.lexists(folder / _COMMAND_FILE):
        return None
    try:
        return read_regular(folder / _COMMAND_FILE, most=_MOST_COMMAND, links=False).decode("utf-8").strip()
    except UnicodeDecodeError:
        raise DamagedFileError(f"{_COMMAND_FILE} is not UTF-8 text.", hint="Remove the file.") from None


def check_outputs_apart(ledger: Path | None, out: Path | None, report: Path | None) -> None:
    """Check that ledger file, model folder and report are different places. Called before any budget is spent.

    The ledger may not be inside the model folder either, which is replaced as a whole. Links are followed.
    """
    book, folder, page = (
        None if path is None else Path(os.path.realpath(path))  # loops of links stay, instead of raising
        for path in (ledger, out, report)
    )
    if book is not None and book == page:
        problem = f"the report would replace the ledger file {str(ledger)!r}."
    elif book is not None and folder is not None and book.is_relative_to(folder):
        problem = f"the ledger file {str(ledger)!r} is at, or inside, the model folder {str(out)!r}."
    elif folder is not None and folder == page:
        problem = f"the report and the model folder have the same name, {str(out)!r}."
    else:
        return
    raise InvalidInputError(
        problem, hint="Choose different names, and keep the ledger outside of the model folder."
    )


_REPORT_MARK = b'<meta name="generator" content="eigenveil">'
"""In the head of every report."""


def check_report_path(path: Path) -> None:
    """Raise if a report would replace a file that is neither a report nor empty, as `save` does for models."""
    if path.is_file():
        with path.open("rb") as file:
            head = file.read(1 << 12)
        if head and _REPORT_MARK not in head:
            raise InvalidInputError(
                f"{str(path)!r} is not a report, and a report replaces no other file.", hint="Choose another name."
            )


_KIND = {True: "folder", False: "file"}


def check_output_path(path: Path, *, force: bool, folder: bool) -> None:
    """Check that a result can be written to `path`. Called before any budget is spent."""
    if path.exists() and path.is_dir() != folder:
        raise InvalidInputError(
            f"expected the name of a {_KIND[folder]}, but {str(path)!r} is a {_KIND[not folder]}.",
            hint="Choose another name.",
        )
    if folder and path.exists() and any(path.iterdir()) and not (path / "model.json").exists():
        raise InvalidInputError(
            f"{str(path)!r} is a folder that contains other files, which are never replaced.",
            hint="Choose another name, or an empty folder.",
        )
    if path.exists() and not force:
        raise InvalidInputError(
            f"{str(path)!r} already exists.", hint="Choose another name, or replace it with force=True."
        )
    if not folder and not path.parent.is_dir():
        raise InvalidInputError(
            f"there is no folder {str(path.parent)!r} to write {path.name!r} to.",
            hint="Create it first, or choose another folder.",
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    trial = beside(path)
    trial.touch(exist_ok=False)
    trial.unlink()
