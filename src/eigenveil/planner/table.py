"""Where simulated rows lie in a table: its columns have means and spreads that the method does not know.

A row is x = B z + m, with z in the basis of the components. B turns components into columns. A public sample has
its own B. Otherwise B is a random rotation for which all columns have the same variance, so that the components of
the scaled columns are those of the guess. If scales are bought, columns are in units of their own, whose spreads
differ by factors of up to `UNITS`. If a mean is bought, every column has its mean `DISTANCE` spreads from 0, on
either side.

Left out: columns of different shapes (flags, long tails, many zeros), means much further out (a year among
measurements costs one or two more counts), and missing values. A public sample shows the shapes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.fft import dct

from eigenveil._typing import FloatArray
from eigenveil.algorithms.standard import Standard
from eigenveil.planner.guess import Guess

DISTANCE = 3.0
"""Distance of the mean of a column from 0, in spreads: that of typical measurements."""
UNITS = 1000.0
"""Largest factor between the spreads of columns in units of their own."""
_MIRRORED = 1000
"""Maximal number of simulated units that are mirrored."""


@dataclass(frozen=True, eq=False)
class Place:
    """Rows of the guess's sample as x = basis z + offset.

    Parameters
    ----------
    basis : array of shape (d, d), optional
        B. None: the identity.
    offset : array of shape (d,)
        Mean of the rows.
    rows : array of shape (s, r, d)
        Rows of s units.
    """

    basis: FloatArray | None
    offset: FloatArray
    rows: FloatArray

    @classmethod
    def of(cls, guess: Guess, basis: FloatArray | None = None, offset: FloatArray | None = None) -> Place:
        """Place the rows of a guess; by default where they are."""
        s, r, d = guess.rows.shape
        m = np.zeros(d) if offset is None else offset
        if basis is None:
            return cls(None, m, guess.rows + m if np.any(m) else guess.rows)
        return cls(basis, m, (guess.rows.reshape(s * r, d) @ basis.T + m).reshape(s, r, d))

    def shifted(self, shift: FloatArray) -> Place:
        """Return the place of the rows minus `shift`."""
        return Place(self.basis, self.offset - shift, self.rows - shift)

    def rescaled(self, scale: FloatArray) -> Place:
        """Return the place of the rows with every column divided by its scale."""
        basis = np.diag(1 / scale) if self.basis is None else self.basis / scale[:, None]
        return Place(basis, self.offset / scale, self.rows / scale)

    def along(self, V: FloatArray) -> FloatArray:
        """Return the coordinates of the rows along columns (d, m), with shape (s, r, m)."""
        s, r, d = self.rows.shape
        return (self.rows.reshape(s * r, d) @ V).reshape(s, r, V.shape[1])

    def into(self, V: FloatArray) -> FloatArray:
        """Return B^T V."""
        return V if self.basis is None else self.basis.T @ V

    def out(self, Z: FloatArray) -> FloatArray:
        """Return B Z."""
        return Z if self.basis is None else self.basis @ Z

    def diagonal(self, variances: FloatArray) -> FloatArray:
        """Return the mean squares of the columns, for rows with these variances along the components."""
        along = variances if self.basis is None else self.basis**2 @ variances
        return np.asarray(along + self.offset**2, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class SimulatedTable:
    """A guess, how its rows lie in columns, and how the method will centre and scale them.

    Parameters
    ----------
    guess : Guess
        The guess. Its sample has mean 0 if anything is bought, so that only the table's own means are found.
    standard : Standard
        What the method buys.
    place : Place, optional
        None if nothing is bought: then columns do not matter, and rows are in the basis of the components.
    rotation : array of shape (d, d), optional
        B for columns in the units in which the guess is made.
    units : array of shape (d,), optional
        Unit of each column.
    """

    guess: Guess
    standard: Standard
    place: Place | None = None
    rotation: FloatArray | None = None
    units: FloatArray | None = None

    @classmethod
    def of(cls, guess: Guess, *, center: bool, scale: bool, seed: int = 0) -> SimulatedTable:
        """Place the rows of a guess in a table. Units that are matrices have no columns to place."""
        d = guess.eigenvalues.size
        standard = Standard(buy_mean=center, private=np.arange(d if scale else 0))
        if not standard.buys:
            return cls(guess, standard)
        rng = np.random.default_rng([5, seed])
        guess = _balanced(guess)
        rotation = even_rotation(guess.eigenvalues, rng) if guess.basis is None else guess.basis
        units = UNITS ** rng.random(d) if scale else np.ones(d)
        spread = units * np.sqrt(rotation**2 @ guess.eigenvalues)
        means = center * DISTANCE * spread * rng.choice([-1.0, 1.0], d)
        return cls(guess, standard, Place.of(guess, units[:, None] * rotation, means), rotation, units)

    def in_components(self, found: FloatArray, scale: FloatArray | None) -> FloatArray:
        """Return released components (k, d) of columns divided by `scale`, in the basis of the true components."""
        if self.rotation is None or self.units is None:
            return found
        in_units = found if scale is None else found * (self.units / scale)
        return np.asarray(np.linalg.qr(in_units.T)[0].T @ self.rotation, dtype=np.float64)


def even_rotation(eigenvalues: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return a random orthogonal Q for which all columns have the same variance (Q diag(eigenvalues) Q^T)_jj.

    Two cosine transforms with random signs mix the components. d - 1 plane rotations make the variances equal.

    Examples
    --------
    >>> Q = even_rotation(np.array([5.0, 2.0, 0.5, 0.5]), np.random.default_rng(0))
    >>> np.round(np.diag((Q * [5.0, 2.0, 0.5, 0.5]) @ Q.T), 9), np.allclose(Q @ Q.T, np.eye(4))
    (array([2., 2., 2., 2.]), True)
    """
    d = eigenvalues.size
    Q = np.diag(rng.choice([-1.0, 1.0], d))
    for _ in range(2):
        Q = rng.choice([-1.0, 1.0], d)[:, None] * dct(Q, axis=0, norm="ortho")
    variances, mean = Q**2 @ eigenvalues, float(eigenvalues.mean())
    for _ in range(d - 1):
        i, j = int(np.argmin(variances)), int(np.argmax(variances))
        below, above = mean - variances[i], variances[j] - mean
        if min(below, above) <= 1e-12 * mean:
            break
        b = float(Q[i] @ (eigenvalues * Q[j]))
        t = -(below / (b + np.copysign(np.sqrt(b**2 + below * above), b)))  # the smaller angle
        c, s = 1 / np.hypot(1.0, t), t / np.hypot(1.0, t)
        Q[i], Q[j] = c * Q[i] - s * Q[j], s * Q[i] + c * Q[j]
        variances[j] += variances[i] - mean
        variances[i] = mean
    return Q


def _balanced(guess: Guess) -> Guess:
    """Return the guess with a sample whose mean is exactly 0: mirrored, or, for a public sample, centred."""
    if guess.sign_symmetric:
        half = guess.rows[:_MIRRORED]
        return replace(guess, rows=np.concatenate([half, -half]))
    return replace(guess, rows=guess.rows - guess.rows.mean(axis=(0, 1)))
