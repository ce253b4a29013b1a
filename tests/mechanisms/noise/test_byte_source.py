import os

import pytest

from eigenveil.mechanisms import SeededBytes, Veil, no_noise, system_bytes
from eigenveil.privacy import Budget, Ledger


def test_system_bytes_come_from_the_operating_system(monkeypatch):
    asked = []
    monkeypatch.setattr(os, "urandom", lambda n: asked.append(n) or b"x" * n)
    assert system_bytes(5) == b"xxxxx"
    assert asked == [5]


def test_seeded_stream_does_not_depend_on_how_it_is_read():
    whole = SeededBytes(3)(300_000)
    source = SeededBytes(3)
    pieces = b"".join(source(n) for n in (1, 7, 100, 65_536, 0, 100_000, 134_356))
    assert pieces == whole
    assert len({whole[i : i + 16] for i in range(0, 300_000, 16)}) == 300_000 // 16


@pytest.mark.parametrize("source", [SeededBytes(0), no_noise, os.urandom])
def test_an_injected_source_is_marked_not_private(source):
    ledger = Ledger(Budget.from_mu(1.0))
    Veil(ledger, source=source)
    assert not ledger.private
    assert "seeded" in ledger.reasons[0]


@pytest.mark.parametrize("taken", [0, 1, 65_535, 65_536, 65_537, 200_000])
def test_a_seeded_stream_continues_at_its_position(taken):
    first = SeededBytes(5)
    first(taken)
    assert first.position == taken
    again = SeededBytes(5, position=taken)
    assert again.position == taken
    assert again(70_000) == first(70_000)


def test_the_default_is_private():
    ledger = Ledger(Budget.from_mu(1.0))
    assert Veil(ledger).source is system_bytes
    assert Veil(ledger, source=system_bytes).source is system_bytes
    assert ledger.private


def test_no_numpy_randomness_in_the_noise_path():
    import pathlib

    import eigenveil

    root = pathlib.Path(eigenveil.__file__).parent
    for room in ("privacy", "mechanisms", "engines"):
        for path in (root / room).glob("*.py"):
            text = path.read_text()
            for forbidden in ("np.random", "numpy.random", "default_rng", "import random", "import secrets"):
                assert forbidden not in text, path
