"""Deflation: k components from an oracle for one. Each is projected out before the next is computed.

Deflation({A_i}, k, oracle):
  1  split the units into k disjoint parts; P <- I
  2  for i = 1..k:
  3     u_i <- oracle on part i of the units P A P, projected to Im(P) and normalised to length 1
  4     P <- P - u_i u_i^T
  5  return u_1, ..., u_k
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.algorithms.diagnostics import PerComponent
from eigenveil.algorithms.oracles.steps import OracleAnswer
from eigenveil.algorithms.release import Release, signed
from eigenveil.errors import InvalidInputError
from eigenveil.privacy import Purpose
from eigenveil.units import Units

Oracle = Callable[[Units], Any]
"""Function from its own part of the units, already projected, to an array of d numbers or an `OracleAnswer`."""

_NOTHING = 1e-9


def deflate(
    units: Units, k: int, oracles: Oracle | Sequence[Oracle]
) -> tuple[FloatArray, list[dict[str, object]]]:
    """Return k orthonormal rows, and the diagnostics of the oracle for each.

    Parameters
    ----------
    units : Units
        All units. Parts are by coin, or by position if the plan is a range of positions.
    k : int
        Number of components.
    oracles : callable, or one callable per component
        Oracle.

    Formal guarantees
    -----------------
    Parts are disjoint, so the whole run costs as much as the most expensive oracle call. If every call is
    zeta-approximate for P Sigma P, the components capture (1 - zeta^2) of the variance that the best k components
    capture (the paper's meta-theorem).

    ==============================  ==================================================================
    edge case                       result
    ==============================  ==================================================================
    direction outside Im(P), or 0   a random direction in Im(P), and `random_direction` is reported
    not d finite numbers            refused: the oracle has an error
    ==============================  ==================================================================

    References
    ----------
    The paper, labels algo-stoch-black-box and meta-theorem; Jambulapati et al. 2024, arXiv 2403.03905.
    """
    calls = list(oracles) if isinstance(oracles, Sequence) else [oracles] * k
    if len(calls) != k:
        raise InvalidInputError(f"expected one oracle, or {k} oracles, got {len(calls)}.")
    # 1
    parts = units.split(k) if k > 1 else (units,)
    U = np.zeros((units.d, 0))
    diagnostics: list[dict[str, object]] = []
    # 2
    for part, oracle in zip(parts, calls, strict=True):
        view = part.projected(U)
        # 3
        answer = oracle(view)
        direction = answer.direction if isinstance(answer, OracleAnswer) else answer
        u, found = _inside(view, direction)
        diagnostics.append(
            {**(answer.diagnostics if isinstance(answer, OracleAnswer) else {}), "random_direction": not found}
        )
        # 4
        U = np.concatenate([U, u[:, None]], axis=1)
    # 5
    return np.ascontiguousarray(U.T), diagnostics


def _inside(units: Units, direction: Any) -> tuple[FloatArray, bool]:
    """Return the direction projected to Im(P) at length 1, and whether its projection is not zero."""
    u = np.asarray(direction, dtype=np.float64)
    if u.size != units.d or not np.all(np.isfinite(u)):
        raise InvalidInputError(
            f"an oracle must return {units.d} finite numbers, got an array of shape {u.shape}.",
            hint="Return one vector of length d; it is normalised and projected for you.",
        )
    u = u.ravel()
    largest = float(np.abs(u).max())
    u = u / largest if largest > 0 else u
    inside = units.inside(u)
    length = float(np.linalg.norm(inside))
    if length <= _NOTHING * float(np.linalg.norm(u)):
        return units.random_start(1)[:, 0], False
    # rounding errors along the removed components are large relative to a short vector: project again at length 1
    inside = units.inside(inside / length)
    return inside / float(np.linalg.norm(inside)), True


def by_deflation(units: Units, k: int, oracles: Oracle | Sequence[Oracle], *, algorithm: str) -> Release:
    """Run deflation and return its release. Parts are by position if the number of units is public."""
    if units.number_is_public:
        units.veil.ledger.declare("number of units", note="public under replace", purpose=Purpose.COUNT)
        units = units.by_position()
    components, reported = deflate(units, k, oracles)
    names = dict.fromkeys(name for one in reported for name in one)
    return Release(
        algorithm=algorithm,
        components=signed(components),
        ledger=units.veil.ledger,
        diagnostics=PerComponent({name: tuple(one.get(name) for one in reported) for name in names}),
    )
