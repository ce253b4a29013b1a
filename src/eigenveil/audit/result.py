"""What an audit has found: a lower bound beside every claim."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class AuditFinding:
    """Claim about an algorithm, and what an attack measured.

    Parameters
    ----------
    algorithm, relation : str
        What was attacked.
    epsilon, delta : float
        Claimed privacy budget.
    measured : float
        Lower bound on epsilon at the claimed delta.
    confidence : float
        Probability with which the bound holds.
    attack, statistic : str
        Best attack, and what it looks at.
    trials : int
        Fits with, and fits without the canary that the bound is about.
    visible, certain : float
        Factor by which noise would have to be too small for a violation to be found with probability 1/2 and .999,
        if scores of this attack are Gaussian.
    """

    algorithm: str
    relation: str
    epsilon: float
    delta: float
    measured: float
    confidence: float
    attack: str
    statistic: str
    trials: int
    visible: float
    certain: float

    @property
    def violated(self) -> bool:
        """Whether the bound exceeds the claim."""
        return self.measured > self.epsilon * (1 + 1e-6)


@dataclass(frozen=True)
class AuditResult:
    """Findings of an audit. Printing it shows a table."""

    findings: tuple[AuditFinding, ...]

    @property
    def violations(self) -> tuple[AuditFinding, ...]:
        """Findings whose bound exceeds the claim."""
        return tuple(one for one in self.findings if one.violated)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON. Factors that are infinite become None."""
        findings = [{**asdict(one), "violated": one.violated} for one in self.findings]
        plain = [{name: None if value == math.inf else value for name, value in one.items()} for one in findings]
        return {"findings": plain, "violations": len(self.violations)}

    def plot(self, path: str | Path) -> Path:
        """Write a figure of measured against claimed epsilon; the suffix of the path is its format."""
        from eigenveil.audit.drawing import draw  # noqa: PLC0415  # matplotlib is slow to import

        return draw(self.findings, Path(path))

    def __str__(self) -> str:
        head = ("algorithm", "relation", "claimed", "measured", "attack", "statistic", "trials", "visible fault")
        lines = [head, *map(_cells, self.findings)]
        widths = [max(len(line[place]) for line in lines) for place in range(len(head))]
        table = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
        return "\n".join(line.rstrip() for line in table)


def _cells(one: AuditFinding) -> tuple[str, ...]:
    mark = " VIOLATED" if one.violated else ""
    return (
        one.algorithm,
        one.relation,
        f"{one.epsilon:g}",
        f"{one.measured:.2f}{mark}",
        one.attack,
        one.statistic,
        f"{one.trials}",
        f"noise / {one.visible:.2f}",
    )
