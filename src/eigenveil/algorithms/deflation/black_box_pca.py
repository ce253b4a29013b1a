"""BlackBoxPCA, the paper's meta-algorithm: k components from any oracle for one, private or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from eigenveil.algorithms.deflation.deflate import Oracle, by_deflation
from eigenveil.algorithms.open_units import (
    RunArguments,
    check_k,
    open_units,
    public_face,
    refuse_unknown,
    unit_of,
)
from eigenveil.algorithms.release import Release
from eigenveil.engines import Engine, LocalEngine
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms import SeededBytes, Veil
from eigenveil.operators import as_operator
from eigenveil.privacy import Budget, Ledger, Relation
from eigenveil.units import Units


@public_face
def black_box_pca(
    samples: Any,
    k: int,
    oracle: Oracle | Sequence[Oracle],
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    aside: tuple[float, float] | None = None,
    **arguments: Unpack[RunArguments],
) -> Release:
    """Find k components by deflation over an oracle. The steps are in `algorithms.deflation.deflate`.

    Parameters
    ----------
    samples : anything that holds rows, or the result of an `eigenveil.samples` function
        Units.
    k : int
        Number of components.
    oracle : callable, or one per component
        ``oracle(units)`` receives its own disjoint part of the data, as `Units` that are already projected, and
        returns a vector.
    epsilon, delta : float, optional
        Privacy budget of an oracle call. By default the oracle is assumed to be not private, and the release is
        marked so.
    aside : (float, float), optional
        Part of (epsilon, delta) for releases without Gaussian noise. By default the result of the oracle's method
        ``aside(epsilon, delta)``, or nothing if it has no such method.
    **arguments
        `relation`, `ledger`, `random_state`, `engine`: see `RunArguments`. Under replace, parts are by position if
        units have fixed positions (people who are identified by ids have none). Otherwise they are by coin.

    Returns
    -------
    Release
        Its diagnostics have one entry per component.

    Formal guarantees
    -----------------
    With epsilon and delta: (epsilon, delta)-DP if the oracle learns about the units only through ``units.veil``.
    The author of the oracle guarantees this, and the ledger says so. Parts are disjoint, so k components cost as
    much as one.

    Deviations from the paper
    -------------------------
    Under add-remove, and for people who are identified by ids, each unit's own coin decides its part. By position,
    the removal of a unit, or another id, would move other units.

    Examples
    --------
    >>> import numpy as np
    >>> def exact(units):
    ...     total = sum(block.sum(axis=0) for block in units.matrices().tensors())
    ...     return np.linalg.eigh(total)[1][:, -1]
    >>> release = black_box_pca(np.random.default_rng(0).normal(size=(50, 4)), 2, exact)
    >>> release.components.shape, release.private
    ((2, 4), False)
    """
    refuse_unknown(black_box_pca, arguments)
    if (epsilon is None) != (delta is None):
        raise InvalidInputError(
            f"expected both epsilon and delta, or neither, got {epsilon!r} and {delta!r}.",
            hint="Leave both out for an oracle that is not private.",
        )
    if epsilon is None or delta is None:
        units = _without_guarantee(samples, **arguments)
    else:
        aside = _aside(oracle, epsilon, delta) if aside is None else aside
        units = open_units(samples, epsilon=epsilon, delta=delta, aside=aside, **arguments)
        units.veil.ledger.declare(
            "oracle", note="its author guarantees that it learns about units only through the veil"
        )
    return by_deflation(units, check_k(k, units.d), oracle, algorithm="black-box PCA")


def _aside(oracle: Oracle | Sequence[Oracle], epsilon: float, delta: float) -> tuple[float, float]:
    one = oracle[0] if isinstance(oracle, Sequence) else oracle
    own = getattr(one, "aside", None)
    return (0.0, 0.0) if own is None else own(epsilon, delta)


def _without_guarantee(
    samples: Any,
    *,
    relation: Relation | str = Relation.ADD_REMOVE,
    ledger: Ledger | None = None,
    random_state: int | None = None,
    engine: Engine | None = None,
) -> Units:
    """Return units whose ledger is marked "not private" from the start."""
    budget = Budget.from_mu(1.0)
    own = Ledger(budget, relation=relation) if ledger is None else ledger
    operator = as_operator(samples)
    own.bind(unit_of(operator))
    own.mark_not_private("the oracle was run without epsilon and delta, as one that is not private")
    return Units(
        operator=operator,
        veil=Veil(own, source=None if random_state is None else SeededBytes(random_state)),
        budget=budget,
        engine=LocalEngine() if engine is None else engine,
    )
