"""What must hold of a ledger file, whatever happened to the processes that charged it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from eigenveil.privacy import Ledger


def read(path: Path) -> Ledger | None:
    """The ledger in a file, or None without a file. A file that is not whole raises."""
    return Ledger.from_json(path.read_text(encoding="utf-8")) if path.exists() else None


def charged(ledger: Ledger | None) -> Counter:
    """The entries that were charged, in the form of `Outcome.granted`."""
    entries = () if ledger is None else ledger.entries
    return Counter(
        (entry.what, entry.mu, entry.epsilon, entry.scale) for entry in entries if entry.kind != "declared"
    )


def check(path: Path, granted: list[tuple]) -> Ledger | None:
    """Every grant of noise is in the file, and the file does not exceed its cap."""
    ledger = read(path)
    missing = Counter(granted) - charged(ledger)
    assert not missing, f"noise was granted that the ledger does not show: {missing}"
    if ledger is not None:
        assert sum(mu**2 for _, mu, _, _ in granted) <= ledger.budget.mu**2 * (1 + 1e-9)
        assert ledger.private
    return ledger
