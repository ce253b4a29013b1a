"""Noise that is the same in every run, for tests of something else. No example or page then fails by chance.

The source of the operating system is replaced, and not that of a fit: a seeded fit would be marked as not private,
and would show other text. Other processes have real noise.
"""

import threading
import zlib
from types import SimpleNamespace

import pytest

from eigenveil.engines import plans
from eigenveil.mechanisms import SeededBytes
from eigenveil.mechanisms.noise import byte_source
from eigenveil.sources.people import buckets

MODULES = (byte_source, plans, buckets)
"""Where random bytes decide on a release: noise, samples of units, and buckets of people."""


def fix_noise(monkeypatch, name):
    """Let noise depend on the name only. Others who ask the system for random bytes do not change it."""
    for module in MODULES:
        monkeypatch.setattr(module, "os", SimpleNamespace(urandom=_fixed(f"{name} {module.__name__}")))


def _fixed(name):
    source, lock = SeededBytes(zlib.crc32(name.encode())), threading.Lock()

    def fixed(number):
        with lock:
            return source(number)

    return fixed


@pytest.fixture(autouse=True, scope="module")
def noise_of_shared_fixtures(request):
    """For what the tests of a module share."""
    with pytest.MonkeyPatch.context() as patch:
        fix_noise(patch, request.node.nodeid)
        yield


@pytest.fixture(autouse=True)
def noise_of_a_test(request, monkeypatch):
    """For the test itself, whatever ran before."""
    fix_noise(monkeypatch, request.node.nodeid)
