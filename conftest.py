"""Examples in docstrings and pages draw the same noise in every run, so that none fails by chance."""

import pytest

from support.fixed_noise import fix_noise


@pytest.fixture(autouse=True)
def _fixed_noise_of_examples(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if isinstance(request.node, pytest.DoctestItem):
        fix_noise(monkeypatch, request.node.nodeid)
