"""Guess at the data before they are read: a spectrum, and how much units differ from their mean.

Units are A_i = diag(constant) + the mean of r matrices z z^T with rows z ~ N(0, diag(varying)), in the basis of
the true components. The eigenvalues are constant + varying.

- spread "rows": r = 1, and the constant part is 0.
- spread r (people): r rows each. Above 20 rows, 20 rows and a constant part give the same mean and variance.
- spread as a float s: r = 1. The varying part is min(eigenvalues, level), with the level at which the root mean
  square of ||A_i - Sigma||_F is s. For A_i = V diag(spikes) V^T + z z^T, z ~ N(0, sigma^2 I), this is the model
  itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError

PRESETS = ("fast decay", "slow decay", "flat")
MOST_ROWS = 20
"""Number of rows per person above which a constant part represents the additional rows."""
_FEWEST, _MOST, _ROWS, _ENTRIES = 200, 2000, 10_000, 10_000_000
"""Size of the simulated sample: minimal and maximal number of units, maximal number of rows and of entries."""


@dataclass(frozen=True, eq=False)
class Guess:
    """Eigenvalues, and a small sample of units from which radii are computed.

    Parameters
    ----------
    eigenvalues : array of shape (d,)
        Eigenvalues of Sigma, largest first.
    constant : array of shape (d,)
        Part of the eigenvalues that is the same in all units.
    rows : array of shape (s, r, d)
        Rows of s units, in the basis of the true components.
    sign_symmetric : bool
        Whether the distribution of rows is invariant under sign changes of their entries. False for the rows of a
        public sample.
    stated : bool
        Whether the spectrum was stated by the user; False for a preset.
    basis : array of shape (d, d), optional
        The components of a public sample, as columns: its own columns are basis z. None otherwise.
    """

    eigenvalues: FloatArray
    constant: FloatArray
    rows: FloatArray
    sign_symmetric: bool
    stated: bool
    basis: FloatArray | None = None

    @property
    def varying(self) -> FloatArray:
        """Part of the eigenvalues that differs between units."""
        return self.eigenvalues - self.constant

    @property
    def rows_each(self) -> int:
        """Number of rows per unit."""
        return int(self.rows.shape[1])


def make_guess(d: int, k: int, *, spectrum: Any, spread: Any, scaled: bool = False, seed: int = 0) -> Guess:
    """Convert the arguments `spectrum` and `spread` of `plan` to a guess.

    With `scaled`, the columns of a public sample are divided by their spreads first.

    Examples
    --------
    >>> guess = make_guess(4, 1, spectrum=[3.0, 1.0, 1.0, 1.0], spread=10)
    >>> guess.eigenvalues, guess.rows.shape
    (array([3., 1., 1., 1.]), (1000, 10, 4))
    """
    rng = np.random.default_rng(seed)
    values, sample, stated, basis = read_spectrum(spectrum, d, k, rng, scaled=scaled)
    r, constant = _read_spread(spread, values)
    varying = values - constant
    if sample is not None and not constant.any() and len(sample) >= r:
        own = sample[: len(sample) // r * r].reshape(-1, r, d)[:_MOST]
        rows = np.ascontiguousarray(own)
        return Guess(values, constant, rows, sign_symmetric=False, stated=stated, basis=basis)
    units = min(max(min(_ENTRIES // (r * d), _ROWS // r), _FEWEST), _MOST)
    rows = rng.standard_normal((units, r, d)) * np.sqrt(varying)
    return Guess(values, constant, rows, sign_symmetric=True, stated=stated, basis=basis)


def preset(name: str, d: int, k: int) -> FloatArray:
    """Return the eigenvalues of a preset.

    Examples
    --------
    >>> preset("flat", 7, 2)
    array([10. ,  8.5,  7. ,  5.5,  4. ,  1. ,  1. ])
    >>> preset("slow decay", 4, 2).round(2)
    array([10.  ,  7.07,  5.77,  5.  ])
    """
    if name == "fast decay":
        return np.asarray(10 * 0.7 ** np.arange(d) + 0.1, dtype=np.float64)
    if name == "slow decay":
        return np.asarray(10 / np.sqrt(np.arange(1.0, d + 1)), dtype=np.float64)
    if name == "flat":
        above = np.linspace(10.0, 4.0, max(k, 5))
        return np.concatenate([above, np.ones(d)])[:d]
    raise InvalidInputError(
        f"spectrum must be one of {', '.join(map(repr, PRESETS))}, eigenvalues, or a public sample, got {name!r}.",
        hint="Choose the preset closest to your data, or compare all three to see how much the guess matters.",
    )


def read_spectrum(
    spectrum: Any, d: int, k: int, rng: np.random.Generator, *, scaled: bool = False
) -> tuple[FloatArray, FloatArray | None, bool, FloatArray | None]:
    """Return eigenvalues in descending order, rows of a public sample, whether the user stated them, and a basis.

    The rows are shuffled, and in the basis of the sample's own components; None without a sample.
    """
    if isinstance(spectrum, str):
        return preset(spectrum, d, k), None, False, None
    try:
        given = np.asarray(spectrum, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.full((), np.nan)
    if given.ndim not in (1, 2) or not given.size or not np.isfinite(given).all():
        raise InvalidInputError(
            "spectrum must be a name, a list of finite eigenvalues, or a public sample of finite rows.",
            hint=f"Names are {', '.join(PRESETS)}.",
        )
    if given.ndim == 1:
        return _from_list(given, d), None, True, None
    values, rows, basis = _from_sample(given, d, rng, scaled=scaled)
    return values, rows, True, basis


def _from_list(given: FloatArray, d: int) -> FloatArray:
    """Return all d eigenvalues. Fewer than d are read as shares of the variance, with the rest spread evenly."""
    values = np.sort(given)[::-1]
    if values[-1] < 0 or values[0] <= 0 or values.size > d:
        raise InvalidInputError(
            f"eigenvalues must be at most {d} non-negative numbers, not all 0, got {values.size} numbers."
        )
    if values.size == d:
        return values.copy()
    rest = (1 - float(values.sum())) / (d - values.size)
    if not 0 <= rest <= values[-1]:
        raise InvalidInputError(
            f"{values.size} eigenvalues for {d} columns are read as shares of the variance, with the rest spread "
            "evenly over the other columns; these sum to more than 1, or the even rest exceeds the last share.",
            hint="Give all eigenvalues, or shares like pca.explained_variance_ratio_ of public data.",
        )
    return np.concatenate([values, np.full(d - values.size, rest)])


def _from_sample(
    sample: FloatArray, d: int, rng: np.random.Generator, *, scaled: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    if sample.shape[1] != d or len(sample) < 2:
        raise InvalidInputError(
            f"a public sample must have at least 2 rows and {d} columns, got shape {sample.shape}."
        )
    centred = sample - sample.mean(axis=0)
    if scaled:
        spread = centred.std(axis=0)
        centred = centred / np.where(spread > 0, spread, 1.0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
    if values[-1] <= 0:
        raise InvalidInputError("a public sample must have rows that differ from each other.")
    basis = np.ascontiguousarray(vectors[:, ::-1])
    return np.maximum(values[::-1], 0.0), rng.permutation(centred) @ basis, basis


def _read_spread(spread: Any, values: FloatArray) -> tuple[int, FloatArray]:
    """Return the number of rows per unit, and the constant part."""
    nothing = np.zeros_like(values)
    if isinstance(spread, str) and spread == "rows":
        return 1, nothing
    if isinstance(spread, int | np.integer) and not isinstance(spread, bool) and spread >= 1:
        r = min(int(spread), MOST_ROWS)
        return r, values * (1 - math.sqrt(r / int(spread)))
    is_number = isinstance(spread, float | np.floating)
    if is_number and 0 < spread <= (most := distance(values)) * (1 + 1e-9):
        return 1, values - np.minimum(values, _level(min(float(spread), most), values))
    raise InvalidInputError(
        "spread must be 'rows', an integer number of rows per person, or a float: the distance of A_i from its "
        f"mean in Frobenius norm, above 0 and at most {distance(values):.6g}, the value for rows; got {spread!r}.",
        hint="10 means ten rows per person; 10.0 means a distance of 10.",
    )


def distance(varying: FloatArray) -> float:
    """Return the root mean square of ||z z^T - E[z z^T]||_F for z ~ N(0, diag(varying)).

    Examples
    --------
    >>> round(distance(np.full(200, 0.01)), 3)
    2.005
    """
    return math.sqrt(float(varying.sum()) ** 2 + float(varying @ varying))


def _level(spread: float, values: FloatArray) -> float:
    top = float(values[0])

    def excess(level: float) -> float:
        return distance(np.minimum(values, level)) - spread

    return top if excess(top) <= 0 else float(brentq(excess, 0.0, top, xtol=1e-15 * top, rtol=1e-12))
