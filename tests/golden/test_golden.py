"""What is released under an injected source of bytes stays as it is, whatever shape the code takes.

The kept numbers were written on one machine. Another one may have a BLAS that rounds last bits in another way, so
numbers are compared to nine digits here (of a vector: nine digits of its largest); `golden.run` compares all bits.
"""

import math

import pytest

from golden.cases import CASES, run
from golden.run import kept

KEPT = kept()


def test_every_case_is_kept():
    assert set(KEPT) == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_releases_are_as_kept(name):
    assert differing(KEPT[name], run(name)) == []


def test_a_difference_is_seen():
    before = {"components": [[1.0, 2.0]], "what": "sum"}
    assert differing(before, {"components": [[1.0, 2.0 + 1e-12]], "what": "sum"}) == []
    assert differing(before, {"components": [[1.0, 2.0 + 1e-6]], "what": "sum"}) == [".components.0.1"]
    assert differing(before, {"components": [[1.0]], "what": "radius"}) == [".components.0", ".what"]


def differing(before, now, at="", largest=0.0):
    """Paths at which two plain values differ."""
    if isinstance(before, dict) and isinstance(now, dict) and before.keys() == now.keys():
        return [path for name in before for path in differing(before[name], now[name], f"{at}.{name}")]
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        largest = max((abs(item) for item in before if isinstance(item, float) and item < math.inf), default=0.0)
        pairs = enumerate(zip(before, now, strict=True))
        return [path for i, pair in pairs for path in differing(*pair, f"{at}.{i}", largest)]
    if isinstance(before, float) and isinstance(now, float | int):
        return [] if same(before, now, largest) else [at]
    return [] if before == now else [at]


def same(before, now, largest):
    close = math.isclose(before, now, rel_tol=1e-9, abs_tol=max(1e-9 * largest, 1e-12))
    return close or (math.isnan(before) and math.isnan(now))
