"""What is guessed of the data before anyone has seen them: a spectrum, and how units lie around their mean.

Units are A_i = diag(still) + the mean of r rows z z^T with z ~ N(0, diag(moving)), in the basis of the true
components; still + moving are the eigenvalues.

- spread "rows": r = 1, nothing is still.
- spread r (people): r rows each. Beyond 20 rows, 20 of them and a still part have the same mean and variance.
- spread as a number s: r = 1; the moving part is min(eigenvalues, level), the level at which the root mean square
  of ||A_i - Sigma||_F is s. For A_i = V diag(spikes) V^T + z z^T, z ~ N(0, sigma^2 I), that is the model itself.
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
"""A person's rows beyond which a still part stands for the others."""
_FEWEST, _MOST, _ROWS, _ENTRIES = 200, 2000, 10_000, 10_000_000
"""Size of the imagined sample: units at least and at most, their rows, and numbers in all."""


@dataclass(frozen=True, eq=False)
class Guess:
    """Eigenvalues, and a small sample of units to measure radii on.

    Parameters
    ----------
    eigenvalues : array of shape (d,)
        Of Sigma, best first.
    still : array of shape (d,)
        The part that is the same in all units.
    rows : array of shape (s, r, d)
        Rows of s units, in the basis of the true components.
    like_normal : bool
        Whether rows are as likely with any signs; False for a public sample's own rows.
    sure : bool
        Whether the spectrum was stated; False for a preset.
    """

    eigenvalues: FloatArray
    still: FloatArray
    rows: FloatArray
    like_normal: bool
    sure: bool

    @property
    def moving(self) -> FloatArray:
        """The part of the eigenvalues that differs from unit to unit."""
        return self.eigenvalues - self.still

    @property
    def rows_each(self) -> int:
        """How many rows a unit has."""
        return int(self.rows.shape[1])

    def along(self, V: FloatArray) -> FloatArray:
        """The rows' parts along columns (d, m), of shape (s, r, m)."""
        s, r, d = self.rows.shape
        return (self.rows.reshape(s * r, d) @ V).reshape(s, r, V.shape[1])


def make_guess(d: int, k: int, *, spectrum: Any, spread: Any, seed: int = 0) -> Guess:
    """Read `spectrum` and `spread` as `plan` takes them.

    Examples
    --------
    >>> guess = make_guess(4, 1, spectrum=[3.0, 1.0, 1.0, 1.0], spread=10)
    >>> guess.eigenvalues, guess.rows.shape
    (array([3., 1., 1., 1.]), (1000, 10, 4))
    """
    rng = np.random.default_rng(seed)
    values, sample, sure = read_spectrum(spectrum, d, k, rng)
    r, still = _read_spread(spread, values)
    moving = values - still
    if sample is not None and not still.any() and len(sample) >= r:
        own = sample[: len(sample) // r * r].reshape(-1, r, d)[:_MOST]
        return Guess(values, still, np.ascontiguousarray(own), like_normal=False, sure=sure)
    units = min(max(min(_ENTRIES // (r * d), _ROWS // r), _FEWEST), _MOST)
    rows = rng.standard_normal((units, r, d)) * np.sqrt(moving)
    return Guess(values, still, rows, like_normal=True, sure=sure)


def preset(name: str, d: int, k: int) -> FloatArray:
    """The eigenvalues of a preset.

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
        hint="Which of them is like your data? Try all three: they show how much the guess matters.",
    )


def read_spectrum(
    spectrum: Any, d: int, k: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray | None, bool]:
    """Eigenvalues best first, rows of a public sample in its own basis (shuffled), and whether it was stated."""
    if isinstance(spectrum, str):
        return preset(spectrum, d, k), None, False
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
        return _listed(given, d), None, True
    return *_from_sample(given, d, rng), True


def _listed(given: FloatArray, d: int) -> FloatArray:
    """All d eigenvalues; or the first few as shares of the variance, the rest of it spread evenly."""
    values = np.sort(given)[::-1]
    if values[-1] < 0 or values[0] <= 0 or values.size > d:
        raise InvalidInputError(
            f"eigenvalues must be at most {d} numbers of at least 0, not all 0, got {values.size}."
        )
    if values.size == d:
        return values.copy()
    rest = (1 - float(values.sum())) / (d - values.size)
    if not 0 <= rest <= values[-1]:
        raise InvalidInputError(
            f"{values.size} eigenvalues for {d} columns are read as shares of the variance, with the rest spread "
            "evenly over the other columns; these add up to more than 1, or leave more than the last of them.",
            hint="Give all eigenvalues, or shares like pca.explained_variance_ratio_ of public data.",
        )
    return np.concatenate([values, np.full(d - values.size, rest)])


def _from_sample(sample: FloatArray, d: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    if sample.shape[1] != d or len(sample) < 2:
        raise InvalidInputError(
            f"a public sample must have at least 2 rows and {d} columns, got shape {sample.shape}."
        )
    centred = sample - sample.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
    if values[-1] <= 0:
        raise InvalidInputError("a public sample must have rows that differ.")
    return np.maximum(values[::-1], 0.0), rng.permutation(centred) @ vectors[:, ::-1]


def _read_spread(spread: Any, values: FloatArray) -> tuple[int, FloatArray]:
    """Rows per unit, and the still part."""
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
        "spread must be 'rows', a whole number of rows per person, or a number with a point: how far A_i lies "
        f"from its mean in Frobenius norm, above 0, at most {distance(values):.6g} as for rows; got {spread!r}.",
        hint="10 means ten rows per person, 10.0 a distance of 10.",
    )


def distance(moving: FloatArray) -> float:
    """Root mean square of ||z z^T - E[z z^T]||_F for z ~ N(0, diag(moving)).

    Examples
    --------
    >>> round(distance(np.full(200, 0.01)), 3)
    2.005
    """
    return math.sqrt(float(moving.sum()) ** 2 + float(moving @ moving))


def _level(spread: float, values: FloatArray) -> float:
    top = float(values[0])

    def excess(level: float) -> float:
        return distance(np.minimum(values, level)) - spread

    return top if excess(top) <= 0 else float(brentq(excess, 0.0, top, xtol=1e-15 * top, rtol=1e-12))
