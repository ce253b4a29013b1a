"""Every ledger that any test makes is recomputed by dp-accounting after the test (PRIVACY rule 7)."""

import os

import hypothesis
import pytest

from eigenveil.privacy import Ledger
from support.recompute import LedgerWatch

hypothesis.settings.register_profile(
    "house",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),  # CI repeats one search; elsewhere every run looks further
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture, hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("house")


@pytest.fixture(autouse=True)
def _recompute_every_ledger(request, monkeypatch):
    unchecked = ("ledger_is_wrong_on_purpose", "ledger_beyond_recomputation")
    if any(map(request.node.get_closest_marker, unchecked)):
        yield
        return
    watch = LedgerWatch(monkeypatch, Ledger)
    yield
    watch.check()
