"""The catalogue of hostile inputs, and how one is played."""

from pathlib import Path

from hostile import commands, files, numbers
from hostile.place import CASES, TRACES, Case, Place

__all__ = ["CASES", "ELSEWHERE", "play"]

assert all((commands, files, numbers))  # they fill CASES

INPUTS = ("x.parquet", "x.csv", "x.npy", "x.npz", "x.feather", "bomb.csv", "bomb.gz", "bomb.csv.gz")
ELSEWHERE = {
    "41 nasty lines of CSV, one by one, in every kind of file": "contracts/test_nasty_entries.py",
    "nasty entries (largest, smallest, objects) in every kind of data": "contracts/test_nasty_entries.py",
    "rows at the edge of the number range, searched for": "kernels/test_number_range.py",
    "sparse indices outside the matrix": "contracts/test_nasty_entries.py",
    "every byte of a model file flipped, truncated files": "persistence/test_damage.py",
    "60 forged contents of a model, with matching checksums": "persistence/test_damage.py",
    "forged safetensors": "persistence/test_damage.py",
    "pipes, /dev/zero and sparse files in place of model files": "persistence/test_damage.py",
    "lines longer than 64 MB": "contracts/test_nasty_entries.py",
    "errors of fit, partial_fit and transform quote nothing": "estimators/test_canaries.py",
    "names with terminal escapes, new lines and HTML on pages of the app": "app/test_pages.py",
    "exit codes": "cli/test_exit_codes.py",
}
"""What other tests show."""


def play(case: Case, folder: Path) -> str:
    """Play a case in a new folder, and check what every case must keep. Return its outcome in words."""
    place = Place(folder / "inside", folder / "outside")
    place.folder.mkdir()
    place.outside.mkdir()
    outcome = case.outcome(place)
    shown = "\n".join([*place.shown, place.written(*INPUTS)])
    assert not [trace for trace in TRACES if trace in shown], "a value of the data is shown"
    assert "OUTSIDE SECRET" not in shown, "a file of others is shown"
    left = {file.name for file in place.outside.iterdir()} - {"secret.txt", "thesis.txt"}
    assert not left, f"files of others: {left}"
    assert not list(folder.rglob("EXECUTED")), "something was executed"
    return outcome
