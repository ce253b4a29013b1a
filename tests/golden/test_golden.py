"""What is released under an injected source of bytes stays as it is, whatever shape the code takes.

The kept numbers were written on one machine. Another one may have a BLAS that rounds last bits in another way, so
numbers are compared to nine digits here; `golden.run` compares all bits.
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


def differing(before, now, at=""):
    """Paths at which two plain values differ."""
    if isinstance(before, dict) and isinstance(now, dict) and before.keys() == now.keys():
        return [path for name in before for path in differing(before[name], now[name], f"{at}.{name}")]
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        return [path for i, item in enumerate(before) for path in differing(item, now[i], f"{at}.{i}")]
    if isinstance(before, float) and isinstance(now, float | int):
        return [] if same(before, now) else [at]
    return [] if before == now else [at]


def same(before, now):
    close = math.isclose(before, now, rel_tol=1e-9, abs_tol=1e-12)
    return close or (math.isnan(before) and math.isnan(now))
