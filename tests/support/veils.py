"""Veils that see what a mechanism discloses, and byte sources that make noise predictable."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from eigenveil.mechanisms.noise.byte_source import SeededBytes
from eigenveil.mechanisms.noise.exact_noise import HALF_NORMAL
from eigenveil.mechanisms.noise.veil import Grant, Veil


@dataclass
class Disclosure:
    """All releases under one grant: what was noised, with what weight, and what came out."""

    norm: str
    sensitivity: float
    scale: float
    exponent: int
    releases: int
    steps: list[np.ndarray] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    outputs: list[np.ndarray] = field(default_factory=list)


class WatchedGrant(Grant):
    def release(self, steps, *, weight=1.0):
        out = super().release(steps, weight=weight)
        if self.replay is not None:
            out = self.replay.outputs[len(self.seen.outputs)]
        self.seen.steps.append(np.array(steps))
        self.seen.weights.append(weight)
        self.seen.outputs.append(out)
        return out


class WatchedVeil(Veil):
    """Records every disclosure; given an earlier transcript, answers with that run's outputs."""

    def __init__(self, ledger, *, source=None, transcript=None):
        super().__init__(ledger, source=SeededBytes(1) if source is None else source)
        self.transcript = transcript
        self.seen = []

    def gaussian(self, what, **options):
        return self._watch(super().gaussian(what, **options), "l2", options)

    def laplace(self, what, **options):
        return self._watch(super().laplace(what, **options), "l1", options)

    def over(self, part):
        """Parts are watched too, in the one record."""
        watched = type(self)(part, source=self.source, transcript=self.transcript)
        watched.seen = self.seen
        return watched

    def _watch(self, grant, norm, options):
        grant.__class__ = WatchedGrant
        releases = options.get("releases", 1)
        grant.seen = Disclosure(norm, options["sensitivity"], grant.scale, grant.exponent, releases)
        grant.replay = None if self.transcript is None else self.transcript[len(self.seen)]
        self.seen.append(grant.seen)
        return grant


def worst_ratio(first: list[Disclosure], second: list[Disclosure]) -> float:
    """The largest (distance between what two runs disclosed) / (stated sensitivity), in exact arithmetic."""
    worst = Fraction(0)
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        assert (a.exponent, a.scale, a.sensitivity) == (b.exponent, b.scale, b.sensitivity)
        moved = [
            _distance(x, y, weight, a.norm, a.exponent)
            for x, y, weight in zip(a.steps, b.steps, a.weights, strict=True)
        ]
        power = 2 if a.norm == "l2" else 1
        total = sum(moved, start=Fraction(0)) if a.releases == 1 else max(moved)
        worst = max(worst, total / Fraction(a.sensitivity) ** power)
    return float(worst)


def _distance(x, y, weight, norm, exponent):
    grid = Fraction(2) ** exponent / Fraction(weight)
    steps = [abs(int(p) - int(q)) * grid for p, q in zip(x.ravel(), y.ravel(), strict=True)]
    return sum((s * s if norm == "l2" else s for s in steps), start=Fraction(0))


class CountingZeros:
    """Zero bytes, which make every draw 0 in exactly one try of 16 bytes; counts the tries."""

    def __init__(self):
        self.draws = 0

    def __call__(self, n):
        assert n % 16 == 0
        self.draws += n // 16
        return bytes(n)


def one_sigma(n: int) -> bytes:
    """Bytes that make every Gaussian draw exactly +1 scale: cell 16 begins at y = 1."""
    tries = n // 16
    select = int(HALF_NORMAL._last_of_cell[15]) + 1
    return np.full(tries, select, dtype="<u8").tobytes() + bytes(8 * tries)
