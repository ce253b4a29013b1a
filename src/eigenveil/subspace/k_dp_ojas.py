"""k-DP-Ojas: deflation over DP-Ojas."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from eigenveil.engines import LocalEngine
from eigenveil.errors import InvalidInputError
from eigenveil.oracles.dp_ojas import DPOjas, Printed
from eigenveil.privacy import Ledger, Relation
from eigenveil.subspace.black_box_pca import run
from eigenveil.subspace.k_dp_pca import RatesPerComponent, per_component
from eigenveil.subspace.opening import check_k, open_units
from eigenveil.subspace.release import Release


def k_dp_ojas(
    samples: Any,
    k: int,
    *,
    epsilon: float,
    delta: float,
    clip: float | None = None,
    learning_rates: RatesPerComponent | None = None,
    sampling: Literal["disjoint", "poisson"] = "disjoint",
    steps: int | None = None,
    not_private: bool = False,
    C_printed: float = 1.0,
    relation: Relation | str = Relation.ADD_REMOVE,
    ledger: Ledger | None = None,
    random_state: int | None = None,
    engine: LocalEngine | None = None,
) -> Release:
    """Find k private directions by Oja's algorithm on clipped and noised gradients.

    The steps are those of `subspace.deflation` over `oracles.dp_ojas`, n/k units per component.

    Parameters
    ----------
    samples : anything that holds rows, or what `eigenveil.samples` makes
        The units.
    k : int
        How many directions.
    epsilon, delta : float
        What the whole may cost.
    clip, learning_rates, sampling, steps
        As in `DPOjas`; learning rates may be one per component.
    not_private : bool
        Run with the noise as printed, which no proof covers at an epsilon worth the name. The release, its ledger
        and their repr then say "not private" and why. Needs `clip`; one unit a step.
    C_printed : float
        The constant C' of that noise.
    relation : {"add-remove", "replace"}
        What neighbours are.

    Formal guarantees
    -----------------
    (epsilon, delta)-DP unless `not_private`: see `DPOjas`.

    Deviations from the paper
    -------------------------
    Those of `DPOjas`, and of `black_box_pca` under add-remove.

    References
    ----------
    The paper, labels corollary:k-dp-ojas and algo-dp-ojas.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(5000, 5)) * [5, 3, 1, 1, 1]
    >>> k_dp_ojas(X, 2, epsilon=1.0, delta=1e-5).components.shape
    (2, 5)
    """
    if C_printed != 1.0 and not not_private:
        raise InvalidInputError("C_printed is the constant of the printed noise, which needs not_private=True.")
    printed = Printed(epsilon=epsilon, delta=delta, C=C_printed) if not_private else None
    oracle = DPOjas(clip=clip, sampling=sampling, steps=steps, printed=printed)
    units = open_units(
        samples,
        epsilon=epsilon,
        delta=delta,
        relation=relation,
        ledger=ledger,
        random_state=random_state,
        aside=oracle.aside(epsilon, delta),
        engine=engine,
    )
    check_k(k, units.d)
    oracles = [replace(oracle, learning_rates=rates) for rates in per_component(learning_rates, k)]
    return run(units, k, oracles, algorithm="k-DP-Ojas as printed" if not_private else "k-DP-Ojas")
