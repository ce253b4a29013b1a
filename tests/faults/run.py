"""Run all tests of faults, quick and slow, and renew their table: ``PYTHONPATH=tests python -m faults.run``.

Arguments go to pytest, such as ``-n 2`` or ``-k streams``. Faults that were not tried keep their lines.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.stamped import stamped

HERE = Path(__file__).parent
TABLE = HERE / "results.md"


class Results:
    """The numbers that tests record as properties, and whether each test passed."""

    def __init__(self) -> None:
        self.rows: list[dict] = []

    def pytest_runtest_logreport(self, report) -> None:
        found = dict(report.user_properties)
        if report.when == "call" and "fault" in found:
            self.rows.append({**found, "outcome": "holds" if report.passed else f"**{report.outcome}**"})

    def write(self, made_with: str) -> None:
        lines = [
            "# Faults, as real processes",
            "",
            "`make slow` runs the same trials; quick tests repeat the most telling ones. Noise has no seed.",
            "Made by `PYTHONPATH=tests python -m faults.run`.",
            made_with,
            "",
            "| fault | trials | what was checked | outcome |",
            "|---|---|---|---|",
        ]
        before = TABLE.read_text(encoding="utf-8") if TABLE.exists() else ""
        found = {line.split(" | ")[0]: line for line in before.splitlines() if line.startswith("| ")}
        found.pop("| fault", None)
        found |= {f"| {row['fault']}": f"| {' | '.join(str(row[key]) for key in KEYS)} |" for row in self.rows}
        lines += sorted(found.values())
        TABLE.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


KEYS = ("fault", "trials", "checked", "outcome")


def main() -> None:
    before, now = (stamped(TABLE, whole=whole) for whole in (False, True))
    results = Results()
    code = pytest.main(["-n0", "-m", "slow or not slow", str(HERE), *sys.argv[1:]], plugins=[results])
    whole = code in (0, 1) and all(one == "-n" or one.isdigit() for one in sys.argv[1:])
    results.write(now if whole else before)
    sys.exit(code)


if __name__ == "__main__":
    main()
