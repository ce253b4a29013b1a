"""`plan`: the accuracy to expect before any data are read.

plan(n, d, k, epsilon):
  1  guess the spectrum and the spread of units, and place their rows in a table       # public
  2  draw a few sample covariances of n such units
  3  for every epsilon: run tracked_pca's own code on each of them; DP-Gauss-1; the paper's bounds
  4  with a target: bisect epsilon, or n, until the smallest value that reaches it is known within 5 %
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt

from eigenveil._typing import FloatArray
from eigenveil.algorithms.open_units import check_k
from eigenveil.engines.local import single_threaded_blas
from eigenveil.errors import InvalidInputError
from eigenveil.planner import paper
from eigenveil.planner.expected import SimulationSetting
from eigenveil.planner.guess import make_guess
from eigenveil.planner.result import MOST_EPSILON, MOST_N, Expected, Plan
from eigenveil.planner.table import SimulatedTable
from eigenveil.privacy.budget import Budget
from eigenveil.privacy.gaussian import check_delta, check_epsilon

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
FACTOR, WIDE = 1.5, 3.0
"""Factors by which a prediction may differ from the truth: for stated spectra with zeta in TRUSTED; otherwise."""
TRUSTED = (1e-4, 0.7)
_LEAST_EPSILON, _LEAST_N = 0.01, 20
_CLOSE = 1.05
_WIDEST = 4000
"""Maximal number of columns, limited by memory."""
_NARROW = 400
"""Number of columns up to which products are so small that threads would wait for each other."""


def plan(
    n: int | None,
    d: int,
    k: int,
    *,
    epsilon: float | Sequence[float] | None = None,
    delta: float = 1e-6,
    target: float | None = None,
    spectrum: str | npt.ArrayLike = "slow decay",
    spread: str | float = "rows",
    center: bool = True,
    scale: str | None = None,
) -> Plan:
    """Predict the accuracy of tracked_pca, the method of `DPPCA`, from public numbers alone.

    The method's own code runs on simulated units. No data are read and no budget is spent.

    Parameters
    ----------
    n : int or None
        Approximate number of units (rows, or people). If None, find the number needed for `target`.
    d, k : int
        Number of columns and of components.
    epsilon : float or list of float, optional
        Privacy budget. By default .1 to 10. With `target` and `n`, the epsilon needed is found.
    delta : float
        Privacy parameter, well below 1/n.
    target : float in (0, 1), optional
        Energy ratio to reach. Omit either `n` or `epsilon`; the omitted one is found.
    spectrum : {"slow decay", "fast decay", "flat"}, list, or array of shape (rows, d)
        Guess at the eigenvalues of the covariance. "slow decay": like 1/sqrt(j). "fast decay": like .7^j. "flat":
        max(k, 5) eigenvalues well above all others. A list: all d eigenvalues; or fewer, as shares of the
        variance, with the rest spread evenly. An array: a *public* sample of rows.
    spread : "rows", int or float
        What a unit is. "rows": one row, approximately normal. An int: a person with this many rows. A float: for
        units that are matrices, the root mean square of ||A_i - Sigma||_F, which is sigma^2 sqrt(d (d + 1)) in the
        spiked model.
    center : bool
        Whether the method buys a mean, as `DPPCA` does by default. Units that are matrices are never centred.
    scale : "private" or None
        Whether the method buys a scale for every column. Eigenvalues are then those of the columns in units of
        their spread (the correlation matrix).

    Returns
    -------
    Plan
        Printable plan, with `rows`, `needed` and `to_dict()`.

    Notes
    -----
    The predicted zeta is within a factor of 1.5 of measured values if spectrum and spread are right and zeta is
    between 1e-4 and .7 (benchmarks/results/planner.md). Rows that are far from normal need a public sample.

    The mean and scales are bought by the method's own code too, for columns whose means are 3 spreads from 0 and
    whose variances are equal, since nothing is known about them (`eigenveil.planner.table`). Their errors are in
    zeta. Not simulated: columns of other shapes, means much further out, declared bounds, and missing values.
    `gauss_1` and `without_privacy` get the mean and the scales for free.

    Examples
    --------
    >>> expected = plan(20_000, 50, 2, epsilon=[0.5, 1.0], spectrum="fast decay")
    >>> [row.energy > 0.99 for row in expected.rows]
    [True, True]
    >>> plan(None, 20, 1, epsilon=1.0, target=0.95, spectrum="fast decay").needed < 10_000
    True
    """
    _check(n, d, k, epsilon=epsilon, target=target)
    check_delta(delta)
    scaled = _is_scaled(scale)
    guess = make_guess(d, k, spectrum=spectrum, spread=spread, scaled=scaled)
    table = SimulatedTable.of(guess, center=_is_centred(center, spread, scaled=scaled), scale=scaled)
    with single_threaded_blas() if d <= _NARROW else nullcontext():
        if target is not None:
            return _solve_for_target(target, table, k, n=n, epsilon=epsilon, delta=delta)
        assert n is not None
        epsilons = EPSILONS if epsilon is None else np.unique(np.asarray(epsilon, dtype=np.float64))
        rows = _rows(SimulationSetting.of(table, n, k), epsilons, delta)
        return Plan(d=d, k=k, delta=delta, rows=rows, notes=_notes(table, n, delta))


def _rows(setting: SimulationSetting, epsilons: Iterable[float], delta: float) -> tuple[Expected, ...]:
    """Return one row per epsilon, ascending. Predictions are made monotone: zeta never grows with epsilon."""
    budgets = {float(epsilon): Budget.from_epsilon_delta(float(epsilon), delta) for epsilon in epsilons}
    repeats = [setting.tracked(budget) for budget in budgets.values()]
    zetas = _non_increasing(np.array([zeta.mean() for zeta in repeats]))
    floor = setting.without_privacy()
    guess, n, k = setting.guess, setting.n, setting.k
    return tuple(
        Expected(
            n=n,
            epsilon=epsilon,
            zeta=float(zeta),
            energy=1 - float(zeta) ** 2,
            interval=_interval(np.append(several, zeta), float(zeta), stated=guess.stated),
            gauss_1=setting.gauss_1(budget),
            without_privacy=floor,
            upper_bound=paper.upper(guess, n, k, epsilon=epsilon, delta=delta),
            lower_bound=paper.lower(guess, n, k, epsilon=epsilon),
        )
        for (epsilon, budget), zeta, several in zip(budgets.items(), zetas, repeats, strict=True)
    )


def _interval(seen: FloatArray, zeta: float, *, stated: bool) -> tuple[float, float]:
    """Return the interval in which zeta is expected: the range of repeats, widened by a factor on both sides."""
    factor = FACTOR if stated and TRUSTED[0] <= zeta <= TRUSTED[1] else WIDE
    return float(seen.min()) / factor, min(float(seen.max()) * factor, 1.0)


def _non_increasing(values: FloatArray) -> FloatArray:
    """Make values non-increasing: the mean of the smallest value so far and the largest value from here on.

    Examples
    --------
    >>> _non_increasing(np.array([3.0, 1.0, 2.0, 0.5]))
    array([3. , 1.5, 1.5, 0.5])
    """
    out: FloatArray = np.minimum.accumulate(values) + np.maximum.accumulate(values[::-1])[::-1]
    return out / 2


def _solve_for_target(
    target: float, table: SimulatedTable, k: int, *, n: int | None, epsilon: Any, delta: float
) -> Plan:
    """Return the plan with the smallest epsilon, or n, that reaches the target."""
    if n is not None:
        known = SimulationSetting.of(table, n, k)
        needed = _smallest(lambda one: _energy(known, one, delta) >= target, _LEAST_EPSILON, MOST_EPSILON)
        found, at = known, MOST_EPSILON if needed is None else needed
    else:
        at = float(epsilon)
        needed = _smallest(
            lambda one: _energy(SimulationSetting.of(table, int(one), k), at, delta) >= target, _LEAST_N, MOST_N
        )
        found = SimulationSetting.of(table, MOST_N if needed is None else int(needed), k)
    return Plan(
        d=table.guess.eigenvalues.size,
        k=k,
        delta=delta,
        rows=_rows(found, [at], delta),
        target=target,
        solved="n" if n is None else "epsilon",
        needed=needed,
        notes=_notes(table, found.n, delta),
    )


def _energy(setting: SimulationSetting, epsilon: float, delta: float) -> float:
    return 1 - float(setting.tracked(Budget.from_epsilon_delta(epsilon, delta)).mean()) ** 2


def _smallest(reaches: Callable[[float], bool], low: float, high: float) -> float | None:
    """Return approximately the smallest number for which `reaches` is true, to three digits.

    The returned number was tested. None if `reaches` is false at `high`.

    Examples
    --------
    >>> _smallest(lambda x: x >= 3.2, 0.01, 50.0), _smallest(lambda x: False, 0.01, 50.0)
    (3.26, None)
    """
    if not reaches(high):
        return None
    if reaches(low):
        return low
    while high / low > _CLOSE:
        middle = float(f"{math.sqrt(low * high):.3g}")
        if not low < middle < high:
            break
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


def _notes(table: SimulatedTable, n: int, delta: float) -> tuple[str, ...]:
    notes = []
    bought = {"mean": table.standard.buy_mean, "scales": table.standard.private.size > 0}
    paid = " and ".join(what for what, is_bought in bought.items() if is_bought)
    if paid:
        notes.append(f"The same budget pays for the private {paid} of the columns.")
    if not table.guess.stated:
        notes.append("The spectrum is a guess: give eigenvalues or a public sample for a more precise plan.")
    if delta > 1 / n:
        notes.append(
            f"delta = {delta:g} is above 1/n: this would allow publishing a whole unit. Choose a smaller delta."
        )
    return tuple(notes)


def _is_scaled(scale: Any) -> bool:
    """Return whether scales are bought."""
    if scale is None or (isinstance(scale, str) and scale == "private"):
        return scale is not None
    raise InvalidInputError(
        f"scale must be None or 'private', got {scale!r}.",
        hint="Scales that are public cost nothing: plan with scale=None, for columns that are scaled already.",
    )


def _is_centred(center: Any, spread: Any, *, scaled: bool) -> bool:
    """Return whether a mean is bought: if asked for, and if units have rows."""
    if not isinstance(center, bool | np.bool_):
        raise InvalidInputError(
            "center must be True or False.",
            hint="A mean that is public costs nothing: plan with center=False, for rows that are centred already.",
        )
    if not isinstance(spread, float | np.floating):
        return bool(center)
    if scaled:
        raise InvalidInputError(
            "units that are matrices have no rows, so they cannot be scaled.",
            hint="spread is a whole number for people: 10 means ten rows each, 10.0 means matrices at a distance.",
        )
    return False


def _check(n: Any, d: Any, k: Any, *, epsilon: Any, target: Any) -> None:
    """Raise for invalid arguments."""
    _check_size("d", d)
    if d > _WIDEST:
        raise InvalidInputError(
            f"plans support up to {_WIDEST:,} columns, got {d:,}.",
            hint=f"Plan for {_WIDEST:,} columns with the same leading eigenvalues: the noise grows like sqrt(d).",
        )
    check_k(k, d)
    if n is not None or target is None:
        _check_size("n", n)
    for one in [] if epsilon is None else np.atleast_1d(np.asarray(epsilon, dtype=object)):
        check_epsilon(one)
    if target is None:
        return
    if not (isinstance(target, int | float | np.number) and 0 < target < 1):
        raise InvalidInputError(
            f"target must lie strictly between 0 and 1, got {target!r}.",
            hint="It is an energy ratio: .95 means 95 % of the variance that the best k components capture.",
        )
    if (n is None) == (epsilon is None) or np.ndim(epsilon):
        raise InvalidInputError(
            "a target needs either n or one epsilon; the omitted one is found.",
            hint="plan(n, d, k, target=.95) finds epsilon; plan(None, d, k, epsilon=1, target=.95) finds n.",
        )


def _check_size(name: str, value: Any) -> None:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not (whole and 1 <= value <= MOST_N):
        raise InvalidInputError(
            f"{name} must be an integer from 1 to {MOST_N:,}, got {value!r}.",
            hint="n may be None if target and epsilon are given: then it is found.",
        )
