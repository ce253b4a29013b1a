"""An account of a ledger that shares no code with it: dp-accounting's privacy loss distributions."""

from __future__ import annotations

import functools
import itertools
import math

import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from eigenveil.privacy import Entry, Parallel


def recompute(ledger) -> None:
    """Assert that optimistic PLD <= reported, and, if all is Gaussian, reported <= 1.01 pessimistic PLD."""
    paths = list(itertools.islice(_paths(ledger.nodes), 64))
    worst = list(dict.fromkeys(_key(path) for path in paths if any(e.kind != "declared" for e in path)))
    if not worst:
        assert ledger.mu == 0
        return
    gaussian_only = all(kind == "g" for key in worst for kind, *_ in key)
    for delta in (1e-8, 1e-5, 1e-2):
        reported = ledger.epsilon(delta)
        optimistic = max(_epsilon(key, delta, pessimistic=False) for key in worst)
        assert optimistic <= reported * (1 + 1e-6) + 1e-12, (optimistic, reported)
        if gaussian_only:
            pessimistic = max(_epsilon(key, delta, pessimistic=True) for key in worst)
            assert reported <= 1.01 * pessimistic + 1e-9, (reported, pessimistic)


def _paths(nodes):
    """Every sequence of entries that one unit can meet: one part of each parallel group."""
    options = []
    for node in nodes:
        if isinstance(node, Entry):
            options.append([(node,)])
        else:
            assert isinstance(node, Parallel)
            options.append([path for part in node.parts for path in _paths(part)] or [()])
    for choice in itertools.product(*options):
        yield tuple(itertools.chain.from_iterable(choice))


def _key(path):
    """What matters for the account, from sensitivity and noise and not from the stated mu."""
    key = []
    for entry in path:
        if entry.kind == "gaussian":
            key.append(("g", float(f"{entry.sensitivity / entry.scale:.6g}"), entry.releases))
        elif entry.kind == "approximate":
            key.append(("a", entry.epsilon, entry.delta))
    return tuple(sorted(key))


@functools.cache
def _epsilon(key, delta, *, pessimistic) -> float:
    """Epsilon at `delta`, by bisection on the curve."""
    low, high = 0.0, 1.0
    while _delta(key, high, pessimistic=pessimistic) > delta:
        high *= 2
        if high > 1e6:
            return math.inf
    for _ in range(60):
        middle = (low + high) / 2
        too_much = _delta(key, middle, pessimistic=pessimistic) > delta
        low, high = (middle, high) if too_much else (low, middle)
    return low if not pessimistic else high


def _delta(key, epsilon, *, pessimistic) -> float:
    """Gaussian parts by PLD; each (epsilon', delta') part as the randomised response that is its worst case."""
    gaussian = tuple(k[1:] for k in key if k[0] == "g")
    rest = [k[1:] for k in key if k[0] == "a"]
    survive = math.prod(1 - d for _, d in rest)
    total = 0.0
    for signs in itertools.product((1, -1), repeat=len(rest)):
        loss = sum(sign * e for sign, (e, _) in zip(signs, rest, strict=True))
        weight = math.prod(1 / (1 + math.exp(-sign * e)) for sign, (e, _) in zip(signs, rest, strict=True))
        total += weight * _gaussian_delta(gaussian, epsilon - loss, pessimistic=pessimistic)
    return 1 - survive + survive * total


def _gaussian_delta(gaussian, epsilon, *, pessimistic) -> float:
    if not gaussian:
        return 0.0 if epsilon >= 0 else 1 - math.exp(epsilon)
    return float(_gaussian_pld(gaussian, pessimistic=pessimistic).get_delta_for_epsilon(epsilon))


@functools.cache
def _gaussian_pld(gaussian, *, pessimistic):
    mu = math.sqrt(sum(ratio**2 * releases for ratio, releases in gaussian))
    interval = min([mu / 2000, *(ratio / 2 for ratio, _ in gaussian)])
    total = None
    for ratio, group in itertools.groupby(sorted(gaussian), key=lambda pair: pair[0]):
        part = pld.from_gaussian_mechanism(
            1 / ratio,
            pessimistic_estimate=pessimistic,
            value_discretization_interval=interval,
            use_connect_dots=pessimistic,
        )
        times = sum(releases for _, releases in group)
        part = part.self_compose(times) if times > 1 else part
        total = part if total is None else total.compose(part)
    return total


def _folded_rightly(part) -> None:
    """The line for finished parts is no cheaper and no noisier than this part was, which kept its entries."""
    lines = [line for line in part._group.parts[0] if line.kind == "gaussian"]
    spent = [entry for entry in part.entries if entry.kind == "gaussian"]
    assert len(part._group.parts[0]) <= 2
    assert part._group.finished >= 1
    if spent:
        (line,) = lines
        loss = math.sqrt(sum(entry.releases * (entry.sensitivity / entry.scale) ** 2 for entry in spent))
        assert line.mu >= part.mu * (1 - 1e-15)
        assert line.sensitivity / line.scale >= loss * (1 - 1e-12)
        assert part._parent.mu >= part.mu * (1 - 1e-15)


class LedgerWatch:
    """Collects the ledgers that a test makes, so that all of them are recomputed after it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, cls) -> None:
        self.ledgers = []
        original = cls.__init__
        watch = self.ledgers

        def init(ledger, *args, **kwargs):
            original(ledger, *args, **kwargs)
            watch.append(ledger)

        monkeypatch.setattr(cls, "__init__", init)

    def check(self) -> None:
        seen = set()
        for ledger in self.ledgers:
            if ledger._finished:
                _folded_rightly(ledger)
            if (ledger._parent is None or ledger._finished) and ledger.nodes:
                key = (tuple(_key(path) for path in itertools.islice(_paths(ledger.nodes), 64)), ledger.mu)
                if key not in seen:
                    seen.add(key)
                    recompute(ledger)
