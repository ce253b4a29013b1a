"""The gate: planted faults exceed their claim at confidence 1 - 1e-5, and the library as it is does not.

An honest test fails by chance with probability at most 1e-5 for each of its bounds. A fault is missed with
probability at most .001: `AuditFinding.certain` of honest runs says how small a fault is found that surely with as
many trials, and `test_the_gate_is_not_blind` watches it.
"""

import math
from functools import partial

import pytest

from eigenveil import audit
from eigenveil.audit.bounds import GATE
from eigenveil.audit.measuring import RELATIONS
from support import faults

pytestmark = [pytest.mark.slow, pytest.mark.ledger_is_wrong_on_purpose]
EPSILON, DELTA = 4.0, 1e-6


def case(algorithm="dp-gauss-1", relation="add-remove", attack="matrix", **more):
    return audit.Case(algorithm, relation, EPSILON, DELTA, attack, **more)


class ManySteps(audit.Case):
    """Many small steps, which add up what every part shows of the canary."""

    @property
    def options(self):
        return {"clip": 1.0, "steps": 24, "learning_rates": (0.7 / 24,) * 24}


MANY_STEPS = ManySteps("k-dp-ojas", "add-remove", EPSILON, DELTA, "matrix", d=4)
FAULTS = {
    "noise 4 times too small": (partial(faults.noise_too_small, thinner=4), case(), 300),
    "noise 2 times too small": (partial(faults.noise_too_small, thinner=2), case(), 1800),
    "noise sqrt(2) times too small": (partial(faults.noise_too_small, thinner=math.sqrt(2)), case(), 12000),
    "tracked, noise 4 times too small": (partial(faults.noise_too_small, thinner=4), case("tracked"), 300),
    "tracked, noise 2 times too small": (partial(faults.noise_too_small, thinner=2), case("tracked"), 2400),
    "radius for free": (faults.radius_for_free, case(attack="edge"), 180),
    "radius for free, replace": (faults.radius_for_free, case(relation="replace", attack="edge"), 180),
    "number of units for free": (faults.number_for_free, case(), 180),
    "centre from the data": (faults.centre_from_the_data, case(attack="row"), 180),
    "tracked, centre from the data": (faults.centre_from_the_data, case("tracked", attack="row"), 180),
    "parts overlap": (faults.parts_overlap, MANY_STEPS, 1800),
    "replace charged as add-remove": (faults.replace_as_add_remove, case(relation="replace"), 1800),
    "noise used again": (faults.noise_used_again, case(), 300),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault, monkeypatch):
    plant, attacked, trials = FAULTS[fault]
    plant(monkeypatch)
    finding = audit.run(cases=[attacked], trials=trials, confidence=GATE).findings[0]
    assert finding.violated, finding


@pytest.mark.parametrize("attacked", [MANY_STEPS, case(attack="edge"), case(relation="replace", attack="edge")])
def test_the_attacks_for_faults_find_nothing_without_them(attacked):
    assert not audit.run(cases=[attacked], trials=300, confidence=GATE).violations


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("algorithm", ["tracked", "k-dp-pca", "k-dp-ojas", "dp-gauss-1", "dp-gauss-2", "dp-power"])
def test_no_claim_is_exceeded(algorithm, relation):
    result = audit.run(algorithm, relations=relation, epsilons=EPSILON, trials=300, confidence=GATE)
    assert result.violations == ()


@pytest.mark.parametrize("algorithm", ["tracked", "k-dp-pca", "k-dp-ojas", "dp-gauss-1", "dp-power"])
def test_the_gate_is_not_blind(algorithm):
    """Noise 4 times too small would be found surely; the estimate of mu is off by at most 30 % with 600 trials."""
    finding = audit.run(cases=[case(algorithm)], trials=600, confidence=GATE).findings[0]
    assert finding.certain < 4, finding
    assert not finding.violated


@pytest.mark.parametrize("d", [64, 200])
def test_wide_rows(d):
    result = audit.run(cases=[case(attack="row", d=d)], trials=150, confidence=GATE)
    assert result.violations == ()
