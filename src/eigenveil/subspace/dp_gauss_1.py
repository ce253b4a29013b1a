"""DP-Gauss-1 (Analyze Gauss): noise on the clipped second moment, then its eigenvectors.

DPGauss1({A_i}, k):
  1  n_hat, R <- Bounds                                              # public, or bought
  2  S <- sum_i clip_R(A_i) + E, E symmetric Gaussian for sensitivity R (2 R under replace)
  3  return the top k eigenvectors of S, and its top k eigenvalues over n_hat
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, Unpack

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms import noisy_clipped_sum
from eigenveil.privacy import Purpose, Relation
from eigenveil.subspace.algorithm import Algorithm
from eigenveil.subspace.bound_options import BoundOptions
from eigenveil.subspace.bounds import buy_bounds
from eigenveil.subspace.diagnostics import MatrixDiagnostics
from eigenveil.subspace.opening import RunArguments, public_face, refuse_unknown
from eigenveil.subspace.release import Release, signed
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
        """Nothing; printed noise is refused where it is not proven."""
        if self.noise == "printed" and not epsilon <= 1:
            raise InvalidInputError(
                f"the printed noise is proven for epsilon up to 1 only, got {epsilon!r}.",
                hint="Leave noise='exact', which is right for every epsilon and smaller.",
            )
        return super().aside(epsilon, delta)

    def most_passes(self, d: int, k: int, relation: Relation) -> int:  # noqa: ARG002
        """The number of units, a radius, the sum."""
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
    """Top k directions from a noisy second moment.

    Parameters
    ----------
    samples : anything that holds rows, or what `eigenveil.samples` makes
        The units. Matrices need be neither positive semidefinite nor symmetric: their symmetric part counts.
    k : int
        Number of directions, 1 to d.
    epsilon, delta : float
        The cost of everything together.
    beta : float, optional
        Public bound on the length of a row; each A_i is clipped to Frobenius norm beta^2. None: bought.
    n : int, optional
        Number of units, if public. None: bought where it is needed.
    quantile : float
        Share of the units that a bought bound is to hold; lowered where noise would hide the search.
    noise : {"exact", "printed"}
        "printed": the paper's E, with the classical constant and full noise off the diagonal.
    eigenvalues : bool
        False: none are returned, and with a public `beta` no count is bought.
    relation, ledger, random_state, engine
        As everywhere: what neighbours are, a ledger to charge, a seed (not private), who does the sums.

    Formal guarantees
    -----------------
    *Relation:* either. *Sensitivity:* of the sum, exactly R in Frobenius norm (*add-remove*) or 2 R (*replace*),
    as `noisy_clipped_sum` proves; R is public or an earlier release. *Cost:* mu-GDP in all with mu for (epsilon,
    delta), of which bounds take 1 % and 6 % of mu^2 where bought. Steps after the noise are post-processing.

    *Printed noise* has standard deviation R sqrt(2 ln(1.25/delta))/epsilon on and above the diagonal (twice that
    under *replace*): the Gaussian mechanism with mu = epsilon/sqrt(2 ln(1.25/delta)), on coordinates of which
    those off the diagonal get sqrt(2) more than they need. The ledger is charged that mu, which for epsilon <= 1
    is within (epsilon, delta); a larger epsilon is refused, as the constant is not proven there.

    ==============================  ==================================================================
    edge case                       answer
    ==============================  ==================================================================
    no units, one unit              k directions of noise
    all equal, all zero             as any; noise of all zero is of the order of the radius
    k = d, d = 1                    all directions, ordered by noisy eigenvalue
    huge, nan, inf                  clipped; a bad unit adds 0
    negative noisy eigenvalues      returned as they are: cutting them would hide how loud the noise is
    ==============================  ==================================================================

    Deviations from the paper
    -------------------------
    - The Frobenius norm is clipped and not the trace, which bounds it for positive semidefinite A_i only. For
      rows the two are the same number.
    - Noise is calibrated by the exact Gaussian curve, and is smaller by sqrt(2) off the diagonal, since an entry
      there counts twice in the Frobenius norm: the same guarantee. ``noise="printed"`` has the paper's.
    - beta is public or paid for; the paper takes it from the distribution.
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
    """Steps 1 to 3."""
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
    """Step 2 with noise of the same size on and above the diagonal."""
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
    """The mu of the classical Gaussian mechanism, where it is proven."""
    epsilon, delta = units.stated_cost
    assert epsilon <= 1, "checked by Gauss1Options.aside"
    return epsilon / math.sqrt(2 * math.log(1.25 / delta))
