"""DP-Gauss-1 (Analyze Gauss): eigenvectors of a noisy clipped second moment.

DPGauss1({A_i}, k):
  1  n_hat, R <- Bounds                                              # public or bought
  2  S <- sum_i clip_R(A_i) + E, E symmetric Gaussian for sensitivity R (2 R under replace)
  3  return the top k eigenvectors of S, and its top k eigenvalues divided by n_hat
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, Unpack

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.algorithms.algorithm import Algorithm
from eigenveil.algorithms.bound_options import BoundOptions
from eigenveil.algorithms.bounds import buy_bounds
from eigenveil.algorithms.diagnostics import MatrixDiagnostics
from eigenveil.algorithms.open_units import RunArguments, public_face, refuse_unknown
from eigenveil.algorithms.release import Release, signed
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms import noisy_clipped_sum
from eigenveil.privacy import Purpose, Relation
from eigenveil.units import Units

_WHAT = "second moment"


@dataclass(frozen=True, kw_only=True)
class Gauss1Options(BoundOptions):
    """Options of `dp_gauss_1`."""

    noise: Literal["exact", "printed"] = "exact"
    eigenvalues: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise not in ("exact", "printed"):
            raise InvalidInputError(f"noise must be 'exact' or 'printed', got {self.noise!r}.")

    def aside(self, epsilon: float, delta: float) -> tuple[float, float]:
        """Return (0, 0). Raise for printed noise with an epsilon that its proof does not cover."""
        if self.noise == "printed" and not epsilon <= 1:
            raise InvalidInputError(
                f"the printed noise is proven only for epsilon up to 1, got {epsilon!r}.",
                hint="Use noise='exact', which is valid for every epsilon and smaller.",
            )
        return super().aside(epsilon, delta)

    def most_passes(self, d: int, k: int, relation: Relation) -> int:  # noqa: ARG002
        """Return the number of passes: the count of units, the radius, and the sum."""
        return 3


@public_face
def dp_gauss_1(
    samples: Any,
    k: int,
    *,
    epsilon: float,
    delta: float,
    beta: float | None = None,
    n: int | None = None,
    quantile: float = 0.75,
    noise: Literal["exact", "printed"] = "exact",
    eigenvalues: bool = True,
    **arguments: Unpack[RunArguments],
) -> Release:
    """Find k components as the top eigenvectors of a noisy second moment.

    Parameters
    ----------
    samples : anything that holds rows, or the result of an `eigenveil.samples` function
        Units. Matrices need be neither positive semidefinite nor symmetric. Only their symmetric part is used.
    k : int
        Number of components, from 1 to d.
    epsilon, delta : float
        Privacy budget of the whole run.
    beta : float, optional
        Public bound on the norm of a row. Each A_i is clipped to Frobenius norm beta^2. None: it is bought.
    n : int, optional
        Number of units, if it is public. None: it is bought where it is needed.
    quantile : float
        Share of the units that a bought bound should include. It is lowered if noise would hide the
        result of the search.
    noise : {"exact", "printed"}
        Noise from the exact Gaussian curve, or "printed": the paper's E, with the classical constant and full
        noise off the diagonal.
    eigenvalues : bool
        Whether to return eigenvalues. If not, no count is bought when `beta` is public.
    relation, ledger, random_state, engine
        Neighbouring relation, a ledger to charge, a seed (not private), and what computes the sums: see
        `RunArguments`.

    Formal guarantees
    -----------------
    *Relation:* both. *Sensitivity* of the sum: exactly R in Frobenius norm (*add-remove*) or 2 R (*replace*), as
    `noisy_clipped_sum` proves. R is public or an earlier release. *Cost:* mu-GDP in total with the mu of (epsilon,
    delta). Bounds get 1 % and 6 % of mu^2 if they are bought. Steps after the noise are post-processing.

    *Printed noise* has standard deviation R sqrt(2 ln(1.25/delta))/epsilon on and above the diagonal (twice that
    under *replace*). It is the Gaussian mechanism with mu = epsilon/sqrt(2 ln(1.25/delta)), in which the
    off-diagonal coordinates get sqrt(2) times more noise than they need. The ledger is charged that mu, which for
    epsilon <= 1 is within (epsilon, delta). A larger epsilon is refused, since the constant is not proven there.

    ==============================  ==================================================================
    edge case                       result
    ==============================  ==================================================================
    no units, one unit              k random components, determined by noise
    all equal, all zero             no special case; for zeros, noise is of the order of the radius
    k = d, d = 1                    all components, ordered by noisy eigenvalue
    huge, nan, inf                  clipped; an invalid unit adds 0
    negative noisy eigenvalues      returned unchanged: clipping them would hide how large the noise is
    ==============================  ==================================================================

    Deviations from the paper
    -------------------------
    - The Frobenius norm is clipped, not the trace, which bounds the Frobenius norm only for positive semidefinite
      A_i. For rows the two are equal.
    - Noise is calibrated by the exact Gaussian curve. It is smaller by sqrt(2) off the diagonal, since such an
      entry counts twice in the Frobenius norm, for the same guarantee. ``noise="printed"`` uses the paper's noise.
    - beta is public or bought. The paper takes it from the distribution.
    - Eigenvalues are returned. Clipping makes them too small by an amount that no release shows.

    References
    ----------
    Dwork, Talwar, Thakurta & Zhang 2014, *Analyze Gauss*, algorithm 1; paper, section sec-appendix-experiments.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(5000, 3)) * [5.0, 1.0, 0.5]
    >>> release = dp_gauss_1(X, 1, epsilon=1.0, delta=1e-6)
    >>> bool(abs(release.components[0, 0]) > 0.95), release.private
    (True, True)
    """
    refuse_unknown(dp_gauss_1, arguments)
    options = Gauss1Options(beta=beta, n=n, quantile=quantile, noise=noise, eigenvalues=eigenvalues)
    return DP_GAUSS_1.release(samples, k, options, epsilon=epsilon, delta=delta, **arguments)


def run(units: Units, k: int, options: Gauss1Options) -> Release:
    """Run steps 1 to 3."""
    printed_mu = None if options.noise == "exact" else _printed_mu(units)
    # 1
    bounds = buy_bounds(units, options.declared, count=options.eigenvalues)
    # 2
    if printed_mu is None:
        population = units.matrices()
        centre = np.zeros(population.shape)
        S = noisy_clipped_sum(
            population,
            centre=centre,
            radius=bounds.radius,
            mu=bounds.mu,
            veil=units.veil,
            what=_WHAT,
            purpose=Purpose.COMPONENTS,
        ).value
    else:
        S = _printed_sum(units, bounds.radius, min(printed_mu, bounds.mu))
    # 3
    values, vectors = np.linalg.eigh(S)
    n_hat = bounds.n_hat if options.eigenvalues else None
    return Release(
        algorithm="dp-gauss-1",
        components=signed(np.ascontiguousarray(vectors[:, ::-1][:, :k].T)),
        eigenvalues=None if n_hat is None else values[::-1][:k] / n_hat,
        ledger=units.veil.ledger,
        diagnostics=MatrixDiagnostics(bounds.radius, bounds.n_hat, printed_mu is not None),
    )


DP_GAUSS_1 = Algorithm(name="dp-gauss-1", options=Gauss1Options, run=run, variances=True)


def _printed_sum(units: Units, radius: float, mu: float) -> FloatArray:
    """Step 2 with noise of the same scale on and above the diagonal."""
    d = units.d
    grant = units.veil.gaussian(
        _WHAT,
        mu=mu,
        sensitivity=units.veil.relation.distance_between_sums(radius),
        draws=d * (d + 1) // 2,
        note="symmetric; full noise off the diagonal, as printed",
        purpose=Purpose.COMPONENTS,
    )
    total = units.matrices().clipped_sum(np.zeros((d, d)), radius, grant.exponent)
    upper = np.triu_indices(d)
    out = np.zeros((d, d))
    out[upper] = grant.release(total[upper])
    out[upper[1], upper[0]] = out[upper]
    return out


def _printed_mu(units: Units) -> float:
    """Return the mu of the classical Gaussian mechanism, for an epsilon that its proof covers."""
    epsilon, delta = units.stated_cost
    assert epsilon <= 1, "checked by Gauss1Options.aside"
    return epsilon / math.sqrt(2 * math.log(1.25 / delta))
