"""Checks that hold for every mechanism; mutants must fail at least one of them."""

from __future__ import annotations

import numpy as np

from eigenveil.mechanisms import SeededBytes, no_noise
from support.catalogue import MECHANISMS, ledger
from support.veils import CountingZeros, WatchedVeil, one_sigma, worst_ratio


def stated_sensitivity_holds(name, relation, rows, neighbour) -> float:
    """Run on both data sets, the second answered with the first one's outputs; compare what was noised."""
    make, run = MECHANISMS[name]
    ratios = []
    for source in (no_noise, SeededBytes(1)):  # without noise radii fit the data; with it they are wild
        first = WatchedVeil(ledger(relation), source=source)
        run(make(rows), first)
        second = WatchedVeil(ledger(relation), source=source, transcript=first.seen)
        run(make(neighbour), second)
        ratios.append(worst_ratio(first.seen, second.seen))
    assert max(ratios) <= 1, f"{name} under {relation}: {max(ratios)} times the stated sensitivity"
    return max(ratios)


def draws_match_ledger(name, relation, rows) -> None:
    """Every value drawn at the byte source stands in the ledger, and the other way round."""
    make, run = MECHANISMS[name]
    source = CountingZeros()
    veil = WatchedVeil(ledger(relation), source=source)
    run(make(rows), veil)
    assert source.draws == sum(entry.draws for entry in veil.ledger.entries)


def noise_matches_ledger(name, relation, rows) -> None:
    """With bytes that make every Gaussian draw +1 standard deviation, what is added is the ledger's scale."""
    make, run = MECHANISMS[name]
    veil = WatchedVeil(ledger(relation), source=one_sigma)
    run(make(rows), veil)
    entries = [entry for entry in veil.ledger.entries if entry.kind != "declared"]
    assert len(entries) == len(veil.seen)
    for entry, seen in zip(entries, veil.seen, strict=True):
        assert entry.sensitivity == seen.sensitivity
        if seen.norm != "l2":
            continue
        assert entry.sensitivity * entry.releases**0.5 / entry.scale <= entry.mu * (1 + 1e-12)
        assert entry.releases in (1, len(seen.steps))
        for steps, weight, out in zip(seen.steps, seen.weights, seen.outputs, strict=True):
            added = out - np.ldexp(steps.astype(float), seen.exponent)
            np.testing.assert_allclose(added, entry.scale * weight, rtol=1e-6)
