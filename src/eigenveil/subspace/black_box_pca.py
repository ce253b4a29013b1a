"""BlackBoxPCA: the paper's meta-algorithm. Any oracle for one direction, private or not, makes k."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from eigenveil.engines import Engine, LocalEngine
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms import SeededBytes, Veil
from eigenveil.operators import as_operator
from eigenveil.privacy import Budget, Ledger, Relation
from eigenveil.subspace.deflation import Oracle, by_deflation
from eigenveil.subspace.opening import RunArguments, check_k, open_units, public_face, refuse_unknown
from eigenveil.subspace.release import Release
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
    """Find k directions by deflation: see `subspace.deflation` for the steps.

    Parameters
    ----------
    samples : anything that holds rows, or what `eigenveil.samples` makes
        The units.
    k : int
        How many directions.
    oracle : callable, or one per component
        ``oracle(units)`` gets `Units` that are already projected and its own disjoint part, and returns a vector.
    epsilon, delta : float, optional
        What an oracle call may cost. Left out: the oracle is taken as not private, and the release says so.
    aside : (float, float), optional
        The part of (epsilon, delta) for releases without Gaussian noise. If left out, what the oracle's own method
        ``aside(epsilon, delta)`` says, if it has one, else nothing.
    **arguments
        `relation`, `ledger`, `random_state`, `engine`, as everywhere: see `RunArguments`. Parts are by place under
        replace where units have fixed places (people found by their ids have not), else by coin.

    Returns
    -------
    Release
        Its diagnostics have one entry per component.

    Formal guarantees
    -----------------
    With epsilon and delta: (epsilon, delta)-DP if the oracle learns about the units only through
    ``units.veil``, for which its author vouches; the ledger says so. Parts are disjoint, so k components cost
    what one costs.

    Deviations from the paper
    -------------------------
    Under add-remove, and for people found by their ids, the parts are by each unit's own coin: by place a removed
    unit, or another id, would move others.

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
        raise InvalidInputError("give both epsilon and delta, or neither for an oracle that is not private.")
    if epsilon is None or delta is None:
        units = _without_guarantee(samples, **arguments)
    else:
        aside = _aside(oracle, epsilon, delta) if aside is None else aside
        units = open_units(samples, epsilon=epsilon, delta=delta, aside=aside, **arguments)
        units.veil.ledger.declare(
            "oracle", note="its author vouches that it learns of units only through the veil"
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
    """Units whose ledger says from the start that there is no guarantee."""
    budget = Budget.from_mu(1.0)
    own = Ledger(budget, relation=relation) if ledger is None else ledger
    own.mark_not_private("the oracle was run without epsilon and delta, as one that is not private")
    return Units(
        operator=as_operator(samples),
        veil=Veil(own, source=None if random_state is None else SeededBytes(random_state)),
        budget=budget,
        engine=LocalEngine() if engine is None else engine,
    )
