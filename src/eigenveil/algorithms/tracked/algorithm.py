"""Tracked PCA, the method of this package: one estimate, refined by noisy questions about Sigma.

TrackedPCA({A_i}, k, mu):
  1  n_hat <- noisy count of valid units, with one of invalid units                        # 1 % of mu^2
     if units are people, or columns have groups: noisy counts of excluded rows and values # 0.5 %
     if rows are to be centred or scaled: their frame, and a mean in it, subtracted from every row; columns to be
     scaled are divided by their rough spread (see `standard`)
  2  state <- Sigma itself, clipped at the radius of least expected loss, with 25 % of the rest; with up to 90 %,
       until the largest eigenvalue of its noise is a tenth of the radius; with 85 % if scales are taken from it
       (above 1024 columns: four rounds from a random start)
     scales <- roots of the diagonal of Sigma; Sigma and the units are divided by them
  3  repeat: buy the curve of norms of a last round (the first k directions, damped inside their span)
       if the centre is still far from the units' mean, and the distance has halved: ask that question with 3 % of
         what is left
       else if incomplete convergence is expected to cost more than the noise and clipping of that round:
         ask about up to 10 more directions, undamped, with 25 % of what is left (at most twice)
       else: ask that question with all that is left, and stop
     after each answer: its precision-weighted average with the earlier estimate, entry by entry; state <- the
       eigenvectors of the result
  4  return the first k directions, and the variances along them and in total, which are bought separately
     or declared                                                                           # 2 %

The state is in `state`, the question in `question`, its expected loss in `loss`, and the constants in `tuning`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from eigenveil._checks import whole
from eigenveil._typing import IntArray
from eigenveil.algorithms.algorithm import Algorithm, Options
from eigenveil.algorithms.bounds import declared_spectrum
from eigenveil.algorithms.counting import (
    COUNT_SHARE,
    LEFT_OUT_SHARE,
    buy_census,
    buy_left_out,
)
from eigenveil.algorithms.diagnostics import (
    Followed,
    LeftOutDiagnostics,
    Round,
    Tail,
    TrackedDiagnostics,
    TrackedPeopleDiagnostics,
)
from eigenveil.algorithms.open_units import RunArguments, public_face, refuse_unknown
from eigenveil.algorithms.release import Release, signed
from eigenveil.algorithms.release_warnings import (
    bad_units,
    clipped_variances,
    few_carry_much,
    lost_in_noise,
    no_spread,
    rows_left_out,
    too_few_units,
    unknown_values,
)
from eigenveil.algorithms.standard import ColumnScales, Standard, standardise, standardised_release, with_declared
from eigenveil.algorithms.tails import tail_of
from eigenveil.algorithms.tracked.leading import settled
from eigenveil.algorithms.tracked.loss import unconverged
from eigenveil.algorithms.tracked.question import Asking, Purse, Question
from eigenveil.algorithms.tracked.state import Sigma, State, noise_edge
from eigenveil.algorithms.tracked.tuning import DEFAULT, SMALLEST, Tuning
from eigenveil.algorithms.uncertainty import hidden_variance
from eigenveil.algorithms.variances import buy_variances
from eigenveil.engines import Asked, LeftOut, Population, read_ahead
from eigenveil.mechanisms.norm_curve import NormCurve
from eigenveil.mechanisms.radius import EDGES
from eigenveil.privacy import Purpose, split_mu
from eigenveil.units import PrivateUnits

VARIANCES_SHARE = 0.02
_NONE: IntArray = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class TrackedOptions(Options):
    """Options of `tracked_pca`."""

    standard: Standard = field(default_factory=Standard)
    spectrum: npt.ArrayLike | None = None
    oversampling: int = 10
    tuning: Tuning = DEFAULT

    def __post_init__(self) -> None:
        whole("oversampling", self.oversampling, least=0)


@public_face
def tracked_pca(
    samples: Any,
    k: int,
    *,
    epsilon: float,
    delta: float,
    center: bool = False,
    spectrum: npt.ArrayLike | None = None,
    oversampling: int = 10,
    tuning: Tuning = DEFAULT,
    **arguments: Unpack[RunArguments],
) -> Release:
    """Find k private principal components by tracked PCA.

    Every question is centred at the estimate from earlier answers. Nothing about the data has to be known: count,
    radii and sums are all bought.

    Parameters
    ----------
    samples : anything that holds rows, or the result of an `eigenveil.samples` function
        Units.
    k : int
        Number of components.
    epsilon, delta : float
        Privacy budget of the whole run.
    center : bool
        Whether to subtract a private mean from every row first (rows and people only), as PCA usually does.
        Otherwise the components are those of the second moment.
    spectrum : array of at least k numbers, optional
        Eigenvalues of Sigma, largest first, if they are public anyway. The ledger records them as declared. The
        first k are then the `eigenvalues`, and no variances along the components are bought.
    oversampling : int
        Number of directions that are tracked in addition to the k components until they have converged. At least
        1, and at most 2 k unless the start is random.
    tuning : Tuning
        Constants of the method, for experiments.
    **arguments
        `relation`, `ledger`, `random_state`, `engine`: see `RunArguments`.

    Returns
    -------
    Release
        It has a `mean` if rows were centred, and `variances` along the components and in total (None with a
        declared spectrum), which are also the `eigenvalues`. `diagnostics` describes the rounds and their expected
        error.

    Formal guarantees
    -----------------
    (epsilon, delta)-DP under `relation`. All noise is Gaussian: a count, curves of norms and clipped sums, each
    with the sensitivity proven in its mechanism. Weights, radii, the number of rounds and their shares are
    functions of earlier releases. The sum of all shares is fixed in advance by the ledger (a privacy filter, see
    `Budget`). So the whole run is mu-GDP with the mu of (epsilon, delta). Eigenvectors and signs are
    post-processing.

    ==============================  ==================================================================
    edge case                       result
    ==============================  ==================================================================
    no units, few units             orthonormal components dominated by noise, and a warning
    k = d, d = 1                    Sigma itself is bought once, with the whole budget
    all units zero, equal           no special case; components without variance are arbitrary
    nan, inf, norm overflows        such a unit adds nothing; a warning if a noisy count of them exceeds 5 %
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
    options = TrackedOptions(
        standard=Standard(buy_mean=center), spectrum=spectrum, oversampling=oversampling, tuning=tuning
    )
    return TRACKED.release(samples, k, options, epsilon=epsilon, delta=delta, **arguments)


def run(units: PrivateUnits, k: int, options: TrackedOptions) -> Release:
    """Run steps 1 to 4 with the whole budget of the units."""
    spectrum = declared_spectrum(options.spectrum, k, units.d)
    units = with_declared(units, options.standard)
    left_out = units.left_out()
    shares = [COUNT_SHARE, LEFT_OUT_SHARE * (left_out is not None), VARIANCES_SHARE * (spectrum is None)]
    mu_count, mu_left_out, mu_variances, mu = split_mu(units.budget.mu, [*shares, 1 - sum(shares)])
    # 1
    first = _read_first(units, options, left_out)
    number = buy_census(units, mu=mu_count, population=first)
    lost = buy_left_out(units, left_out, mu=mu_left_out)
    n_hat = number.good.value
    by_sigma = units.d <= options.tuning.widest_sigma
    ready = standardise(units, options.standard, n_hat=n_hat, mu=mu, by_sigma=by_sigma)
    # 2 and 3
    asking = Asking(ready.units, k, n_hat, Purse(ready.mu), options.tuning)
    tracked = TrackedRun(asking, options.oversampling, options.standard.private if by_sigma else _NONE)
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        state = tracked.buy_state()
    if tracked.scales is not None:
        ready = ready.scaled_by(tracked.scales)
    units = ready.units
    # 4
    components = signed(np.ascontiguousarray(state.V[:, :k].T))
    if spectrum is None:
        guess = state.eigenvalues[:k]
        rest = None if state.sigma is None else state.total - float(guess.sum())
        bought = buy_variances(units, components, guess=guess, rest=rest, n_hat=n_hat, mu=mu_variances)
        order, variances = settled(bought)
        eigenvalues = variances.explained
    else:
        units.veil.ledger.declare(
            f"spectrum, {spectrum.size} eigenvalues", note="declared by the caller", purpose=Purpose.VARIANCES
        )
        order = np.arange(k)
        eigenvalues, variances = spectrum[:k].copy(), None
    too_few = too_few_units(n_hat, tracked.count_noise)
    everyone = n_hat + number.bad.value
    found = [*too_few, *bad_units(n_hat, number.bad)]
    found += [*rows_left_out(everyone, lost), *unknown_values(everyone, lost)]
    if variances is not None:
        found += [*no_spread(variances), *lost_in_noise(variances), *clipped_variances(variances)]
    diagnostics = TrackedDiagnostics(
        n_hat=n_hat,
        bad_units=number.bad.value,
        rounds=tuple(tracked.rounds),
        clip=tracked.sigma_kept,
        expected_zeta=tracked.expected_zeta,
        passes=units.passes.made,
        followed=_followed(state, order),
        tail=tracked.sigma_tail,
    )
    if variances is not None and not too_few:  # with too few units nothing is known of any tail
        found += few_carry_much(hidden_variance(diagnostics, variances, units.d))
    release = Release(
        algorithm="tracked",
        components=components[order],
        eigenvalues=eigenvalues,
        variances=variances,
        ledger=units.veil.ledger,
        diagnostics=diagnostics
        if lost is None
        else TrackedPeopleDiagnostics(**diagnostics, left_out=LeftOutDiagnostics.of(lost)),
        warnings=tuple(found),
    )
    return standardised_release(release, ready, options.standard)


TRACKED = Algorithm(name="tracked", options=TrackedOptions, run=run, variances=True)


@dataclass
class TrackedRun:
    """Steps 2 and 3, and their diagnostics.

    Parameters
    ----------
    asking : Asking
        Units, budget and constants.
    oversampling : int
        Number of directions that are tracked in addition to the k components.
    rounds : list of Round
        Diagnostics of every round so far.
    sigma_kept : float, optional
        Share of the units that the release of Sigma left unchanged. None if Sigma was not bought.
    sigma_tail : Tail, optional
        How far out units lie, by the curve of norms of Sigma.
    count_noise : float
        Standard deviation of the noise on counts in the first curve of norms.
    expected_zeta : float
        Square root of the expected share of lost energy, just before the last round.
    """

    asking: Asking
    oversampling: int
    scaled: IntArray = field(default_factory=lambda: _NONE)
    scales: ColumnScales | None = None
    rounds: list[Round] = field(default_factory=list)
    sigma_kept: float | None = None
    sigma_tail: Tail | None = None
    count_noise: float = math.nan
    expected_zeta: float = math.nan

    def buy_state(self) -> State:
        """Run steps 2 and 3, and return the state after all questions."""
        asking, k, d = self.asking, self.asking.k, self.asking.units.d
        spare = max(self.oversampling, 1)
        most = min(max(k + 1, d // 2), d)
        if d > asking.tuning.widest_sigma:
            return self.buy_refined(self.buy_random_start(min(k + spare, most)))
        share = 1.0 if k == d else self.sigma_share()
        sigma, curve, clip = asking.buy_sigma(share)
        if self.scaled.size:
            sigma = self.rescale(sigma)
        self.sigma_kept, self.sigma_tail, self.count_noise = clip.kept, tail_of(curve), curve.count_noise
        state = State.of_sigma(sigma, min(k + min(spare, 2 * k), most))
        return self.buy_refined(state) if k < d else state

    def sigma_share(self) -> float:
        """Return the share of what is left that Sigma gets. It depends on n_hat, d, mu and the relation only.

        The noise on Sigma falls with the square root of the share. So `noise_goal` is reached with the square of
        (noise if all were spent / goal). With few units a later question gains less than that: its directions
        would be noise.
        """
        asking, tuning = self.asking, self.asking.tuning
        if self.scaled.size:
            return tuning.scaled_share
        edge = noise_edge(asking.units.d, asking.noise(asking.purse.mu) / math.sqrt(2))
        return min(max((edge / tuning.noise_goal) ** 2, tuning.sigma_share), tuning.most_sigma)

    def rescale(self, sigma: Sigma) -> Sigma:
        """Take the scales from the diagonal of Sigma, and return Sigma of the units divided by them."""
        noise = math.sqrt(2 * sigma.variance)
        variances = np.diag(sigma.matrix)[self.scaled]
        self.scales = ColumnScales.of(
            len(sigma.matrix), self.scaled, variances, noise=noise, n_hat=self.asking.n_hat
        )
        self.asking.units = self.asking.units.rescaled(self.scales.scale)
        return sigma.divided(self.scales.scale)

    def buy_random_start(self, followed: int) -> State:
        """Run step 2 from random directions. Earlier estimates do not count, since nothing has converged."""
        state = State.unknown(self.asking.units.random_start(followed))
        for share in self.asking.tuning.pilot_shares:
            question = Question.wide(state.forgotten(), self.asking.k, self.asking.tuning)
            state = self.buy_round(question, share, "pilot")
        return state

    def buy_refined(self, state: State) -> State:
        """Run step 3."""
        asking, k, tuning = self.asking, self.asking.k, self.asking.tuning
        wide, before = 0, math.inf
        while True:
            last = Question.narrow(state, k, tuning)
            curve = last.buy_curve(asking, asking.purse.spend(tuning.curve_share), self.name("next"))
            if not wide and math.isinf(before):
                # in scaled fits the curve of Sigma is the more precise one
                self.count_noise = float(np.fmin(self.count_noise, curve.count_noise))
            clip = last.clip(asking, curve, asking.purse.mu * math.sqrt(asking.purse.left))
            open_ = unconverged(state, k, clip.loss, tuning)
            if tuning.near * min(clip.radius, 2.5 * curve.median) ** 2 < last.distance < before / 2:
                before = last.distance
                state = self.buy_round(last, tuning.curve_share / 2, "narrow", curve)
            elif wide < tuning.most_wide and open_ > clip.loss:
                wide += 1
                state = self.buy_round(Question.wide(state, k, tuning), tuning.wide_share, "wide")
            else:
                energy = max(float(state.eigenvalues[:k].sum()), SMALLEST)
                self.expected_zeta = math.sqrt(min(1.0, (clip.loss + open_) / energy))
                return self.buy_round(last, 1.0, "last", curve)

    def buy_round(self, question: Question, share: float, kind: str, curve: NormCurve | None = None) -> State:
        """Ask a question with a share of the remaining budget, and return the state after its answer.

        The share includes the curve of norms if none is given.
        """
        asking = self.asking
        before = asking.purse.left
        answer, mean, clip = question.buy_answer(asking, asking.purse.spend(share), self.name(kind), curve)
        self.rounds.append(
            Round(
                kind=kind,
                share=before - asking.purse.left,
                radius=mean.radius,
                kept=clip.kept,
                noise=mean.noise,
                offset=mean.offset,
                inside=question.inside,
                columns=tuple(float(weight) for weight in question.columns),
                tail=None if curve is None else tail_of(curve),
            )
        )
        return question.state.learned(answer)

    def name(self, kind: str) -> str:
        """Return the name of the next round in the ledger."""
        return f"round {len(self.rounds) + 1} ({kind})"


def _read_first(units: PrivateUnits, options: TrackedOptions, left_out: LeftOut | None) -> Population | None:
    """Read the population of the next step in one pass with the count of units and the excluded rows.

    Return None if nothing is read ahead, because the next population is not yet known.
    """
    if options.standard.buys or units.d > options.tuning.widest_sigma:
        if left_out is None:
            return None
        first: Population = units.block(np.eye(units.d, 1))
        edges = np.array([np.inf])
    else:
        first = units.matrices()
        edges = np.append(EDGES, np.inf)
    read_ahead(Asked(first, np.zeros(first.shape), edges), beside=left_out)
    return first


def _followed(state: State, order: npt.NDArray[np.intp]) -> Followed:
    """Return the estimate of Sigma along all tracked directions: the components in order, then the spare ones."""
    first = [*order, *range(len(order), len(state.eigenvalues))]
    known = (state.eigenvalues, np.sqrt(state.outside), np.sqrt(state.inside))
    return Followed(*(tuple(float(value) for value in values[first]) for values in known))
