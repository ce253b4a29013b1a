"""Oja's algorithm for k components by deflation. Not private."""

from __future__ import annotations

from typing import Any

from eigenveil.algorithms.deflation.black_box_pca import black_box_pca
from eigenveil.algorithms.oracles.oja import Oja
from eigenveil.algorithms.oracles.steps import Rates
from eigenveil.algorithms.release import Release


def oja(
    samples: Any, k: int = 1, *, learning_rates: Rates | None = None, random_state: int | None = None
) -> Release:
    """Find k components by Oja's algorithm, not privately: one pass over n/k units per component, in data order.

    Parameters
    ----------
    samples : anything that holds rows, or the result of an `eigenveil.samples` function
        Units.
    k : int
        Number of components.
    learning_rates : callable or sequence, optional
        eta_t for t = 1, 2, .... By default 1/(1 + t).
    random_state : int, optional
        Seed of the random start.

    Formal guarantees
    -----------------
    None. The release is marked "not private".

    References
    ----------
    The paper, label algo-ojas.

    Examples
    --------
    >>> import numpy as np
    >>> release = oja(np.random.default_rng(0).normal(size=(200, 3)) * [3, 1, 1], random_state=0)
    >>> bool(abs(release.components[0, 0]) > 0.95), release.private
    (True, False)
    """
    oracle = Oja(learning_rates=learning_rates)
    release = black_box_pca(samples, k, oracle, relation="replace", random_state=random_state)
    return Release(
        algorithm="Oja", components=release.components, ledger=release.ledger, diagnostics=release.diagnostics
    )
