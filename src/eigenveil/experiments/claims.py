"""What the paper's experiments sections claim, in our words, and the checks that try it."""

from __future__ import annotations

from collections.abc import Callable

from eigenveil.experiments import names
from eigenveil.experiments.verdicts import (
    NOTHING_LEARNT,
    Check,
    Claim,
    Form,
    ahead,
    ahead_at,
    grows_like,
    improves,
    learns_anywhere,
    less_level,
    level,
    reaches,
    slower,
    varies,
    widens,
)

MATCHES, NEARLY, LEVEL = 1.1, 2.0, 1.5
EFFECTIVE = 0.1
"""A zeta of .1 is a loss of 1 % of the energy."""
BASELINES = (names.GAUSS_1, names.GAUSS_2, names.POWER)
OURS = "not in the paper"
MAIN = "sec:experiments"
GAP, SIGMA = f"{MAIN}, fig:varying-eigengap", f"{MAIN}, fig:increasing-sigma"
APPENDIX = "sec-appendix-experiments"
GAUSSIAN, FURTHER = f"{APPENDIX}, Gaussian data", f"{APPENDIX}, further comments"
OVER_N = ("spiked-n-large-noise", "spiked-n-small-noise")
GAUSSIANS = ("gaussian-n", "gaussian-gap", "gaussian-d")


def _k_dp_pca(check: Callable[[str], Check]) -> dict[Form, Check]:
    """A claim on k-DP-PCA, in both of its forms."""
    return {Form.VALID: check(names.LITERAL), Form.TRACKED: check(names.TRACKED_MEAN)}


def _ojas(check: Callable[[str], Check]) -> dict[Form, Check]:
    """A claim on k-DP-Ojas alone, with valid and with printed noise."""
    return {Form.VALID: check(names.OJAS), Form.PRINTED: check(names.OJAS_PRINTED)}


def _ojas_beside(check: Callable[[str, str], Check]) -> dict[Form, Check]:
    """A claim on k-DP-Ojas beside k-DP-PCA."""
    return {
        Form.VALID: check(names.OJAS, names.LITERAL),
        Form.TRACKED: check(names.OJAS, names.TRACKED_MEAN),
        Form.PRINTED: check(names.OJAS_PRINTED, names.TRACKED_MEAN),
    }


def _gauss_2(check: Callable[[str], Check]) -> dict[Form, Check]:
    return {Form.VALID: check(names.GAUSS_2), Form.PRINTED: check(names.GAUSS_2_PRINTED)}


CLAIMS = (
    Claim(
        where=MAIN,
        says="Dividing rows by the largest norm among them is not private; dividing each by its own norm is, but "
        "biases the covariance. So rows are clipped.",
        note="An argument, not a measurement, and right. All baselines here clip.",
    ),
    Claim(
        where=MAIN,
        says="The power method with its l1 clip is outperformed by both forms of DP-Gauss.",
        figures=("spiked-n-large-noise",),
        checks={
            Form.VALID: ahead(("spiked-n-large-noise",), names.GAUSS_2, (names.POWER_PRINTED,)),
            Form.PRINTED: ahead(("spiked-n-large-noise",), names.GAUSS_2_PRINTED, (names.POWER_PRINTED,)),
        },
        note="DP-Gauss-2 is the weaker of the two; the power method has the printed scale here.",
    ),
    Claim(
        where=OURS,
        says="The same, where the power method is given the smaller scale that is enough for privacy.",
        figures=OVER_N,
        checks=_gauss_2(lambda one: ahead(OVER_N, one, (names.POWER,))),
    ),
    Claim(
        where=MAIN,
        says="k-DP-PCA is better than all baselines at every n, at large and at small noise.",
        figures=OVER_N,
        checks=_k_dp_pca(lambda one: ahead(OVER_N, one, BASELINES)),
    ),
    Claim(
        where=MAIN,
        says="Its lead grows when the noise is far below the signal.",
        figures=OVER_N,
        checks=_k_dp_pca(lambda one: widens(*OVER_N, one, names.GAUSS_1)),
    ),
    Claim(
        where=f"{MAIN}, fig:impact of d",
        says="With growing d, both DP-Gauss and the power method get worse faster than k-DP-PCA.",
        figures=("spiked-d",),
        checks=_k_dp_pca(lambda one: slower("spiked-d", one, BASELINES)),
    ),
    Claim(
        where=f"{MAIN}, fig:impact of d",
        says="This shows their d^1.5 against its d.",
        figures=("spiked-d",),
        checks=_k_dp_pca(lambda one: grows_like("spiked-d", {names.GAUSS_1: 1.5, one: 1.0}, within=0.25)),
        note="At this sigma the baselines' clip is mostly signal, which does not grow with d.",
    ),
    Claim(
        where=GAP,
        says="DP-Gauss-2 improves steadily as the eigengap grows.",
        figures=("spiked-gap",),
        checks=_gauss_2(lambda one: improves("spiked-gap", one)),
    ),
    Claim(
        where=GAP,
        says="At very large gaps DP-Gauss-2 nearly reaches k-DP-PCA.",
        figures=("spiked-gap",),
        checks={
            Form.VALID: ahead_at("spiked-gap", names.GAUSS_2, names.LITERAL, end="last", factor=NEARLY),
            Form.TRACKED: ahead_at("spiked-gap", names.GAUSS_2, names.TRACKED_MEAN, end="last", factor=NEARLY),
            Form.PRINTED: ahead_at(
                "spiked-gap", names.GAUSS_2_PRINTED, names.TRACKED_MEAN, end="last", factor=NEARLY
            ),
        },
    ),
    Claim(
        where=GAP,
        says="DP-Gauss-1 hardly changes with the eigengap.",
        figures=("spiked-gap",),
        checks={Form.VALID: level("spiked-gap", names.GAUSS_1, factor=LEVEL)},
    ),
    Claim(
        where=GAP,
        says="k-DP-PCA is better than both forms of DP-Gauss at every gap.",
        figures=("spiked-gap",),
        checks=_k_dp_pca(lambda one: ahead(("spiked-gap",), one, (names.GAUSS_1, names.GAUSS_2))),
    ),
    Claim(
        where=SIGMA,
        says="Where noise is low, k-DP-PCA is clearly better than k-DP-Ojas.",
        figures=("spiked-sigma",),
        checks={
            Form.VALID: ahead_at("spiked-sigma", names.LITERAL, names.OJAS, end="first", factor=1 / NEARLY),
            Form.TRACKED: ahead_at("spiked-sigma", names.TRACKED_MEAN, names.OJAS, end="first", factor=1 / NEARLY),
        },
    ),
    Claim(
        where=SIGMA,
        says="Where noise is high, k-DP-Ojas matches k-DP-PCA or is better.",
        figures=("spiked-sigma",),
        checks=_ojas_beside(lambda one, other: ahead_at("spiked-sigma", one, other, end="last", factor=MATCHES)),
    ),
    Claim(
        where=f"{MAIN}, fig:k-dp-ojas",
        says="On spiked data the simpler k-DP-Ojas can match k-DP-PCA or be better.",
        figures=("ojas-spiked",),
        checks=_ojas_beside(
            lambda one, other: ahead(("ojas-spiked",), one, (other,), factor=MATCHES, somewhere=True)
        ),
    ),
    Claim(
        where=SIGMA,
        says="k-DP-Ojas stands wrong learning rates better than k-DP-PCA.",
        figures=("learning-rate",),
        checks={
            Form.VALID: less_level("learning-rate", names.LITERAL, names.OJAS),
            Form.TRACKED: less_level("learning-rate", names.TRACKED_MEAN_RATES, names.OJAS),
            Form.PRINTED: less_level("learning-rate", names.TRACKED_MEAN_RATES, names.OJAS_PRINTED),
        },
    ),
    Claim(
        where=MAIN,
        says="The eigenvalues that learning rates need can be had privately by the Gaussian mechanism.",
        note="Yes: [schedules.md](schedules.md) buys them and charges both runs to one ledger.",
    ),
    Claim(
        where=f"{MAIN}, fig:k-dp-ojas; {APPENDIX}",
        says="k-DP-Ojas stays effective with the rates 1/(1 + j), which know no eigenvalue.",
        figures=("ojas-spiked",),
        checks=_ojas(lambda one: reaches("ojas-spiked", one, zeta=EFFECTIVE)),
        note="Effective: zeta of .1, at the largest n it was run at. It takes a clip of lambda_1, far below the "
        "printed one.",
    ),
    Claim(
        where=f"{APPENDIX}, fig:placeholder",
        says="For other k and d, too, k-DP-PCA is better than the baselines.",
        figures=("grid-k-d",),
        checks=_k_dp_pca(lambda one: ahead(("grid-k-d",), one, BASELINES)),
        note="The paper shows this figure without comment.",
    ),
    Claim(
        where=APPENDIX,
        says="DP-Gauss-2 as it was run is not private where its gap is not positive; propose-test-release would "
        "be, and would cost more.",
        figures=("spiked-n-large-noise",),
        checks={Form.VALID: ahead(("spiked-n-large-noise",), names.GAUSS_2_PRINTED, (names.GAUSS_2,))},
        note="As printed it is not private at all: the noise on the gap does not grow with beta.",
    ),
    Claim(
        where=APPENDIX,
        says="B = sqrt(n) did better than B = n/log^3(n), which the theory asks for.",
        figures=("literal-choices",),
        checks={Form.VALID: ahead(("literal-choices",), names.LITERAL, (names.LITERAL_LOG_BATCHES,))},
        note="PrivMean needs about 10,500 samples in half a batch at d = 200; batches of both sizes are far "
        "smaller at these n.",
    ),
    Claim(
        where=GAUSSIAN,
        says="On Gaussian rows k-DP-PCA can still be better than earlier methods, above all as d grows.",
        figures=("gaussian-n", "gaussian-d"),
        checks=_k_dp_pca(lambda one: ahead(("gaussian-n", "gaussian-d"), one, BASELINES)),
        note="The baselines have a clip that holds every row; DP-Gauss-1 with a better one is below.",
    ),
    Claim(
        where=GAUSSIAN,
        says="k-DP-Ojas is about as good as k-DP-PCA there.",
        figures=("gaussian-n",),
        checks=_ojas_beside(lambda one, other: ahead(("gaussian-n",), one, (other,), factor=NEARLY)),
    ),
    Claim(
        where=GAUSSIAN,
        says="On Gaussian rows k-DP-Ojas is always better than the other methods: over n, eigengap and d.",
        figures=GAUSSIANS,
        checks=_ojas(lambda one: ahead(GAUSSIANS, one, BASELINES)),
    ),
    Claim(
        where=OURS,
        says="The same, where DP-Gauss-1 buys a clip that holds three quarters of the rows.",
        figures=GAUSSIANS,
        checks=_ojas(lambda one: ahead(GAUSSIANS, one, (names.GAUSS_1_BOUGHT,))),
    ),
    Claim(
        where=GAUSSIAN,
        says="k-DP-PCA needs its learning rates tuned with care.",
        figures=("learning-rate",),
        checks={
            Form.VALID: varies("learning-rate", names.LITERAL, factor=NEARLY),
            Form.TRACKED: varies("learning-rate", names.TRACKED_MEAN_RATES, factor=NEARLY),
        },
        note="Power steps, the default with the tracked mean, have no rate to tune.",
    ),
    Claim(
        where=GAUSSIAN,
        says="At moderate or high noise k-DP-PCA gains little over k-DP-Ojas.",
        figures=("spiked-sigma",),
        checks=_ojas_beside(lambda one, other: ahead_at("spiked-sigma", one, other, end="last", factor=NEARLY)),
    ),
    Claim(
        where=GAUSSIAN,
        says="k-DP-Ojas does well over a range of learning rates, without tuning.",
        figures=("learning-rate",),
        checks=_ojas(lambda one: level("learning-rate", one, factor=NEARLY)),
        note="Rates from a tenth to ten times the printed ones.",
    ),
    Claim(
        where=GAUSSIAN,
        says="So k-DP-Ojas is the one to prefer in practice.",
        note="An opinion, drawn from the claims above.",
    ),
    Claim(
        where=FURTHER,
        says="A threshold fixed in advance, in place of PrivRange, does away with most of the samples needed.",
        figures=("literal-choices",),
        checks={Form.VALID: learns_anywhere(("literal-choices",), names.LITERAL_FIXED, zeta=NOTHING_LEARNT)},
        note="The d histograms of PrivMean need about 10,500 samples in a batch at d = 200 by themselves.",
    ),
    Claim(
        where=OURS,
        says="The same with four batches per component, as large as four can be.",
        figures=("literal-choices",),
        checks={Form.VALID: learns_anywhere(("literal-choices",), names.LITERAL_FIXED_FOUR, zeta=NOTHING_LEARNT)},
    ),
    Claim(
        where=FURTHER,
        says="k-DP-PCA can do well with fewer samples than estimating its range takes.",
        figures=OVER_N,
        checks=_k_dp_pca(lambda one: learns_anywhere(OVER_N, one, zeta=EFFECTIVE)),
    ),
    Claim(
        where=FURTHER,
        says="Which range finder and mean estimator are plugged in matters a great deal in practice.",
        figures=OVER_N,
        checks={
            Form.VALID: ahead(OVER_N, names.TRACKED_MEAN, (names.LITERAL,), factor=1 / NEARLY, of_anything=True)
        },
    ),
)
