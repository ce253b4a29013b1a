"""Tracked block iteration, our own method: a block of directions, refined around what is already public.

TrackedPCA({A_i}, k, mu):
  1  n_hat <- n if declared public, else a noisy count of good units (and of bad ones)     # 1 % of mu^2
     if rows are to be centred: a private mean, taken off every row                # 8 %
  2  a pilot, 30 % of what steps 2 to 4 have:
       4 rounds from a random start, each with 3 times the share of the one before, all weights 1; on few units,
       where count noise in the first would exceed n_hat/10, 3.
       In place of the last of them: a release of Sigma itself, where releases say that it tells more (directions
       that converge slowly, small d). On very few units that release is all of the pilot.
       Rows of few columns for their number (2 d < .08 n mu^2): Sigma itself before any round, 10 %, then a round
     After it, for rows: two quantiles of their lengths, 1 %; where these are much wider than Gaussian ones, the
       mean of clipped rows, 1 %. Rows that it shows to be skewed are clipped less from here on, and Sigma is
       preferred to a block
     Where noise on Sigma would cost little beside what the sample leaves open (rows, d <= 1024): releases of
       Sigma at several clips, then one with all that is left at the best of them, and go to 5
  3  if Sigma itself, with all that is left, promises more than a block, whose clip bias the last two releases
     show: that, and go to 5
     While the centre has not caught up with the units, or directions still move by more than the noise of a last
       round: a round with 8 % of what is left
  4  a last round with all that is left; on few units two, 1 : 3
  5  the first k directions; variances along them and in all, from a release of their own     # 2 %, or declared

Where k + 5 >= d the block would be the whole space: then steps 2 to 4 are releases of Sigma itself.
What is asked when is decided in `tracked_run`; rounds are described in `tracking`, clips of Sigma in `sigma`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError
from eigenveil.privacy import Purpose, split_mu
from eigenveil.subspace.algorithm import Algorithm, Options
from eigenveil.subspace.bounds import Declared
from eigenveil.subspace.counting import COUNT_SHARE, MEAN_SHARE, buy_mean, buy_number
from eigenveil.subspace.diagnostics import Followed, TrackedDiagnostics
from eigenveil.subspace.opening import RunArguments, public_face, refuse_unknown
from eigenveil.subspace.release import Release, signed
from eigenveil.subspace.release_warnings import bad_units, clipped_variances, lost_in_noise, too_few_units
from eigenveil.subspace.tracked_run import WIDEST_MATRIX, Run
from eigenveil.subspace.tracking import State
from eigenveil.subspace.variances import buy_variances
from eigenveil.units import PrivateUnits

VARIANCES_SHARE = 0.02


@dataclass(frozen=True, kw_only=True)
class TrackedOptions(Options):
    """Options of `tracked_pca`."""

    center: bool = False
    n: int | None = None
    spectrum: npt.ArrayLike | None = None
    oversampling: int = 5

    def __post_init__(self) -> None:
        Declared(n=self.n)  # which checks it

    def checked_spectrum(self, k: int, d: int) -> FloatArray | None:
        """Declared eigenvalues, if there are any and they can be such."""
        if self.spectrum is None:
            return None
        values = np.array(self.spectrum, dtype=np.float64)
        if values.ndim != 1 or not k <= values.size <= d:
            raise InvalidInputError(
                f"spectrum must hold from k = {k} to d = {d} eigenvalues, got an array of shape {values.shape}.",
                hint="Only eigenvalues that are public anyway belong here; None buys variances.",
            )
        if not (np.all(np.isfinite(values)) and values[-1] >= 0 and np.all(np.diff(values) <= 0)):
            raise InvalidInputError("spectrum must be finite, not negative, and sorted from the largest down.")
        return values


@public_face
def tracked_pca(
    samples: Any,
    k: int,
    *,
    epsilon: float,
    delta: float,
    center: bool = False,
    n: int | None = None,
    spectrum: npt.ArrayLike | None = None,
    oversampling: int = 5,
    **arguments: Unpack[RunArguments],
) -> Release:
    """Find k private principal directions by tracked block iteration.

    Nothing need be known of the data: count, radii and sums are all paid for.

    Parameters
    ----------
    samples : anything that holds rows, or what `eigenveil.samples` makes
        The units.
    k : int
        How many directions.
    epsilon, delta : float
        What the whole may cost.
    center : bool
        Whether to take a private mean off every row first (rows and people only), as PCA usually does. Without it
        directions are those of the second moment.
    n : int, optional
        The number of units, if it is public anyway; written in the ledger as declared. None: a count is bought.
    spectrum : array of at least k numbers, optional
        Eigenvalues of Sigma, largest first, if they are public anyway; declared in the ledger. The first
        k are then `eigenvalues`, and no variances along the directions are bought.
    oversampling : int
        How many directions more than k are followed, since the last wanted one is slow to tell from the next.
    **arguments
        `relation`, `ledger`, `random_state`, `engine`, as everywhere: see `RunArguments`.

    Returns
    -------
    Release
        `mean` if centred. `variances` along the components and in all, with their noise; `eigenvalues` are these
        (no `variances` where a spectrum was declared).
        `diagnostics` has n_hat, the noisy number of bad units (None if n was declared), the pilot, per round its
        radius, noise, weights and offset, the last clip of Sigma, and what is known of all directions followed.

    Formal guarantees
    -----------------
    (epsilon, delta)-DP under `relation`. Every draw is Gaussian: a count, radius searches, clipped sums, each with
    the sensitivity proven in its mechanism. Weights, radii, the number of rounds and their shares are functions of
    earlier releases, and the sum of all shares is fixed in advance by the ledger (a privacy filter, see
    `Budget`), so the whole is mu-GDP with the mu that (epsilon, delta) buys. QR, eigenvectors and signs are
    post-processing.

    ==============================  ==================================================================
    edge case                       answer
    ==============================  ==================================================================
    no units, few units             orthonormal directions full of noise, and a warning
    k = d, d = 1, d < k + 5         fewer directions are followed, at most d
    all units zero, equal           no special case; directions without variance are arbitrary
    nan, inf, norm overflows        such a unit adds nothing; a warning if a noisy count of them passes 5 %
    ==============================  ==================================================================

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 8)) * np.sqrt([9, 4, 1, 1, 1, 1, 1, 1])
    >>> release = tracked_pca(X, 2, epsilon=1.0, delta=1e-6, random_state=0)
    >>> bool(np.all(np.abs(release.components[:, :2]).max(axis=1) > 0.99))
    True
    >>> release
    <Release of tracked: NOT PRIVATE: seeded: ...>
    """
    refuse_unknown(tracked_pca, arguments)
    options = TrackedOptions(center=center, n=n, spectrum=spectrum, oversampling=oversampling)
    return TRACKED.release(samples, k, options, epsilon=epsilon, delta=delta, **arguments)


def run(units: PrivateUnits, k: int, options: TrackedOptions) -> Release:
    """Steps 1 to 5, with all of the units' budget."""
    spectrum = options.checked_spectrum(k, units.d)
    m = min(k + options.oversampling, units.d)
    shares = [COUNT_SHARE * (options.n is None), MEAN_SHARE * options.center, VARIANCES_SHARE * (spectrum is None)]
    mu_count, mu_mean, mu_variances, mu = split_mu(units.budget.mu, [*shares, 1 - sum(shares)])
    # 1
    number = buy_number(units, n=options.n, mu=mu_count, bad_too=True)
    n_hat, mean = number.good.value, None
    if options.center:
        mean, units = buy_mean(units, n_hat=n_hat, mu=mu_mean)
    steps = Run(units, k, n_hat, mu)
    with np.errstate(over="ignore", under="ignore"):
        state = steps.whole_space() if m == units.d <= WIDEST_MATRIX else steps.by_blocks(m)
    # 5
    components = signed(np.ascontiguousarray(state.W[:, :k].T))
    if spectrum is None:
        bought = buy_variances(units, components, guess=state.eigenvalues[:k], n_hat=n_hat, mu=mu_variances)
        order = np.argsort(-bought.explained, kind="stable")
        eigenvalues, variances = bought.explained[order], bought.in_order(order)
    else:
        units.veil.ledger.declare(
            f"spectrum, {spectrum.size} eigenvalues", note="declared by the caller", purpose=Purpose.VARIANCES
        )
        order = np.arange(k)
        eigenvalues, variances = spectrum[:k].copy(), None
    found = too_few_units(n_hat, steps.count_noise(steps.first_share) * n_hat)
    found += bad_units(n_hat, number.bad)
    if variances is not None:
        found += [*lost_in_noise(variances), *clipped_variances(variances)]
    return Release(
        algorithm="tracked",
        components=components[order],
        eigenvalues=eigenvalues,
        variances=variances,
        mean=mean,
        ledger=units.veil.ledger,
        diagnostics=TrackedDiagnostics(
            n_hat=n_hat,
            bad_units=None if number.bad is None else number.bad.value,
            pilot=steps.pilot,
            rounds=tuple(steps.rounds),
            clip=None if steps.sigma is None else steps.sigma.quantile,
            followed=_followed(state, order),
        ),
        warnings=tuple(found),
    )


TRACKED = Algorithm(name="tracked", options=TrackedOptions, run=run, variances=True)


def _followed(state: State, order: npt.NDArray[np.intp]) -> Followed:
    """What is known of Sigma along all tracked directions: components in their order, then oversampled ones."""
    first = [*order, *range(len(order), len(state.eigenvalues))]
    known = (state.eigenvalues, np.sqrt(state.variance), np.sqrt(state.inside))
    return Followed(*(tuple(float(value) for value in values[first]) for values in known))
