"""Write what every case releases, or tell which of them release something else than what is kept.

    PYTHONPATH=tests python -m golden.run [word ...]           # compare to the last bit, as on one machine
    PYTHONPATH=tests python -m golden.run --write [word ...]   # keep what is released now

Words choose the cases whose names hold all of them.
Keep new numbers only where a change of behaviour is meant, and say so in the commit.
"""

import json
import sys
from pathlib import Path

from golden.cases import CASES, run

KEPT = Path(__file__).with_name("kept.json")


def kept() -> dict:
    return json.loads(KEPT.read_text()) if KEPT.exists() else {}


def main() -> int:
    """Run all cases; the exit code says whether they are as kept."""
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    names = [name for name in CASES if all(word in name for word in words)]
    found = {name: run(name) for name in names}
    if "--write" in sys.argv:
        all_of_them = {name: value for name, value in {**kept(), **found}.items() if name in CASES}
        KEPT.write_text("".join(_lines(all_of_them)))
        return 0
    before = kept()
    others = [name for name in names if json.dumps(found[name]) != json.dumps(before.get(name))]
    print("\n".join([*others, f"{len(others)} of {len(names)} differ"]))
    return bool(others)


def _lines(cases):
    """One line per case."""
    rows = [f"{json.dumps(name)}: {json.dumps(cases[name])}" for name in cases]
    yield "{\n" + ",\n".join(rows) + "\n}\n"


if __name__ == "__main__":
    sys.exit(main())
