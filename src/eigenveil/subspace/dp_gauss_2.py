"""DP-Gauss-2: the projector onto the top k directions, noised as little as the eigengap allows.

DPGauss2({A_i}, k):
  1  n_hat, R <- Bounds                                              # public, or bought
  2  X <- sum_i clip_R(A_i), exactly; lambda, V <- eigh(X)
  3  g <- max(0, min(lambda_k - lambda_{k+1}, T - ||X||_F)), T = what ||X||_F can be with n_hat units
  4  y <- g + Lap(b/eps1) - (b/eps1) ln(1/(2 delta1)), b = R         # a private lower bound on the gap
  5  if y <= R: return a random basis, and say so
  6  S <- V_k V_k^T + symmetric Gaussian for sensitivity sqrt(2) R/(y - R)
  7  return the top k eigenvectors of S
Under replace b and the sensitivity in 6 are doubled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms import propose_test_release
from eigenveil.operators import SpikedOperator
from eigenveil.privacy import Purpose, Relation
from eigenveil.subspace.algorithm import Algorithm
from eigenveil.subspace.bound_options import BoundOptions
from eigenveil.subspace.bounds import Bounds, Declared, buy_bounds
from eigenveil.subspace.certified_eigh import backward_error, certified_eigh, orthogonality_error
from eigenveil.subspace.diagnostics import PrintedProjectorDiagnostics, ProjectorDiagnostics
from eigenveil.subspace.opening import RunArguments, public_face, refuse_unknown
from eigenveil.subspace.release import Release, signed
from eigenveil.subspace.release_warnings import no_eigengap
from eigenveil.units import Units

NOT_PRIVATE = (
    "DP-Gauss-2 as printed: the noise on its gap ignores beta and is drawn again where the gap is not positive, "
    "and no proof covers the noise on V_k"
)
_WHAT = "top projector"


@dataclass(frozen=True, kw_only=True)
class Gauss2Options(BoundOptions):
    """Options of `dp_gauss_2`."""

    test_epsilon: float | None = None
    test_delta: float | None = None
    psd: bool = False
    not_private: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.not_private and self.beta is None:
            raise InvalidInputError(
                "the printed algorithm takes beta as known, got None.",
                hint="Pass beta, or leave not_private=False.",
            )

    def aside(self, epsilon: float, delta: float) -> tuple[float, float]:
        """What the test on the gap costs: as asked for, else a share of the whole."""
        if self.not_private:
            return epsilon / 2, 0.0
        first = epsilon / 4 if self.test_epsilon is None else self.test_epsilon
        second = delta / 2 if self.test_delta is None else self.test_delta
        if not (0 < first < epsilon and 0 < second < delta):
            raise InvalidInputError(
                f"test_epsilon and test_delta must lie strictly within ({epsilon!r}, {delta!r}), "
                f"got ({first!r}, {second!r}).",
                hint="Both the test of the gap and the release after it need a part.",
            )
        return first, second

    def most_passes(self, d: int, k: int, relation: Relation) -> int:  # noqa: ARG002
        """The number of units, a radius, the sum; nothing is read where all directions are asked for."""
        return 3 if k < d else 0


@public_face
def dp_gauss_2(
    samples: Any,
    k: int,
    *,
    epsilon: float,
    delta: float,
    beta: float | None = None,
    n: int | None = None,
    quantile: float = 0.75,
    test_epsilon: float | None = None,
    test_delta: float | None = None,
    psd: bool = False,
    not_private: bool = False,
    **arguments: Unpack[RunArguments],
) -> Release:
    """Top k directions from their projector, by propose-test-release on the eigengap.

    The k directions come in no particular order: a projector does not tell them apart.

    Parameters
    ----------
    samples : anything that holds rows, or what `eigenveil.samples` makes
        The units.
    k : int
        Number of directions, 1 to d.
    epsilon, delta : float
        The cost of everything together.
    beta : float, optional
        Public bound on the length of a row; each A_i is clipped to Frobenius norm beta^2. None: bought.
    n : int, optional
        Number of units, if public: a sum larger than 2 n clipped units could be ends at bottom. None: bought.
    quantile : float
        Share of the units that a bought bound is to hold.
    test_epsilon, test_delta : float, optional
        (eps1, delta1), the part of (epsilon, delta) that tests the gap: a quarter and a half by default.
    psd : bool
        Declares that every matrix that could ever come is positive semidefinite. Rows and people always
        are, and spiked units whose spikes are not negative. Without it the gap of matrices is taken to move twice
        as far, and no promise is needed.
    not_private : bool
        True: the algorithm as printed, for reproduction only; needs `beta`. Everything says "not private".
    relation, ledger, random_state, engine
        As everywhere: what neighbours are, a ledger to charge, a seed (not private), who does the sums. A shared
        ledger must have (eps1, delta1) set aside.

    Formal guarantees
    -----------------
    *Relation:* either. *Cost:* (eps1, delta1) for the test from the part set aside; mu-GDP, mu for (epsilon -
    eps1, delta - delta1), for bounds and the release: (epsilon, delta) in all. After bottom the release is not
    charged. *Sensitivity*, for X' = X + E with ||E||_F <= m, the eigenvalues of E in [-a, c]:

    - *The gap.* By Weyl each of lambda_k, lambda_{k+1} moves by something in [-a, c], so their difference moves by
      at most a + c. One PSD unit more or less: m = R and {a, c} = {0, R}, since ||E||_2 <= ||E||_F; the gap
      moves by R. One PSD unit for another: m <= 2 R, a, c <= R; it moves by 2 R. Not PSD: twice as far.
    - *The projector.* Let P, P' project on the top k of X and X', eta = lambda_k(X) - lambda_{k+1}(X') >= g - c.
      For eta > 0 let Z = P'^c P, P'^c = I - P'. Then P'^c E P = (P'^c X' P'^c) Z - Z (P X P): the left factor
      has eigenvalues up to lambda_{k+1}(X') on its range, the right one from lambda_k(X) on, so ||P'^c E P||_F >=
      eta ||Z||_F (Davis & Kahan), and ||P - P'||_F = sqrt(2) ||Z||_F <= sqrt(2) m/(g - c).
      With m = c = R this is sqrt(2) R/(g - R); with m = 2 R, c = R, as after a replacement, twice that.
    - *The cap.* ||X||_F moves by at most m, which is not more than the gap does, and so does a minimum of the two.

    So the margin g and sensitivity_at(y) = sqrt(2) m/(y - c), y > c, are what `propose_test_release` asks for.
    T = (2 n_hat + 16 standard deviations of n_hat) R is a public number that caps what floats can get wrong.

    *Floats.* X is a sum of integers, so exact. A clipped PSD unit is rounded to the grid and so PSD only up to
    some nu (see `_psd_error`, .4 % of R), which is added to a and c. `certified_eigh` returns the exact
    eigenvalues and (up to a checked error) eigenvectors of X + D, ||D||_F <= rho, about backward_error(d)
    (T + 4 R), wherever the test can pass: so m and c grow by 2 rho, and the computed g errs by at most 2 rho.
    rho is 2e-5 of R for d = 200, n = 1e5.

    ==============================  ==================================================================
    edge case                       answer
    ==============================  ==================================================================
    no units, one unit, few units   bottom
    all equal                       released if the common matrix has a gap
    k = d, d = 1                    the standard basis: V V^T = I whatever the data, so nothing is charged
    no gap after lambda_k           bottom: a random basis, a warning, ``diagnostics["bottom"]``
    huge, nan, inf                  clipped; a bad unit adds 0
    ==============================  ==================================================================

    Deviations from the paper
    -------------------------
    - Propose-test-release, which the paper names as the compliant form, in place of drawing again until
      the gap is positive.
    - The Laplace noise is scaled with beta^2, without which it does not cover how far the gap moves.
    - Noise is put on V_k V_k^T, as V_k itself jumps when eigenvalues cross or signs turn.
    - The Frobenius norm is clipped, not the trace; all that the proof takes from PSD units is their sign.
    - A count is always bought (1 % of mu^2) unless n is public: the error of eigh grows with the sum.
    - ``not_private=True`` follows the print, but for the form of E: a symmetric E cannot be added to a d x k
      matrix, so every entry of V_k gets noise of its own.

    References
    ----------
    Dwork, Talwar, Thakurta & Zhang 2014, *Analyze Gauss*, algorithm 2; Davis & Kahan 1970; Dwork & Lei 2009;
    paper, section sec-appendix-experiments.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(20000, 3)) * [5.0, 1.0, 0.5]
    >>> release = dp_gauss_2(X, 1, epsilon=1.0, delta=1e-6)
    >>> bool(abs(release.components[0, 0]) > 0.95), release.diagnostics["bottom"]
    (True, False)
    """
    refuse_unknown(dp_gauss_2, arguments)
    options = Gauss2Options(
        beta=beta,
        n=n,
        quantile=quantile,
        test_epsilon=test_epsilon,
        test_delta=test_delta,
        psd=psd,
        not_private=not_private,
    )
    return DP_GAUSS_2.release(samples, k, options, epsilon=epsilon, delta=delta, **arguments)


def run(units: Units, k: int, options: Gauss2Options) -> Release:
    """Steps 1 to 7, or the algorithm as printed."""
    if options.not_private:
        return _printed(units, k, options.declared)
    if k == units.d:
        units.veil.ledger.declare(
            "projector on all directions", note="the same for all data", purpose=Purpose.COMPONENTS
        )
        return _release(units, np.eye(units.d), ProjectorDiagnostics(bottom=False, radius=None, n_hat=None))
    # 1
    bounds = buy_bounds(units, options.declared)
    S = _noisy_projector(units, k, bounds, psd=options.psd)
    # 5, 7
    basis = units.random_start(k).T if S is None else np.linalg.eigh(S)[1][:, ::-1][:, :k].T
    diagnostics = ProjectorDiagnostics(bottom=S is None, radius=bounds.radius, n_hat=bounds.n_hat)
    return _release(units, basis, diagnostics)


DP_GAUSS_2 = Algorithm(name="dp-gauss-2", options=Gauss2Options, run=run, variances=False)


def _noisy_projector(units: Units, k: int, bounds: Bounds, *, psd: bool) -> FloatArray | None:
    """Steps 2 to 6; None is bottom."""
    d, R = units.d, bounds.radius
    assert bounds.n_hat is not None
    cap = (2 * bounds.n_hat + 16 * bounds.n_noise) * R
    # 2, 3
    g, projector = _gap_and_projector(units, k, R, cap)
    rho = 1.01 * (backward_error(d) + 2.0**-52) * (cap + 4 * R)  # and integers beyond 2^53 became floats
    reach = _reach(units, R, psd=psd)
    # 4, 5, 6
    noisy = propose_test_release(
        projector,
        g,
        margin_sensitivity=reach.gap,
        sensitivity_at=lambda y: reach.at(y, rho),
        epsilon=units.budget.epsilon_aside,
        delta=units.budget.delta_aside,
        mu=bounds.mu,
        veil=units.veil,
        value_error=3 * orthogonality_error(d) + (k + 2) * k * 2.0**-51,
        margin_error=2 * rho,
        what=_WHAT,
        purpose=Purpose.COMPONENTS,
    )
    return None if noisy is None else (noisy + noisy.T) / 2


@dataclass(frozen=True)
class Reach:
    """How far one unit can move X: its gap, the Frobenius norm m, and c, what lambda_{k+1} can gain."""

    gap: float
    m: float
    c: float

    def at(self, y: float, rho: float) -> float | None:
        """The sensitivity of the projector where the gap is at least y; None where nothing is promised."""
        room = y - (self.c + 2 * rho)
        return math.sqrt(2) * (self.m + 2 * rho) / room if room > 0 else None


def _reach(units: Units, R: float, *, psd: bool) -> Reach:
    relation = units.veil.relation
    m = relation.distance_between_sums(R)
    if not units.operator.semidefinite:
        projected = getattr(units.operator, "removed", None) is not None  # what cancels may come out negative
        if not psd or projected:
            return Reach(gap=2 * m, m=m, c=m)
        stated = "all matrices are positive semidefinite"
        units.veil.ledger.declare(stated, note="declared by the caller", purpose=Purpose.BOUND)
    c = R + _psd_error(units, R)
    return Reach(gap=relation.distance_between_sums(c), m=m, c=c)


def _psd_error(units: Units, R: float) -> float:
    """nu: how far below 0 an eigenvalue of a clipped PSD unit can come out by rounding.

    Dense rows are rounded before they are multiplied: they add y y^T, and the sum is rounded by a step an entry
    at most. Other kernels clip to the grid within R/1000 of c A, in Frobenius norm, and far closer in double
    precision. The mean over a person's m <= 2^31 rows errs by m 2^-52 of the trace, which is sqrt(d) R at most:
    R/1000 for any d that could be held. The common part of spiked units is rounded by 2^-24 of itself before
    clipping, by 2^-31 after.
    """
    nu = 2.0**-8 * R
    if isinstance(units.operator, SpikedOperator):
        columns = np.sum(units.operator.directions**2, axis=0)
        nu += 2.0**-30 * float(np.sum(np.abs(units.operator.eigenvalues) * columns))
    return nu


def _grid(R: float) -> int:
    """The finest grid on which sums of 2^31 units cannot overflow: R is 2^31 to 2^32 steps."""
    return math.frexp(R)[1] - 32


def _gap_and_projector(units: Units, k: int, R: float, cap: float) -> tuple[float, FloatArray]:
    """Steps 2 and 3, on integers of the finest grid that cannot overflow."""
    d = units.d
    exponent = _grid(R)
    upper = np.triu(units.matrices().clipped_sum(np.zeros((d, d)), R, exponent))
    X = (upper + np.triu(upper, 1).T).astype(np.float64)
    size = math.ldexp(float(np.linalg.norm(X)), exponent)
    if size > cap + 4 * R:  # neither this data set nor a neighbour can pass the test
        return 0.0, np.zeros((d, d))
    values, V = certified_eigh(X)
    gap = math.ldexp(float(values[k - 1] - values[k]), exponent)
    return max(0.0, min(gap, cap - size)), V[:, :k] @ V[:, :k].T


def _printed(units: Units, k: int, declared: Declared) -> Release:
    """The algorithm as printed: not private."""
    veil, d, (epsilon, delta) = units.veil, units.d, units.stated_cost
    veil.ledger.mark_not_private(NOT_PRIVATE)
    R = declared.radius
    total = units.matrices().clipped_sum(np.zeros((d, d)), R, _grid(R))
    upper = np.triu(total).astype(np.float64)
    values, vectors = np.linalg.eigh(upper + np.triu(upper, 1).T)
    values = np.ldexp(np.append(values[::-1], 0.0), _grid(R))
    test = veil.laplace(
        "gap, as printed", epsilon=epsilon / 2, sensitivity=1.0, draws=None, note="no proof", purpose=Purpose.TEST
    )
    g, tries = -1.0, 0
    while g <= 0:
        g = float(test.release(test.nearest([values[k - 1] - values[k]]))[0])
        tries += 1
    log = math.log(1 / delta)
    spread = max(abs(g - 2 * (1 + log / epsilon)), 1e-9 * R)
    scale = R * (1 + math.sqrt(2 * log) / epsilon) / spread
    mu = units.budget.mu
    grant = veil.gaussian(
        "V_k, as printed",
        mu=mu,
        sensitivity=scale * mu,
        draws=d * k,
        note="no proof",
        purpose=Purpose.COMPONENTS,
    )
    noisy = grant.release(grant.nearest(vectors[:, ::-1][:, :k]))
    basis = np.linalg.svd(noisy, full_matrices=False)[0].T
    diagnostics = PrintedProjectorDiagnostics(bottom=False, radius=R, n_hat=None, gap_draws=tries)
    return _release(units, basis, diagnostics)


def _release(units: Units, basis: FloatArray, diagnostics: ProjectorDiagnostics) -> Release:
    return Release(
        algorithm="dp-gauss-2",
        components=signed(np.ascontiguousarray(basis)),
        ledger=units.veil.ledger,
        diagnostics=diagnostics,
        warnings=tuple(no_eigengap()) if diagnostics.bottom else (),
    )
