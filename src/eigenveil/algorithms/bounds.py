"""Number of units and bound on their norms, which a clipped sum needs before noise can be added.

Bounds({A_i}, beta, n, q):
  1  n_hat <- n if declared public, else a noisy count                            # 1 % of mu^2; free under replace
  2  R <- beta^2 if declared public, else the smallest edge of the public grid within which q n_hat of the
          Frobenius norms ||A_i||_F lie, by a noisy search (`radius_search`)      # 6 % of mu^2
  3  return n_hat, R and what is left of mu
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eigenveil._typing import FloatArray
from eigenveil.algorithms.counting import COUNT_SHARE, buy_count
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms import radius_search
from eigenveil.mechanisms.radius import reachable_quantile
from eigenveil.privacy import Purpose, split_mu
from eigenveil.units import PrivateUnits

RADIUS_SHARE = 0.06
"""Share of mu^2 for the radius, if it is bought."""


@dataclass(frozen=True)
class Bounds:
    """Public numbers about the units, declared by the caller or bought.

    Parameters
    ----------
    radius : float
        R, at which the Frobenius norm of every A_i is clipped. It is beta^2 in the paper's notation.
    n_hat : float, optional
        Number of units, at least 1. None if it was not needed.
    n_noise : float
        Standard deviation of the noise in `n_hat`, before it was raised to 1.
    mu : float
        Privacy budget that is left.
    """

    radius: float
    n_hat: float | None
    n_noise: float
    mu: float


@dataclass(frozen=True, kw_only=True)
class Declared:
    """Numbers that the caller declares public, and how to buy the others.

    Parameters
    ----------
    beta : float, optional
        Bound on the norm of a row x. A_i = x x^T has Frobenius norm ||x||^2, so matrices are clipped at beta^2.
        None: it is bought.
    n : int, optional
        Number of units. None: it is bought (under *replace* it is public anyway).
    quantile : float in (0, 1)
        Share of the units that a bought radius should include.
    """

    beta: float | None = None
    n: int | None = None
    quantile: float = 0.75

    def __post_init__(self) -> None:
        if self.beta is not None and not (_is_number(self.beta) and self.beta > 0 and 0 < self.radius < math.inf):
            raise InvalidInputError(
                f"beta must be a finite number above 0, got {self.beta!r}.",
                hint="beta bounds the norm of a row and must be known without the data; None buys it.",
            )
        if self.n is not None and not (isinstance(self.n, int) and not isinstance(self.n, bool) and self.n >= 1):
            raise InvalidInputError(
                f"n must be a whole number of at least 1, got {self.n!r}.",
                hint="Pass n only if it is public anyway; None buys a noisy count.",
            )
        if not (_is_number(self.quantile) and 0 < self.quantile < 1):
            raise InvalidInputError(f"quantile must lie strictly between 0 and 1, got {self.quantile!r}.")

    @property
    def radius(self) -> float:
        """Bound at which matrices are clipped, beta^2; nan if beta is not declared."""
        return math.nan if self.beta is None else float(self.beta) * float(self.beta)


def declared_spectrum(spectrum: npt.ArrayLike | None, k: int, d: int) -> FloatArray | None:
    """Return the declared eigenvalues after checks, or None if there are none."""
    if spectrum is None:
        return None
    values = np.array(spectrum, dtype=np.float64)
    if values.ndim != 1 or not k <= values.size <= d:
        raise InvalidInputError(
            f"spectrum must hold from k = {k} to d = {d} eigenvalues, got an array of shape {values.shape}.",
            hint="Pass eigenvalues only if they are public anyway; None buys variances.",
        )
    if not (np.all(np.isfinite(values)) and values[-1] >= 0 and np.all(np.diff(values) <= 0)):
        raise InvalidInputError("spectrum must be finite, not negative, and sorted in descending order.")
    return values


def buy_bounds(units: PrivateUnits, declared: Declared, *, count: bool = True, by_rows: bool = False) -> Bounds:
    """Buy the radius and the number of units, unless they are declared.

    Parameters
    ----------
    units : Units
        Units to count and to bound.
    declared : Declared
        Numbers that are public already. The ledger records them as declared.
    count : bool
        Whether the number of units is needed for more than the search.
    by_rows : bool
        If units are rows, search for ||x|| and square it, which takes d operations per row instead of d^2. The
        result then lies on a grid that is twice as coarse.

    Formal guarantees
    -----------------
    *Both relations.* At most one noisy count and one radius search in sequence, with the sensitivities proven
    there: sqrt(1 %) mu and sqrt(6 %) mu. The mu that is left makes all three together mu-GDP. Under *replace* the
    count is free if units have fixed positions, and its share is left over.

    ==============================  ==================================================================
    edge case                       result
    ==============================  ==================================================================
    no units, few units             n_hat is at least 1; the radius may be any edge
    all units zero                  the smallest edge, 2^-128 (2^-256 by rows)
    nan, inf, norm overflows        such a unit is not counted
    beta**2 is 0 or overflows       refused (a public number)
    ==============================  ==================================================================
    """
    search = declared.beta is None
    ask = (count or search) and declared.n is None
    paid = ask and not units.number_is_public
    shares = [COUNT_SHARE * paid, RADIUS_SHARE * search]
    mu_count, mu_radius, rest = split_mu(units.budget.mu, [*shares, 1 - sum(shares)])
    # 1
    number = buy_count(units, n=declared.n, mu=mu_count) if count or search else None
    n_hat = None if number is None else number.value
    # 2
    if declared.beta is not None:
        radius = declared.radius
        units.veil.ledger.declare(
            f"bound on rows, beta = {declared.beta:g}", note="declared by the caller", purpose=Purpose.BOUND
        )
    else:
        assert n_hat is not None
        radius = buy_matrix_radius(units, declared.quantile, n_hat=n_hat, mu=mu_radius, by_rows=by_rows)
    # 3
    return Bounds(radius=radius, n_hat=n_hat, n_noise=0.0 if number is None else number.scale, mu=rest)


def buy_matrix_radius(units: PrivateUnits, quantile: float, *, n_hat: float, mu: float, by_rows: bool) -> float:
    """Buy a radius that includes the share `quantile` of the ||A_i||_F, or of the ||x||^2 with `by_rows`."""
    rows = by_rows and units.single_rows
    population = units.vectors() if rows else units.matrices()
    q = reachable_quantile(quantile, n_hat=n_hat, mu=mu)
    centre = np.zeros(population.shape)
    found = radius_search(
        population,
        centre=centre,
        target=q * n_hat,
        mu=mu,
        veil=units.veil,
        what="bound: radius",
        purpose=Purpose.BOUND,
    )
    return found.value**2 if rows else found.value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
