"""Tracked PCA, our own method: one state, one question, one price.

TrackedPCA({A_i}, k, mu):
  1  n_hat <- n if declared public, else a noisy count of good units (and of bad ones)     # 1 % of mu^2
     if units are people, or columns have groups: noisy numbers of what is left out        # 0.5 %
     if rows are to be centred: a private mean, subtracted from every row                  # 8 %
  2  state <- Sigma itself, with 25 % of the rest, clipped at its best radius
       (beyond 1024 columns: four rounds from a random start)
  3  repeat: buy the curve of norms of a last round (the first k directions, damped inside)
       if the centre is still far from the units' mean, and comes nearer: ask it with 3 % of what is left
       else if more is expected to be lost by what has not converged than by that round's noise and clip:
         ask about up to 10 more directions, undamped, with 25 % of what is left (at most twice)
       else: ask it with all that is left, and stop
     After each answer: weigh it with what was known, entry by entry; the eigenvectors of the combined estimate
  4  the first k directions; variances along them and in all, from a release of their own   # 2 %, or declared

The state is in `state`, the question in `question`, what it costs in `loss`, the constants in `tuning`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from eigenveil._checks import whole
from eigenveil.engines import Asked, LeftOut, Population, read_ahead
from eigenveil.mechanisms.norm_curve import NormCurve
from eigenveil.mechanisms.radius import EDGES
from eigenveil.privacy import Purpose, split_mu
from eigenveil.subspace.algorithm import Algorithm, Options
from eigenveil.subspace.bounds import Declared, declared_spectrum
from eigenveil.subspace.counting import (
    COUNT_SHARE,
    LEFT_OUT_SHARE,
    MEAN_SHARE,
    buy_left_out,
    buy_mean,
    buy_number,
)
from eigenveil.subspace.diagnostics import (
    Followed,
    LeftOutDiagnostics,
    Round,
    TrackedDiagnostics,
    TrackedPeopleDiagnostics,
)
from eigenveil.subspace.opening import RunArguments, public_face, refuse_unknown
from eigenveil.subspace.release import Release, signed
from eigenveil.subspace.release_warnings import (
    bad_units,
    clipped_variances,
    lost_in_noise,
    no_spread,
    rows_left_out,
    too_few_units,
    unknown_values,
)
from eigenveil.subspace.tracked.loss import unconverged
from eigenveil.subspace.tracked.question import Asking, Purse, Question
from eigenveil.subspace.tracked.state import State
from eigenveil.subspace.tracked.tuning import DEFAULT, SMALLEST, Tuning
from eigenveil.subspace.variances import buy_variances
from eigenveil.units import PrivateUnits

VARIANCES_SHARE = 0.02


@dataclass(frozen=True, kw_only=True)
class TrackedOptions(Options):
    """Options of `tracked_pca`."""

    center: bool = False
    n: int | None = None
    spectrum: npt.ArrayLike | None = None
    oversampling: int = 10
    tuning: Tuning = DEFAULT

    def __post_init__(self) -> None:
        Declared(n=self.n)  # which checks it
        whole("oversampling", self.oversampling, least=0)


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
    oversampling: int = 10,
    tuning: Tuning = DEFAULT,
    **arguments: Unpack[RunArguments],
) -> Release:
    """Find k private principal directions, each question asked around what earlier answers say.

    Nothing need be known of the data: count, radii and sums are all paid for.

    Parameters
    ----------
    samples : anything that holds rows, or what `eigenveil.samples` makes
        The units.
    k : int
        How many directions.
    epsilon, delta : float
        Privacy budget of the whole run.
    center : bool
        Whether to subtract a private mean from every row first (rows and people only), as PCA usually does.
        Without it directions are those of the second moment.
    n : int, optional
        The number of units, if it is public anyway; written in the ledger as declared. None: a count is bought.
    spectrum : array of at least k numbers, optional
        Eigenvalues of Sigma, largest first, if they are public anyway; declared in the ledger. The first
        k are then `eigenvalues`, and no variances along the directions are bought.
    oversampling : int
        How many directions more than k are followed while directions have not converged; at least 1, and at
        most 2 k unless the start is random.
    tuning : Tuning
        The constants of the method, for experiments.
    **arguments
        `relation`, `ledger`, `random_state`, `engine`, as everywhere: see `RunArguments`.

    Returns
    -------
    Release
        `mean` if centred. `variances` along the components and in all (None with a declared spectrum);
        `eigenvalues` are these. `diagnostics` says how rounds went and what they expected.

    Formal guarantees
    -----------------
    (epsilon, delta)-DP under `relation`. Every draw is Gaussian: a count, curves of norms, clipped sums, each with
    the sensitivity proven in its mechanism. Weights, radii, the number of rounds and their shares are functions of
    earlier releases, and the sum of all shares is fixed in advance by the ledger (a privacy filter, see
    `Budget`), so the whole is mu-GDP with the mu that (epsilon, delta) buys. Eigenvectors and signs are
    post-processing.

    ==============================  ==================================================================
    edge case                       answer
    ==============================  ==================================================================
    no units, few units             orthonormal directions full of noise, and a warning
    k = d, d = 1                    Sigma itself is asked for once, with everything
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
    options = TrackedOptions(center=center, n=n, spectrum=spectrum, oversampling=oversampling, tuning=tuning)
    return TRACKED.release(samples, k, options, epsilon=epsilon, delta=delta, **arguments)


def run(units: PrivateUnits, k: int, options: TrackedOptions) -> Release:
    """Steps 1 to 4, with all of the units' budget."""
    spectrum = declared_spectrum(options.spectrum, k, units.d)
    left_out = units.left_out()
    shares = [
        COUNT_SHARE * (options.n is None),
        LEFT_OUT_SHARE * (left_out is not None),
        MEAN_SHARE * options.center,
        VARIANCES_SHARE * (spectrum is None),
    ]
    mu_count, mu_left_out, mu_mean, mu_variances, mu = split_mu(units.budget.mu, [*shares, 1 - sum(shares)])
    # 1
    first = _read_first(units, options, left_out)
    number = buy_number(units, n=options.n, mu=mu_count, bad_too=True, population=first)
    lost = buy_left_out(units, left_out, mu=mu_left_out)
    n_hat, mean = number.good.value, None
    if options.center:
        mean, units = buy_mean(units, n_hat=n_hat, mu=mu_mean)
    # 2 and 3
    search = Search(Asking(units, k, n_hat, Purse(mu), options.tuning), options.oversampling)
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        state = search.directions()
    # 4
    components = signed(np.ascontiguousarray(state.V[:, :k].T))
    if spectrum is None:
        guess = state.eigenvalues[:k]
        rest = None if state.sigma is None else state.total - float(guess.sum())
        bought = buy_variances(units, components, guess=guess, rest=rest, n_hat=n_hat, mu=mu_variances)
        order = np.argsort(-bought.explained, kind="stable")
        eigenvalues, variances = bought.explained[order], bought.in_order(order)
    else:
        units.veil.ledger.declare(
            f"spectrum, {spectrum.size} eigenvalues", note="declared by the caller", purpose=Purpose.VARIANCES
        )
        order = np.arange(k)
        eigenvalues, variances = spectrum[:k].copy(), None
    found = too_few_units(n_hat, search.count_noise)
    everyone = n_hat + (0.0 if number.bad is None else number.bad.value)
    found += [*bad_units(n_hat, number.bad), *rows_left_out(everyone, lost), *unknown_values(everyone, lost)]
    if variances is not None:
        found += [*no_spread(variances), *lost_in_noise(variances), *clipped_variances(variances)]
    told = TrackedDiagnostics(
        n_hat=n_hat,
        bad_units=None if number.bad is None else number.bad.value,
        rounds=tuple(search.rounds),
        clip=search.sigma_kept,
        expected_zeta=search.expected_zeta,
        passes=units.passes.made,
        followed=_followed(state, order),
    )
    return Release(
        algorithm="tracked",
        components=components[order],
        eigenvalues=eigenvalues,
        variances=variances,
        mean=mean,
        ledger=units.veil.ledger,
        diagnostics=told
        if lost is None
        else TrackedPeopleDiagnostics(**told, left_out=LeftOutDiagnostics.of(lost)),
        warnings=tuple(found),
    )


TRACKED = Algorithm(name="tracked", options=TrackedOptions, run=run, variances=True)


@dataclass
class Search:
    """Steps 2 and 3, and what they report."""

    asking: Asking
    oversampling: int
    rounds: list[Round] = field(default_factory=list)
    sigma_kept: float | None = None
    count_noise: float = math.nan
    expected_zeta: float = math.nan

    def directions(self) -> State:
        """The state after all questions."""
        asking, k, d = self.asking, self.asking.k, self.asking.units.d
        spare = max(self.oversampling, 1)
        most = min(max(k + 1, d // 2), d)
        if d > asking.tuning.widest_sigma:
            return self.refined(self.from_random_start(min(k + spare, most)))
        sigma, curve, clip = asking.sigma(asking.tuning.sigma_share if k < d else 1.0)
        self.sigma_kept, self.count_noise = clip.kept, curve.count_noise
        state = State.of_sigma(sigma, min(k + min(spare, 2 * k), most))
        return self.refined(state) if k < d else state

    def from_random_start(self, followed: int) -> State:
        """Rounds from directions that depend on no data; until they converge, what was known does not count."""
        state = State.unknown(self.asking.units.random_start(followed))
        for share in self.asking.tuning.pilot_shares:
            state = self.after(Question.wide(state.forgotten(), self.asking.k, self.asking.tuning), share, "pilot")
        return state

    def refined(self, state: State) -> State:
        """Step 3."""
        asking, k, tuning = self.asking, self.asking.k, self.asking.tuning
        wide, before = 0, math.inf
        while True:
            last = Question.narrow(state, k, tuning)
            curve = last.curve(asking, asking.purse.spend(tuning.curve_share), self.name("next"))
            if not wide and math.isinf(before):
                self.count_noise = curve.count_noise
            clip = last.clip(asking, curve, asking.purse.mu * math.sqrt(asking.purse.left))
            open_ = unconverged(state, k, clip.loss, tuning)
            if tuning.near * min(clip.radius, 2.5 * curve.median) ** 2 < last.distance < before / 2:
                before = last.distance
                state = self.after(last, tuning.curve_share / 2, "narrow", curve)
            elif wide < tuning.most_wide and open_ > clip.loss:
                wide += 1
                state = self.after(Question.wide(state, k, tuning), tuning.wide_share, "wide")
            else:
                energy = max(float(state.eigenvalues[:k].sum()), SMALLEST)
                self.expected_zeta = math.sqrt(min(1.0, (clip.loss + open_) / energy))
                return self.after(last, 1.0, "last", curve)

    def after(self, question: Question, share: float, kind: str, curve: NormCurve | None = None) -> State:
        """The state after a question that costs a share of what is left, its curve included if it has none."""
        asking = self.asking
        before = asking.purse.left
        answer, mean, clip = question.bought(asking, asking.purse.spend(share), self.name(kind), curve)
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
            )
        )
        return question.state.learned(answer)

    def name(self, kind: str) -> str:
        """What the ledger calls the next round."""
        return f"round {len(self.rounds) + 1} ({kind})"


def _read_first(units: PrivateUnits, options: TrackedOptions, left_out: LeftOut | None) -> Population | None:
    """What is asked after the number of units, read in one pass with it and with what is left out of them.

    None where neither is read yet: what is asked next is not known.
    """
    if not options.center and units.d > options.tuning.widest_sigma:
        if left_out is None:
            return None
        first: Population = units.block(np.eye(units.d, 1))
        edges = np.array([np.inf])
    else:
        first = units.vectors() if options.center else units.matrices()
        edges = np.append(EDGES, np.inf)
    read_ahead(Asked(first, np.zeros(first.shape), edges), beside=left_out)
    return first


def _followed(state: State, order: npt.NDArray[np.intp]) -> Followed:
    """What is known of Sigma along all followed directions: components in their order, then spare ones."""
    first = [*order, *range(len(order), len(state.eigenvalues))]
    known = (state.eigenvalues, np.sqrt(state.outside), np.sqrt(state.inside))
    return Followed(*(tuple(float(value) for value in values[first]) for values in known))
