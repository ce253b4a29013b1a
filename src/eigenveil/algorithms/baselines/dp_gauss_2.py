"""DP-Gauss-2: a noisy projector onto the top k components, with as little noise as the eigengap allows.

DPGauss2({A_i}, k):
  1  n_hat, R <- Bounds                                              # public or bought
  2  X <- sum_i clip_R(A_i), exactly; lambda, V <- eigh(X)
  3  g <- max(0, min(lambda_k - lambda_{k+1}, T - ||X||_F)), T = an upper bound on ||X||_F for n_hat units
  4  y <- g + Lap(b/eps1) - (b/eps1) ln(1/(2 delta1)), b = R         # a private lower bound on the gap
  5  if y <= R: return a random basis (bottom), with a warning
  6  S <- V_k V_k^T + symmetric Gaussian for sensitivity sqrt(2) R/(y - R)
  7  return the top k eigenvectors of S
Under replace, b and the sensitivity in step 6 are doubled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.algorithms.algorithm import Algorithm
from eigenveil.algorithms.baselines.certified_eigh import backward_error, certified_eigh, orthogonality_error
from eigenveil.algorithms.bound_options import BoundOptions
from eigenveil.algorithms.bounds import Bounds, Declared, buy_bounds
from eigenveil.algorithms.diagnostics import PrintedProjectorDiagnostics, ProjectorDiagnostics
from eigenveil.algorithms.open_units import RunArguments, public_face, refuse_unknown
from eigenveil.algorithms.release import Release, signed
from eigenveil.algorithms.release_warnings import no_eigengap
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms import propose_test_release
from eigenveil.operators import SpikedOperator
from eigenveil.privacy import Purpose, Relation
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
        """Return the privacy budget of the gap test: the options, or by default a share of the whole."""
        if self.not_private:
            return epsilon / 2, 0.0
        first = epsilon / 4 if self.test_epsilon is None else self.test_epsilon
        second = delta / 2 if self.test_delta is None else self.test_delta
        if not (0 < first < epsilon and 0 < second < delta):
            raise InvalidInputError(
                f"test_epsilon and test_delta must lie strictly within ({epsilon!r}, {delta!r}), "
                f"got ({first!r}, {second!r}).",
                hint="Both the gap test and the release after it need a part of the budget.",
            )
        return first, second

    def most_passes(self, d: int, k: int, relation: Relation) -> int:  # noqa: ARG002
        """Return the number of passes: the count of units, the radius and the sum; none for k = d."""
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
    """Find k components from their noisy projector, by propose-test-release on the eigengap.

    The k components are in no particular order, since a projector does not distinguish them.

    Parameters
    ----------
    samples : anything that holds rows, or the result of an `eigenveil.samples` function
        Units.
    k : int
        Number of components, from 1 to d.
    epsilon, delta : float
        Privacy budget of the whole run.
    beta : float, optional
        Public bound on the norm of a row. Each A_i is clipped to Frobenius norm beta^2. None: it is bought.
    n : int, optional
        Number of units, if it is public. A sum that exceeds the largest possible sum of 2 n clipped units results
        in bottom. None: it is bought.
    quantile : float
        Share of the units that a bought bound should include.
    test_epsilon, test_delta : float, optional
        (eps1, delta1), the part of (epsilon, delta) for the gap test. By default a quarter and a half.
    psd : bool
        Declare that every possible matrix is positive semidefinite. Rows and people always are, and so are spiked
        units whose spikes are not negative. Without this declaration the gap of matrices is assumed to move twice
        as far, and nothing has to be guaranteed.
    not_private : bool
        Run the algorithm as printed, for reproduction only. Needs `beta`. The result is marked "not private".
    relation, ledger, random_state, engine
        Neighbouring relation, a ledger to charge, a seed (not private), and what computes the sums: see
        `RunArguments`. A shared
        ledger must have (eps1, delta1) set aside.

    Formal guarantees
    -----------------
    *Relation:* both. *Cost:* (eps1, delta1) for the test, from the part that is set aside; and mu-GDP, with the mu
    of (epsilon - eps1, delta - delta1), for the bounds and the release: (epsilon, delta) in total. After bottom
    the release is not charged. *Sensitivity*, for X' = X + E with ||E||_F <= m and the eigenvalues of E in
    [-a, c]:

    - *Gap.* By Weyl's inequality, each of lambda_k and lambda_{k+1} moves by a number in [-a, c]. So their
      difference moves by at most a + c. If one PSD unit is added or removed, m = R and {a, c} = {0, R}, since
      ||E||_2 <= ||E||_F, and the gap moves by at most R. If one PSD unit is replaced by another, m <= 2 R and
      a, c <= R, and the gap moves by at most 2 R. Without PSD, it moves at most twice as far.
    - *Projector.* Let P and P' project on the top k eigenvectors of X and X'. Let
      eta = lambda_k(X) - lambda_{k+1}(X') >= g - c. For eta > 0 let Z = P'^c P with P'^c = I - P'. Then
      P'^c E P = (P'^c X' P'^c) Z - Z (P X P). The left factor has eigenvalues of at most lambda_{k+1}(X') on its
      range, and the right factor has eigenvalues of at least lambda_k(X). So ||P'^c E P||_F >= eta ||Z||_F
      (Davis & Kahan), and ||P - P'||_F = sqrt(2) ||Z||_F <= sqrt(2) m/(g - c). With m = c = R this is
      sqrt(2) R/(g - R). With m = 2 R and c = R, as after a replacement, it is twice that.
    - *Cap.* ||X||_F moves by at most m, which is at most the bound for the gap. So the minimum of the two also
      moves by at most the bound for the gap.

    So the margin g and sensitivity_at(y) = sqrt(2) m/(y - c) for y > c satisfy the conditions of
    `propose_test_release`. T = (2 n_hat + 16 standard deviations of n_hat) R is a public number that bounds the
    rounding errors.

    *Floats.* X is a sum of integers, and so it is exact. A clipped PSD unit is rounded to the grid. So it is PSD
    only up to an error nu (see `_psd_error`, .4 % of R), which is added to a and c. `certified_eigh` returns the
    exact eigenvalues and (up to a checked error) eigenvectors of X + D with ||D||_F <= rho, where rho is about
    backward_error(d) (T + 4 R), wherever the test can pass. So m and c grow by 2 rho, and the computed g differs
    from the exact one by at most 2 rho. rho is 2e-5 of R for d = 200, n = 1e5.

    ==============================  ==================================================================
    edge case                       result
    ==============================  ==================================================================
    no units, one unit, few units   bottom
    all equal                       released if the common matrix has a gap
    k = d, d = 1                    the standard basis: V V^T = I for all data, so nothing is charged
    no gap after lambda_k           bottom: a random basis, a warning, ``diagnostics["bottom"]``
    huge, nan, inf                  clipped; an invalid unit adds 0
    ==============================  ==================================================================

    Deviations from the paper
    -------------------------
    - Propose-test-release, which the paper names as the compliant form, replaces drawing again until the gap is
      positive.
    - The Laplace noise is scaled by beta^2. Otherwise it would not cover the sensitivity of the gap.
    - Noise is added to V_k V_k^T, since V_k itself jumps when eigenvalues cross or signs change.
    - The Frobenius norm is clipped, not the trace. The proof uses only the sign of the eigenvalues of PSD units.
    - A count is always bought (1 % of mu^2) unless n is public, since the error of eigh grows with the sum.
    - ``not_private=True`` follows the printed algorithm except for the form of E: a symmetric E cannot be added to
      a d x k matrix, so every entry of V_k gets independent noise.

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
    """Run steps 1 to 7, or the algorithm as printed."""
    if options.not_private:
        return _printed(units, k, options.declared)
    if k == units.d:
        units.veil.ledger.declare(
            "projector on all directions", note="the same for all data", purpose=Purpose.COMPONENTS
        )
        return _release(units, np.eye(units.d), ProjectorDiagnostics(bottom=False, radius=None, n_hat=None))
    # 1
    bounds = buy_bounds(units, options.declared)
    S = _buy_projector(units, k, bounds, psd=options.psd)
    # 5, 7
    basis = units.random_start(k).T if S is None else np.linalg.eigh(S)[1][:, ::-1][:, :k].T
    diagnostics = ProjectorDiagnostics(bottom=S is None, radius=bounds.radius, n_hat=bounds.n_hat)
    return _release(units, basis, diagnostics)


DP_GAUSS_2 = Algorithm(name="dp-gauss-2", options=Gauss2Options, run=run, variances=False)


def _buy_projector(units: Units, k: int, bounds: Bounds, *, psd: bool) -> FloatArray | None:
    """Steps 2 to 6; None is bottom."""
    d, R = units.d, bounds.radius
    assert bounds.n_hat is not None
    cap = (2 * bounds.n_hat + 16 * bounds.n_noise) * R
    # 2, 3
    g, projector = _gap_and_projector(units, k, R, cap)
    rho = 1.01 * (backward_error(d) + 2.0**-52) * (cap + 4 * R)  # 2^-52: integers above 2^53 were rounded
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
    """Bounds on the change of X by one unit: of the gap, of the Frobenius norm (m), and of lambda_{k+1} (c)."""

    gap: float
    m: float
    c: float

    def at(self, y: float, rho: float) -> float | None:
        """Return the sensitivity of the projector if the gap is at least y, or None if there is no bound."""
        room = y - (self.c + 2 * rho)
        return math.sqrt(2) * (self.m + 2 * rho) / room if room > 0 else None


def _reach(units: Units, R: float, *, psd: bool) -> Reach:
    relation = units.veil.relation
    m = relation.distance_between_sums(R)
    if not units.operator.semidefinite:
        projected = getattr(units.operator, "removed", None) is not None  # cancellation may give negative values
        if not psd or projected:
            return Reach(gap=2 * m, m=m, c=m)
        stated = "all matrices are positive semidefinite"
        units.veil.ledger.declare(stated, note="declared by the caller", purpose=Purpose.BOUND)
    c = R + _psd_error(units, R)
    return Reach(gap=relation.distance_between_sums(c), m=m, c=c)


def _psd_error(units: Units, R: float) -> float:
    """Return nu, a bound on how far below 0 rounding can move an eigenvalue of a clipped PSD unit.

    Dense rows are rounded before they are multiplied: they add y y^T, and the sum is rounded by at most one step
    per entry. Other kernels clip to the grid within R/1000 of c A in Frobenius norm, and much closer in double
    precision. The mean over a person's m <= 2^31 rows has an error of m 2^-52 of the trace, which is at most
    sqrt(d) R: R/1000 for any d that fits into memory. The common part of spiked units is rounded by 2^-24 of
    itself before clipping, and by 2^-31 after.
    """
    nu = 2.0**-8 * R
    if isinstance(units.operator, SpikedOperator):
        columns = np.sum(units.operator.directions**2, axis=0)
        nu += 2.0**-30 * float(np.sum(np.abs(units.operator.eigenvalues) * columns))
    return nu


def _grid(R: float) -> int:
    """Return the finest grid on which sums of 2^31 units cannot overflow: R is 2^31 to 2^32 steps."""
    return math.frexp(R)[1] - 32


def _gap_and_projector(units: Units, k: int, R: float, cap: float) -> tuple[float, FloatArray]:
    """Steps 2 and 3, with integers on the finest grid that cannot overflow."""
    d = units.d
    exponent = _grid(R)
    upper = np.triu(units.matrices().clipped_sum(np.zeros((d, d)), R, exponent))
    X = (upper + np.triu(upper, 1).T).astype(np.float64)
    size = math.ldexp(float(np.linalg.norm(X)), exponent)
    if size > cap + 4 * R:  # neither this dataset nor a neighbouring one can pass the test
        return 0.0, np.zeros((d, d))
    values, V = certified_eigh(X)
    gap = math.ldexp(float(values[k - 1] - values[k]), exponent)
    return max(0.0, min(gap, cap - size)), V[:, :k] @ V[:, :k].T


def _printed(units: Units, k: int, declared: Declared) -> Release:
    """Run the algorithm as printed, which is not private."""
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
