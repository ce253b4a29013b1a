"""Oja's algorithm, k directions by deflation. Not private."""

from __future__ import annotations

from typing import Any

from eigenveil.oracles.oja import Oja
from eigenveil.oracles.steps import Rates
from eigenveil.subspace.black_box_pca import black_box_pca
from eigenveil.subspace.release import Release


def oja(
    samples: Any, k: int = 1, *, learning_rates: Rates | None = None, random_state: int | None = None
) -> Release:
    """Non-private streaming PCA: one pass over n/k units for each component, in the order of the data.

    Parameters
    ----------
    learning_rates : callable or sequence, optional
        eta_t for t = 1, 2, ...; 1/(1 + t) if left out.

    Formal guarantees
    -----------------
    None: the release says "not private".

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
