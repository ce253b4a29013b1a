"""DP-Power-Method: block power iteration, every product noised.

DPPowerMethod({A_i}, k):
  1  n_hat, R <- Bounds; X_0 <- random orthonormal d x m, m = min(k + oversampling, d)
  2  for l = 1..L, at mu/sqrt(L) each:
  3     R_l <- R, or as printed alpha beta max_j ||row j of X_{l-1}||
  4     Y_l <- sum_i clip_{R_l}(A_i X_{l-1}) + Gaussian for sensitivity R_l (2 R_l under replace)
  5     X_l <- qr(Y_l)
  6  return the top k left singular vectors of Y_L, and eigenvalues of sym(X_{L-1}^T Y_L)/n_hat
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.engines import LocalEngine
from eigenveil.errors import InvalidInputError
from eigenveil.kernels import symmetric_part
from eigenveil.mechanisms import noisy_clipped_sum
from eigenveil.privacy import Ledger, Purpose, Relation
from eigenveil.subspace.bounds import Bounds, Declared, buy_bounds
from eigenveil.subspace.opening import check_k, open_units
from eigenveil.subspace.release import Release, signed
from eigenveil.units import Units


def dp_power_method(
    samples: Any,
    k: int,
    *,
    epsilon: float,
    delta: float,
    beta: float | None = None,
    n: int | None = None,
    quantile: float = 0.75,
    rounds: int | None = None,
    spectrum: tuple[float, float] | None = None,
    oversampling: int = 0,
    scale: Literal["beta-squared", "printed"] = "beta-squared",
    alpha: float | None = None,
    eigenvalues: bool = True,
    start: FloatArray | None = None,
    relation: Relation | str = Relation.ADD_REMOVE,
    ledger: Ledger | None = None,
    random_state: int | None = None,
    engine: LocalEngine | None = None,
) -> Release:
    """Top k directions by a noisy power iteration.

    Parameters
    ----------
    samples : anything that holds rows, or what `eigenveil.samples` makes
        The units.
    k : int
        Number of directions, 1 to d.
    epsilon, delta : float
        The cost of everything together.
    beta : float, optional
        Public bound on the length of a row; A_i X is clipped to Frobenius norm beta^2. None: bought.
    n : int, optional
        Number of units, if public. None: bought where it is needed.
    quantile : float
        Share of the units that a bought bound is to hold.
    rounds : int, optional
        L. None: `power_rounds` of d and k, and of `spectrum` if given.
    spectrum : (float, float), optional
        lambda_k and lambda_{k+1}, if public: decides L.
    oversampling : int
        Columns iterated beyond k.
    scale : {"beta-squared", "printed"}
        What A_i X is clipped to. "printed" needs public `alpha` and `beta`.
    alpha : float, optional
        Public bound on the l1 norm of a row, for the printed scale.
    eigenvalues : bool
        False: none are returned, and with a public `beta` no count is bought.
    start : array of shape (d, m), optional
        Public: another X_0, for instance an earlier release. Orthonormalised first.
    relation, ledger, random_state, engine
        As everywhere: what neighbours are, a ledger to charge, a seed (not private), who does the sums.

    Formal guarantees
    -----------------
    *Relation:* either. *Sensitivity:* in round l, exactly R_l (*add-remove*) or 2 R_l (*replace*), as
    `noisy_clipped_sum` proves, whatever X_{l-1} is: it is a release, and A_i X_{l-1} itself is clipped. *Cost:*
    rounds are mu/sqrt(L)-GDP each, together with the bounds mu-GDP, mu for (epsilon, delta).

    *What is not clipped.* X is orthonormal, so ||A X||_F <= ||A||_F, which for rows is ||a||^2: no row within beta
    is clipped at R = beta^2. *Printed scale:* row i of a a^T X is a_i (a^T X), and ||a^T X|| <= ||a||_1 max_j
    ||row j of X||, so ||a a^T X||_F <= ||a||_2 ||a||_1 max_j ||row j of X|| <= R_l for every row within alpha and
    beta. So noise at the printed scale is private, and no opt-in is needed. It is the smaller scale only where X
    is spread out (R_l < beta^2); ||a||_1 near sqrt(d) ||a||_2 makes it about sqrt(k) times the larger.

    ==============================  ==================================================================
    edge case                       answer
    ==============================  ==================================================================
    no units, few units             k directions of noise
    all zero                        as above
    k = d, d = 1                    one round; all directions, ordered by noisy singular value
    huge, nan, inf                  clipped; a bad unit adds 0
    A_i not PSD, not symmetric      the iteration is that of sum A_i as it is; directions of large singular value
    ==============================  ==================================================================

    Deviations from the paper
    -------------------------
    - The scale beta^2 by default: the l1 norm is of no use to an orthonormal iterate.
    - Clipping is applied to A_i X, not to A_i: what lies within the bounds is not changed, what lies outside is
      changed less, and it needs no l1 clip. The printed scale is that of the noise.
    - Noise is calibrated by the exact Gaussian curve: std R_l sqrt(L)/mu, where Hardt & Price's constant gives R_l
      sqrt(4 L ln(1/delta))/epsilon (2.3 times as much at (1, .01), 1.8 at (1, 1e-6)).
    - The paper does not say what L is; see `power_rounds`.
    - beta is public or paid for.

    References
    ----------
    Hardt & Price 2014, arXiv 1311.2495; Nicolas, Sabater, Maouche, Ben Mokhtar & Coates 2024, arXiv 2411.01931
    (noise that does not grow with k); paper, section sec-appendix-experiments.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(20000, 3)) * [5.0, 1.0, 0.5]
    >>> release = dp_power_method(X, 1, epsilon=1.0, delta=1e-6, rounds=6)
    >>> bool(abs(release.components[0, 0]) > 0.95), release.diagnostics["rounds"]
    (True, 6)
    """
    declared = Declared(beta=beta, n=n, quantile=quantile)
    product = _printed_product(scale, alpha, declared)
    units = open_units(
        samples,
        epsilon=epsilon,
        delta=delta,
        relation=relation,
        ledger=ledger,
        random_state=random_state,
        engine=engine,
    )
    check_k(k, units.d)
    L = power_rounds(units.d, k, spectrum=spectrum) if rounds is None else _at_least("rounds", rounds, 1)
    columns = min(k + _at_least("oversampling", oversampling, 0), units.d)
    X = units.random_start(columns) if start is None else _orthonormal(start, units.d, columns)
    for what, given, purpose in (
        ("alpha", alpha, Purpose.BOUND),
        ("spectrum", spectrum, Purpose.COMPONENTS),
        ("start", start, Purpose.COMPONENTS),
    ):
        if given is not None:
            units.veil.ledger.declare(what, note="declared by the caller", purpose=purpose)
    return _on_units(units, k, declared, rounds=L, start=X, alpha_beta=product, eigenvalues=eigenvalues)


def power_rounds(d: int, k: int, *, spectrum: tuple[float, float] | None = None) -> int:
    """L = lambda_k/(lambda_k - lambda_{k+1}) ln d, from public numbers, rounded up; at least 2, and 1 for k = d.

    That many rounds take a random start to the top k (Hardt & Price 2014, up to a constant). Where the
    spectrum is not public the ratio is taken as 1, as behind a wide gap; more rounds mean more noise in each.

    Examples
    --------
    >>> power_rounds(200, 2), power_rounds(200, 2, spectrum=(5.0, 2.5)), power_rounds(3, 3)
    (6, 11, 1)
    """
    if k == d:
        return 1
    ratio = 1.0
    if spectrum is not None:
        here, below = (float(value) for value in spectrum)
        if not (math.isfinite(here) and 0 <= below < here):
            raise InvalidInputError(
                f"spectrum must be lambda_k above lambda_(k+1), neither negative, got {spectrum!r}.",
                hint="Only public eigenvalues belong here; leave it out if none are.",
            )
        ratio = here / (here - below)
    return max(2, math.ceil(ratio * math.log(d)))


def _on_units(
    units: Units,
    k: int,
    declared: Declared,
    *,
    rounds: int,
    start: FloatArray,
    alpha_beta: float | None = None,
    eigenvalues: bool = True,
) -> Release:
    # 1
    bounds = buy_bounds(units, declared, count=eigenvalues, by_rows=True)
    X, Y = start, start
    radii: list[float] = []
    # 2
    for index in range(rounds):
        # 5, of the round before
        X = Y if index == 0 else np.linalg.qr(Y)[0]
        # 3
        radii.append(bounds.radius if alpha_beta is None else alpha_beta * _largest_row(X))
        # 4
        Y = noisy_clipped_sum(
            units.block(X),
            centre=np.zeros(X.shape),
            radius=radii[-1],
            mu=bounds.mu / math.sqrt(rounds),
            veil=units.veil,
            what=f"power round {index + 1}",
            purpose=Purpose.COMPONENTS,
        ).value
    # 6
    vectors = np.linalg.svd(Y, full_matrices=False)[0]
    return Release(
        algorithm="dp-power",
        components=signed(np.ascontiguousarray(vectors[:, :k].T)),
        eigenvalues=_eigenvalues(X, Y, bounds)[:k] if eigenvalues else None,
        ledger=units.veil.ledger,
        diagnostics={"radius": tuple(radii), "n_hat": bounds.n_hat, "rounds": rounds},
    )


def _eigenvalues(X: FloatArray, Y: FloatArray, bounds: Bounds) -> FloatArray:
    assert bounds.n_hat is not None
    ascending = np.linalg.eigvalsh(symmetric_part(X.T @ Y))
    return np.asarray(ascending[::-1] / bounds.n_hat, dtype=np.float64)


def _largest_row(X: FloatArray) -> float:
    return float(np.sqrt(np.sum(X * X, axis=1)).max())


def _printed_product(scale: str, alpha: float | None, declared: Declared) -> float | None:
    """Alpha times beta for the printed scale, None for the other."""
    if scale not in ("beta-squared", "printed"):
        raise InvalidInputError(f"scale must be 'beta-squared' or 'printed', got {scale!r}.")
    if scale == "beta-squared":
        if alpha is not None:
            raise InvalidInputError(
                f"alpha is used by scale='printed' only, got {alpha!r} with scale={scale!r}.",
                hint="Leave alpha out, or pass scale='printed'.",
            )
        return None
    if alpha is None or declared.beta is None or not 0 < alpha * declared.beta < math.inf:
        raise InvalidInputError(
            f"scale='printed' needs public alpha and beta above 0, got {alpha!r} and {declared.beta!r}.",
            hint="scale='beta-squared' needs no alpha, and can buy its bound.",
        )
    return float(alpha) * float(declared.beta)


def _orthonormal(start: FloatArray, d: int, columns: int) -> FloatArray:
    X = np.asarray(start, dtype=np.float64)
    if X.shape != (d, columns) or not np.all(np.isfinite(X)):
        raise InvalidInputError(f"start must be finite and of shape ({d}, {columns}), got shape {X.shape}.")
    return np.linalg.qr(X)[0]


def _at_least(name: str, value: int, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidInputError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    return value
