"""Noise that is the same in every run, for tests of something else. No example or page then fails by chance.

The source of the operating system is replaced, and not that of a fit: a seeded fit would be marked as not private,
and would show other text. Other processes have real noise.
"""

import os
import threading
import zlib

import pytest

from eigenveil.mechanisms import SeededBytes


def fix_noise(monkeypatch, name):
    """Let `os.urandom` return bytes that depend on the name only."""
    source, lock = SeededBytes(zlib.crc32(name.encode())), threading.Lock()

    def fixed(number):
        with lock:
            return source(number)

    monkeypatch.setattr(os, "urandom", fixed)


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
