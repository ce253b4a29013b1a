"""CONTRIBUTING.md tells the walk of one fit in at most twelve hops: they are followed here."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import eigenveil
from eigenveil import DPPCA
from eigenveil.engines import LocalEngine

SOURCE = Path(eigenveil.__file__).parent
TEXT = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
HOPS = re.findall(r"^(\d+)\. `([\w/]+\.py)` `([\w.]+)`", TEXT, re.MULTILINE)
BESIDE = {"FitRequest.of", "open_units", "Veil.gaussian"}
"""Hops that are done before the next one begins; the others stand on one stack."""


def walked(fit):
    """Every function of ours that a fit calls, and the stacks under the innermost one."""
    called, stacks = set(), []

    def follow(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(SOURCE)):
            called.add(named(code))
            if code.co_qualname == HOPS[-1][2]:
                stacks.append(stack_of(frame))

    sys.setprofile(follow)
    try:
        fit()
    finally:
        sys.setprofile(None)
    return called, stacks


def named(code):
    return str(Path(code.co_filename).relative_to(SOURCE)), code.co_qualname


def stack_of(frame):
    found = []
    while frame is not None:
        if frame.f_code.co_filename.startswith(str(SOURCE)):
            found.append(named(frame.f_code))
        frame = frame.f_back
    return found[::-1]


def test_there_are_at_most_twelve_hops_in_order():
    assert [int(number) for number, _, _ in HOPS] == list(range(1, len(HOPS) + 1))
    assert 8 <= len(HOPS) <= 12


@pytest.mark.filterwarnings("ignore")
def test_a_fit_walks_them_and_never_back():
    X = np.random.default_rng(0).normal(size=(3000, 12)) * [5, 3, *[1] * 10]
    called, stacks = walked(lambda: DPPCA(2, epsilon=2.0, engine=LocalEngine(1)).fit(X))
    hops = [(path, name) for _, path, name in HOPS]
    assert set(hops) <= called, set(hops) - called
    way = [hop for hop in hops if hop[1] not in BESIDE]
    whole = [stack for stack in stacks if set(way) <= set(stack)]
    assert whole, "a clipped mean goes all the way down"
    for stack in whole:
        assert [hop for hop in stack if hop in way] == way, "down, in this order, each once"
    for stack in stacks:
        packages = [path.split("/")[0] for path, _ in stack]
        first_below = next(i for i, package in enumerate(packages) if package != "estimators")
        assert "estimators" not in packages[first_below:], "no algorithm calls the estimator back"
