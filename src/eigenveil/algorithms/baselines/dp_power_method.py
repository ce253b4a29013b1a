"""DP-Power-Method: block power iteration with noise on every product.

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
from eigenveil.algorithms.algorithm import Algorithm
from eigenveil.algorithms.bound_options import BoundOptions
from eigenveil.algorithms.bounds import Bounds, buy_bounds
from eigenveil.algorithms.diagnostics import PowerDiagnostics
from eigenveil.algorithms.open_units import RunArguments, public_face, refuse_unknown
from eigenveil.algorithms.release import Release, signed
from eigenveil.errors import InvalidInputError
from eigenveil.kernels import symmetric_part
from eigenveil.mechanisms import noisy_clipped_sum
from eigenveil.privacy import Purpose, Relation
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
        """Alpha times beta for the printed scale; None for the other scale."""
        return None if self.alpha is None or self.beta is None else float(self.alpha) * float(self.beta)

    def number_of_rounds(self, d: int, k: int) -> int:
        """Return L, the number of rounds."""
        return power_rounds(d, k, spectrum=self.spectrum) if self.rounds is None else self.rounds

    def most_passes(self, d: int, k: int, relation: Relation) -> int:  # noqa: ARG002
        """Return the number of passes: the count of units, the radius, and one per round."""
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
    """Find k components by a noisy power iteration.

    Parameters
    ----------
    samples : anything that holds rows, or the result of an `eigenveil.samples` function
        Units.
    k : int
        Number of components, from 1 to d.
    epsilon, delta : float
        Privacy budget of the whole run.
    beta : float, optional
        Public bound on the norm of a row. A_i X is clipped to Frobenius norm beta^2. None: it is bought.
    n : int, optional
        Number of units, if it is public. None: it is bought where it is needed.
    quantile : float
        Share of the units that a bought bound should include.
    rounds : int, optional
        L, the number of rounds. None: `power_rounds` of d and k, and of `spectrum` if given.
    spectrum : (float, float), optional
        lambda_k and lambda_{k+1}, if they are public. They determine L.
    oversampling : int
        Number of columns that are iterated in addition to k.
    scale : {"beta-squared", "printed"}
        Norm at which A_i X is clipped. "printed" needs public `alpha` and `beta`.
    alpha : float, optional
        Public bound on the l1 norm of a row, for the printed scale.
    eigenvalues : bool
        Whether to return eigenvalues. If not, no count is bought when `beta` is public.
    start : array of shape (d, m), optional
        Public X_0 in place of a random one, such as an earlier release. It is orthonormalised first.
    relation, ledger, random_state, engine
        Neighbouring relation, a ledger to charge, a seed (not private), and what computes the sums: see
        `RunArguments`.

    Formal guarantees
    -----------------
    *Relation:* both. *Sensitivity* in round l: exactly R_l (*add-remove*) or 2 R_l (*replace*), as
    `noisy_clipped_sum` proves, for any X_{l-1}, since X_{l-1} is a release and A_i X_{l-1} itself is clipped.
    *Cost:* each round is (mu/sqrt(L))-GDP, with the mu that the bounds leave. Rounds and bounds together are
    mu-GDP with the mu of (epsilon, delta).

    *Units that are not clipped.* X is orthonormal, so ||A X||_F <= ||A||_F, which for rows is ||a||^2. So no row
    within beta is clipped at R = beta^2. *Printed scale:* row i of a a^T X is a_i (a^T X), and
    ||a^T X|| <= ||a||_1 max_j ||row j of X||. So ||a a^T X||_F <= ||a||_2 ||a||_1 max_j ||row j of X|| <= R_l for
    every row within alpha and beta. So noise at the printed scale is private, and no opt-in is needed. The printed
    scale is smaller only if X is spread out (R_l < beta^2). If ||a||_1 is near sqrt(d) ||a||_2, it is about
    sqrt(k) times larger.

    ==============================  ==================================================================
    edge case                       result
    ==============================  ==================================================================
    no units, few units             k random components, determined by noise
    all zero                        the same
    k = d, d = 1                    one round; all components, ordered by noisy singular value
    huge, nan, inf                  clipped; an invalid unit adds 0
    A_i not PSD, not symmetric      sum A_i is iterated unchanged; directions of large singular value
    ==============================  ==================================================================

    Deviations from the paper
    -------------------------
    - The default scale is beta^2, since an orthonormal iterate does not benefit from the l1 norm.
    - A_i X is clipped, not A_i. Units within the bounds are not changed, units outside are changed less, and no l1
      clip is needed. The printed scale is the scale of the noise.
    - Noise is calibrated by the exact Gaussian curve: its standard deviation is R_l sqrt(L)/mu. Hardt & Price's
      constant gives R_l sqrt(4 L ln(1/delta))/epsilon (2.3 times as much at (1, .01), 1.8 at (1, 1e-6)).
    - The paper does not specify L; see `power_rounds`.
    - beta is public or bought.

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
    """Return L = lambda_k/(lambda_k - lambda_{k+1}) ln d, rounded up; at least 2, but 1 for k = d.

    It depends on public numbers only. This number of rounds takes a random start to the top k (Hardt & Price 2014,
    up to a constant). If the spectrum is not public, the ratio is assumed to be 1, as for a wide gap. More rounds
    mean more noise in each.

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
                hint="Pass eigenvalues only if they are public; otherwise leave spectrum out.",
            )
        ratio = here / (here - below)
    return max(2, math.ceil(ratio * math.log(d)))


def run(units: Units, k: int, options: PowerOptions) -> Release:
    """Run steps 1 to 6."""
    # 1
    rounds = options.number_of_rounds(units.d, k)
    columns = min(k + options.oversampling, units.d)
    start = options.start
    Y = units.random_start(columns) if start is None else _orthonormal(start, units.d, columns)
    for what, purpose in (
        ("alpha", Purpose.BOUND),
        ("spectrum", Purpose.COMPONENTS),
        ("start", Purpose.COMPONENTS),
        ("rounds", Purpose.COMPONENTS),
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
