"""Lower bounds on epsilon beside the claims: every algorithm, both relations, epsilon .5, 1, 2 and 4.

    python benchmarks/audit.py                    # writes results/audit.md and docs/pictures/audit.svg
    python benchmarks/audit.py --trials 20000     # longer; resumes if interrupted
    python benchmarks/audit.py --trials 60        # with fewer trials, or other epsilons, nothing is written
    python benchmarks/audit.py --faults           # writes results/audit-faults.md, unless --trials is given

Every bound is the best of two attacks (docs/audit.md). "noise / x" says that noise too small by a factor x would
have been found with probability 1/2. `--faults` measures with something wrong on purpose, for a claimed epsilon of
4 (`tests/statistical/test_audit_gate.py` has the same faults as a gate).
"""

from __future__ import annotations

import os
import pathlib
import sys

import pytest
import stamp
from harness import CACHE, parser, say, table, write

from eigenveil import audit
from eigenveil.audit.bounds import GATE

ROOT = pathlib.Path(__file__).parent.parent
EPSILONS, TRIALS = (0.5, 1.0, 2.0, 4.0), 3000
PARTS = ("audit", "estimators")


def claims(epsilons: tuple[float, ...], trials: int, workers: int) -> None:
    """Write the table of bounds, and the picture of those at 95 %."""
    stamped = stamp.line(*PARTS)

    def progress(done: int, total: int, what: str) -> None:
        say(f"{done} of {total}: {what}")

    options = {"trials": trials, "workers": workers, "cache": CACHE / "audit", "on_progress": progress}
    people, gate = (audit.run(epsilons=epsilons, confidence=level, **options) for level in (0.95, GATE))
    deciding = people.findings[0].trials
    keep = epsilons == EPSILONS and trials >= TRIALS
    if keep:
        people.plot(ROOT / "docs" / "pictures" / "audit.svg")
    lines = [
        (
            *(one.algorithm, one.relation, f"{one.epsilon:g}", f"{one.measured:.2f}", f"{other.measured:.2f}"),
            *(one.attack, one.statistic, f"noise / {one.visible:.2f}"),
        )
        for one, other in zip(people.findings, gate.findings, strict=True)
    ]
    head = ("algorithm", "relation", "claimed", "95 %", "1 - 1e-5", "attack", "statistic", "visible at 95 %")
    write(
        "audit",
        title="Audit: measured against claimed epsilon",
        about=f"Lower bounds on epsilon at delta = 1e-6. {trials} fits a side, of which {deciding} decide; the\n"
        "others choose attack, statistic and threshold. A bound above its claim would be a violation. A bound\n"
        "below it proves nothing about other attacks. [docs/audit.md](../../docs/audit.md) has the details.\n"
        "Noise is that of the operating system, without a seed.",
        stamp=stamped,
        command=f"python benchmarks/audit.py --trials {trials}",
        body=table(head, lines),
        keep=keep,
    )


def faults(fewer: int | None) -> None:
    """Write the table of planted faults; with fewer trials than each fault takes, only print it."""
    stamped = stamp.line(*PARTS)
    sys.path.insert(0, str(ROOT / "tests"))
    from statistical.test_audit_gate import FAULTS  # noqa: PLC0415

    lines = []
    for name, (plant, case, trials) in FAULTS.items():
        with pytest.MonkeyPatch.context() as patch:
            plant(patch)
            one = audit.run(cases=[case], trials=fewer or trials, confidence=GATE).findings[0]
        found = "yes" if one.violated else "no"
        lines.append((name, one.algorithm, one.relation, f"{one.measured:.2f}", one.statistic, one.trials, found))
        say(lines[-1])
    write(
        "audit-faults",
        title="Audit of planted faults",
        about="Lower bounds on epsilon at confidence 1 - 1e-5, for a claimed epsilon of 4, with a fault planted.\n"
        "Noise is that of the operating system, without a seed.",
        stamp=stamped,
        command="python benchmarks/audit.py --faults",
        body=table(("fault", "algorithm", "relation", "bound", "statistic", "fits a side", "found"), lines),
        keep=fewer is None,
    )


def main() -> None:
    """Attack, and write."""
    options = parser(__doc__)
    options.add_argument("--trials", type=int, help=f"fits with, and without the canary ({TRIALS:,})")
    options.add_argument("--epsilon", type=float, action="append", help="claimed; may be repeated")
    options.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options.add_argument("--faults", action="store_true", help="plant faults")
    given = options.parse_args()
    if given.faults:
        faults(given.trials)
    else:
        claims(tuple(given.epsilon or EPSILONS), given.trials or TRIALS, given.workers)


if __name__ == "__main__":
    main()
