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
from dataclasses import dataclass
from typing import Any, Literal, Unpack

import numpy as np

from eigenveil._checks import whole
from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError
from eigenveil.kernels import symmetric_part
from eigenveil.mechanisms import noisy_clipped_sum
from eigenveil.privacy import Purpose, Relation
from eigenveil.subspace.algorithm import Algorithm
from eigenveil.subspace.bound_options import BoundOptions
from eigenveil.subspace.bounds import Bounds, buy_bounds
from eigenveil.subspace.diagnostics import PowerDiagnostics
from eigenveil.subspace.opening import RunArguments, public_face, refuse_unknown
from eigenveil.subspace.release import Release, signed
from eigenveil.units import Units


@dataclass(frozen=True, kw_only=True)
class PowerOptions(BoundOptions):
    """Options of `dp_power_method`."""

    rounds: int | None = None
    spectrum: tuple[float, float] | None = None
    oversampling: int = 0
    scale: Literal["beta-squared", "printed"] = "beta-squared"
    alpha: float | None = None
    eigenvalues: bool = True
    start: FloatArray | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rounds is not None:
            whole("rounds", self.rounds, least=1)
        whole("oversampling", self.oversampling, least=0)
        self._check_scale()

    @property
    def printed_product(self) -> float | None:
        """Alpha times beta for the printed scale, None for the other."""
        return None if self.alpha is None or self.beta is None else float(self.alpha) * float(self.beta)

    def number_of_rounds(self, d: int, k: int) -> int:
        """L."""
        return power_rounds(d, k, spectrum=self.spectrum) if self.rounds is None else self.rounds

    def most_passes(self, d: int, k: int, relation: Relation) -> int:  # noqa: ARG002
        """The number of units, a radius, and one pass per round."""
        return 2 + self.number_of_rounds(d, k)

    def _check_scale(self) -> None:
        if self.scale not in ("beta-squared", "printed"):
            raise InvalidInputError(f"scale must be 'beta-squared' or 'printed', got {self.scale!r}.")
        if self.scale == "beta-squared" and self.alpha is not None:
            raise InvalidInputError(
                f"alpha is used by scale='printed' only, got {self.alpha!r} with scale={self.scale!r}.",
                hint="Leave alpha out, or pass scale='printed'.",
            )
        product = self.printed_product
        if self.scale == "printed" and (product is None or not 0 < product < math.inf):
            raise InvalidInputError(
                f"scale='printed' needs public alpha and beta above 0, got {self.alpha!r} and {self.beta!r}.",
                hint="scale='beta-squared' needs no alpha, and can buy its bound.",
            )


@public_face
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
    **arguments: Unpack[RunArguments],
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
    refuse_unknown(dp_power_method, arguments)
    options = PowerOptions(
        beta=beta,
        n=n,
        quantile=quantile,
        rounds=rounds,
        spectrum=spectrum,
        oversampling=oversampling,
        scale=scale,
        alpha=alpha,
        eigenvalues=eigenvalues,
        start=start,
    )
    return DP_POWER.release(samples, k, options, epsilon=epsilon, delta=delta, **arguments)


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


def run(units: Units, k: int, options: PowerOptions) -> Release:
    """Steps 1 to 6."""
    # 1
    rounds = options.number_of_rounds(units.d, k)
    columns = min(k + options.oversampling, units.d)
    start = options.start
    Y = units.random_start(columns) if start is None else _orthonormal(start, units.d, columns)
    for what, purpose in (
        ("alpha", Purpose.BOUND),
        ("spectrum", Purpose.COMPONENTS),
        ("start", Purpose.COMPONENTS),
    ):
        if getattr(options, what) is not None:
            units.veil.ledger.declare(what, note="declared by the caller", purpose=purpose)
    bounds = buy_bounds(units, options.declared, count=options.eigenvalues, by_rows=True)
    X, printed = Y, options.printed_product
    radii: list[float] = []
    # 2
    for index in range(rounds):
        # 5, of the round before
        X = Y if index == 0 else np.linalg.qr(Y)[0]
        # 3
        radii.append(bounds.radius if printed is None else printed * _largest_row(X))
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
        eigenvalues=_eigenvalues(X, Y, bounds)[:k] if options.eigenvalues else None,
        ledger=units.veil.ledger,
        diagnostics=PowerDiagnostics(tuple(radii), bounds.n_hat, rounds),
    )


DP_POWER = Algorithm(name="dp-power", options=PowerOptions, run=run, variances=True)


def _eigenvalues(X: FloatArray, Y: FloatArray, bounds: Bounds) -> FloatArray:
    assert bounds.n_hat is not None
    ascending = np.linalg.eigvalsh(symmetric_part(X.T @ Y))
    return np.asarray(ascending[::-1] / bounds.n_hat, dtype=np.float64)


def _largest_row(X: FloatArray) -> float:
    return float(np.sqrt(np.sum(X * X, axis=1)).max())


def _orthonormal(start: FloatArray, d: int, columns: int) -> FloatArray:
    X = np.asarray(start, dtype=np.float64)
    if X.shape != (d, columns) or not np.all(np.isfinite(X)):
        raise InvalidInputError(f"start must be finite and of shape ({d}, {columns}), got shape {X.shape}.")
    return np.linalg.qr(X)[0]
