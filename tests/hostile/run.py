"""Play all hostile inputs and write the table of their outcomes.

PYTHONPATH=tests python -m hostile.run
"""

import sys
import tempfile
import traceback
import warnings
from pathlib import Path

from hostile.catalogue import CASES, ELSEWHERE, play
from support.stamped import stamped

TABLE = Path(__file__).with_name("results.md")


def head() -> str:
    """How the table is made."""
    return "Made by `PYTHONPATH=tests python -m hostile.run`."


def row(case, outcome: str) -> str:
    """One line of the table."""
    return f"| {case.door} | {case.name} | {outcome} |"


def main() -> int:
    """Write the table; the exit code is the number of cases that failed."""
    warnings.simplefilter("ignore")
    made_with = stamped(TABLE, whole=True)
    rows, failed = [], 0
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            try:
                outcome = play(case, Path(folder).resolve())
            except Exception:  # noqa: BLE001
                traceback.print_exc()
                outcome, failed = "FAILED", failed + 1
        rows.append(row(case, outcome))
        print(rows[-1], flush=True)
    others = [f"| {what} | `tests/{where}` |" for what, where in ELSEWHERE.items()]
    text = [
        "# Hostile inputs",
        "",
        f"What comes of {len(CASES)} hostile inputs: the right answer, or a clear error. {head()}",
        "In every case no value of the data is shown or written, no file outside of its folder is touched,",
        "nothing is executed, and the command line ends with a message and an exit code.",
        made_with,
        "",
        "| door | input | outcome |",
        "|---|---|---|",
        *rows,
        "",
        "Shown by other tests:",
        "",
        "| input | test |",
        "|---|---|",
        *others,
        "",
    ]
    TABLE.write_text("\n".join(text), encoding="utf-8")
    return failed


if __name__ == "__main__":
    sys.exit(main())
