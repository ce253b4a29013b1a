"""Outputs of a fit: checks of the paths to write to, and the command that is stored with a model."""

from __future__ import annotations

from pathlib import Path

from eigenveil._atomic_files import written_whole
from eigenveil.errors import InvalidInputError

_COMMAND_FILE = "command.txt"


def save_command(command: str, folder: Path) -> None:
    """Store the command that created a model in the model's folder, for reports."""
    with written_whole(folder / _COMMAND_FILE) as part:
        part.write_text(command + "\n", encoding="utf-8")


def load_command(folder: Path) -> str | None:
    """Return the command that created the model in a folder, or None if it is not stored."""
    path = folder / _COMMAND_FILE
    return path.read_text(encoding="utf-8").strip() if path.exists() else None


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
    trial = path.parent / f".{path.name}.trial"
    trial.touch()
    trial.unlink()
