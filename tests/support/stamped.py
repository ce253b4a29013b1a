"""Lines of a table that tests write: which code and which machine it is of."""

from pathlib import Path

from support.benchmarks import load

stamp, harness = load("stamp"), load("harness")


def stamped(table: Path, *, whole: bool) -> str:
    """Code and machine as they are now, or those of the last whole run where only some lines are renewed.

    Call it before a run, since files may change meanwhile.
    """
    if whole or not table.exists():
        return f"{stamp.line('package')}\n{harness.machine()}"
    kept = ("Code: ", stamp.OLDER, "Machine: ")
    return "\n".join(line for line in table.read_text(encoding="utf-8").splitlines() if line.startswith(kept))
