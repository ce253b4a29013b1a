"""Claims of the paper's experiment sections, in our words, and the checks that test them."""

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
"""Threshold on zeta for "effective". A zeta of .1 is a loss of 1 % of the energy."""
BASELINES = (names.GAUSS_1, names.GAUSS_2, names.POWER)
OURS = "not in the paper"
MAIN = "Experiments"
GAP, SIGMA = f"{MAIN}, figure on the eigengap", f"{MAIN}, figure on the noise level"
APPENDIX = "Appendix on experiments"
GAUSSIAN, FURTHER = f"{APPENDIX}, Gaussian data", f"{APPENDIX}, further comments"
OVER_N = ("spiked-n-large-noise", "spiked-n-small-noise")
GAUSSIANS = ("gaussian-n", "gaussian-gap", "gaussian-d")


def _k_dp_pca(check: Callable[[str], Check]) -> dict[Form, Check]:
    """Return the checks of a claim on k-DP-PCA, in both of its forms."""
    return {Form.VALID: check(names.LITERAL), Form.TRACKED: check(names.TRACKED_MEAN)}


def _ojas(check: Callable[[str], Check]) -> dict[Form, Check]:
    """Return the checks of a claim on k-DP-Ojas alone, with valid and with printed noise."""
    return {Form.VALID: check(names.OJAS), Form.PRINTED: check(names.OJAS_PRINTED)}


def _ojas_and_k_dp_pca(check: Callable[[str, str], Check]) -> dict[Form, Check]:
    """Return the checks of a claim that compares k-DP-Ojas with k-DP-PCA."""
    return {
        Form.VALID: check(names.OJAS, names.LITERAL),
        Form.TRACKED: check(names.OJAS, names.TRACKED_MEAN),
        Form.PRINTED: check(names.OJAS_PRINTED, names.TRACKED_MEAN),
    }


def _gauss_2(check: Callable[[str], Check]) -> dict[Form, Check]:
    """Return the checks of a claim on DP-Gauss-2, with valid and with printed noise."""
    return {Form.VALID: check(names.GAUSS_2), Form.PRINTED: check(names.GAUSS_2_PRINTED)}


CLAIMS = (
    Claim(
        where=MAIN,
        says="Dividing rows by the largest norm among them is not private; dividing each by its own norm is, but "
        "biases the covariance. So rows are clipped.",
        note="A theoretical argument, and correct. All baselines here clip.",
    ),
    Claim(
        where=MAIN,
        says="The power method with its l1 clip is outperformed by both forms of DP-Gauss.",
        figures=("spiked-n-large-noise",),
        checks={
            Form.VALID: ahead(("spiked-n-large-noise",), names.GAUSS_2, (names.POWER_PRINTED,)),
            Form.PRINTED: ahead(("spiked-n-large-noise",), names.GAUSS_2_PRINTED, (names.POWER_PRINTED,)),
        },
        note="DP-Gauss-2 is the weaker of the two. The power method uses the printed noise scale here.",
    ),
    Claim(
        where=OURS,
        says="The same, if the power method uses the smaller noise scale that suffices for privacy.",
        figures=OVER_N,
        checks=_gauss_2(lambda one: ahead(OVER_N, one, (names.POWER,))),
    ),
    Claim(
        where=MAIN,
        says="k-DP-PCA is better than all baselines at every n, for large and small noise.",
        figures=OVER_N,
        checks=_k_dp_pca(lambda one: ahead(OVER_N, one, BASELINES)),
    ),
    Claim(
        where=MAIN,
        says="The lead of k-DP-PCA grows when the noise is far below the signal.",
        figures=OVER_N,
        checks=_k_dp_pca(lambda one: widens(*OVER_N, one, names.GAUSS_1)),
    ),
    Claim(
        where=f"{MAIN}, figure on the dimension",
        says="With growing d, both DP-Gauss and the power method get worse faster than k-DP-PCA.",
        figures=("spiked-d",),
        checks=_k_dp_pca(lambda one: slower("spiked-d", one, BASELINES)),
    ),
    Claim(
        where=f"{MAIN}, figure on the dimension",
        says="The baselines' error grows like d^1.5, that of k-DP-PCA like d.",
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
        says="At low noise, k-DP-PCA is clearly better than k-DP-Ojas.",
        figures=("spiked-sigma",),
        checks={
            Form.VALID: ahead_at("spiked-sigma", names.LITERAL, names.OJAS, end="first", factor=1 / NEARLY),
            Form.TRACKED: ahead_at("spiked-sigma", names.TRACKED_MEAN, names.OJAS, end="first", factor=1 / NEARLY),
        },
    ),
    Claim(
        where=SIGMA,
        says="At high noise, k-DP-Ojas matches k-DP-PCA or is better.",
        figures=("spiked-sigma",),
        checks=_ojas_and_k_dp_pca(
            lambda one, other: ahead_at("spiked-sigma", one, other, end="last", factor=MATCHES)
        ),
    ),
    Claim(
        where=f"{MAIN}, figure on k-DP-Ojas",
        says="On spiked data the simpler k-DP-Ojas can match k-DP-PCA or be better.",
        figures=("ojas-spiked",),
        checks=_ojas_and_k_dp_pca(
            lambda one, other: ahead(("ojas-spiked",), one, (other,), factor=MATCHES, somewhere=True)
        ),
    ),
    Claim(
        where=SIGMA,
        says="k-DP-Ojas is more robust to wrong learning rates than k-DP-PCA.",
        figures=("learning-rate",),
        checks={
            Form.VALID: less_level("learning-rate", names.LITERAL, names.OJAS),
            Form.TRACKED: less_level("learning-rate", names.TRACKED_MEAN_RATES, names.OJAS),
            Form.PRINTED: less_level("learning-rate", names.TRACKED_MEAN_RATES, names.OJAS_PRINTED),
        },
    ),
    Claim(
        where=MAIN,
        says="The eigenvalues that learning rates need can be estimated privately with the Gaussian mechanism.",
        note="Yes: [schedules.md](schedules.md) buys the eigenvalues and charges both runs to one ledger.",
    ),
    Claim(
        where=f"{MAIN}, figure on k-DP-Ojas; {APPENDIX}",
        says="k-DP-Ojas stays effective with the rates 1/(1 + j), which do not depend on eigenvalues.",
        figures=("ojas-spiked",),
        checks=_ojas(lambda one: reaches("ojas-spiked", one, zeta=EFFECTIVE)),
        note="Effective means a zeta of at most .1, at the largest n that was run. This needs a clip of lambda_1, "
        "far below the printed one.",
    ),
    Claim(
        where=f"{APPENDIX}, figure for varying k and d",
        says="k-DP-PCA is better than the baselines for other k and d too.",
        figures=("grid-k-d",),
        checks=_k_dp_pca(lambda one: ahead(("grid-k-d",), one, BASELINES)),
        note="The paper shows this figure without comment.",
    ),
    Claim(
        where=APPENDIX,
        says="DP-Gauss-2 as run in the paper is not private if its gap is not positive. Propose-test-release "
        "would be private, at a higher cost.",
        figures=("spiked-n-large-noise",),
        checks={Form.VALID: ahead(("spiked-n-large-noise",), names.GAUSS_2_PRINTED, (names.GAUSS_2,))},
        note="As printed it is never private: the noise on the gap does not scale with beta.",
    ),
    Claim(
        where=APPENDIX,
        says="Batch size B = sqrt(n) did better than B = n/log^3(n), which the theory requires.",
        figures=("literal-choices",),
        checks={Form.VALID: ahead(("literal-choices",), names.LITERAL, (names.LITERAL_LOG_BATCHES,))},
        note="PrivMean needs about 10,500 samples in half a batch at d = 200. Batches of both sizes are far "
        "smaller at these n.",
    ),
    Claim(
        where=GAUSSIAN,
        says="On Gaussian rows k-DP-PCA can still be better than earlier methods, especially as d grows.",
        figures=("gaussian-n", "gaussian-d"),
        checks=_k_dp_pca(lambda one: ahead(("gaussian-n", "gaussian-d"), one, BASELINES)),
        note="The baselines have a clip that exceeds the norm of every row. A claim below has DP-Gauss-1 with a "
        "better clip.",
    ),
    Claim(
        where=GAUSSIAN,
        says="On Gaussian rows k-DP-Ojas is about as good as k-DP-PCA.",
        figures=("gaussian-n",),
        checks=_ojas_and_k_dp_pca(lambda one, other: ahead(("gaussian-n",), one, (other,), factor=NEARLY)),
    ),
    Claim(
        where=GAUSSIAN,
        says="On Gaussian rows k-DP-Ojas is always better than the other methods: over n, eigengap and d.",
        figures=GAUSSIANS,
        checks=_ojas(lambda one: ahead(GAUSSIANS, one, BASELINES)),
    ),
    Claim(
        where=OURS,
        says="The same, if DP-Gauss-1 buys a clip that exceeds the norm of three quarters of the rows.",
        figures=GAUSSIANS,
        checks=_ojas(lambda one: ahead(GAUSSIANS, one, (names.GAUSS_1_BOUGHT,))),
    ),
    Claim(
        where=GAUSSIAN,
        says="The learning rates of k-DP-PCA need careful tuning.",
        figures=("learning-rate",),
        checks={
            Form.VALID: varies("learning-rate", names.LITERAL, factor=NEARLY),
            Form.TRACKED: varies("learning-rate", names.TRACKED_MEAN_RATES, factor=NEARLY),
        },
        note="Power steps, the default with the tracked mean, have no learning rate to tune.",
    ),
    Claim(
        where=GAUSSIAN,
        says="At moderate or high noise k-DP-PCA is little better than k-DP-Ojas.",
        figures=("spiked-sigma",),
        checks=_ojas_and_k_dp_pca(
            lambda one, other: ahead_at("spiked-sigma", one, other, end="last", factor=NEARLY)
        ),
    ),
    Claim(
        where=GAUSSIAN,
        says="k-DP-Ojas does well over a range of learning rates, without tuning.",
        figures=("learning-rate",),
        checks=_ojas(lambda one: level("learning-rate", one, factor=NEARLY)),
        note="Tested with rates from a tenth to ten times the printed ones.",
    ),
    Claim(
        where=GAUSSIAN,
        says="So k-DP-Ojas is preferable in practice.",
        note="An opinion, based on the claims above.",
    ),
    Claim(
        where=FURTHER,
        says="A threshold fixed in advance, instead of PrivRange, removes most of the required samples.",
        figures=("literal-choices",),
        checks={Form.VALID: learns_anywhere(("literal-choices",), names.LITERAL_FIXED, zeta=NOTHING_LEARNT)},
        note="The d histograms of PrivMean alone need about 10,500 samples in a batch at d = 200.",
    ),
    Claim(
        where=OURS,
        says="The same with four batches per component, the largest possible.",
        figures=("literal-choices",),
        checks={Form.VALID: learns_anywhere(("literal-choices",), names.LITERAL_FIXED_FOUR, zeta=NOTHING_LEARNT)},
    ),
    Claim(
        where=FURTHER,
        says="k-DP-PCA can do well with fewer samples than its range estimation needs.",
        figures=OVER_N,
        checks=_k_dp_pca(lambda one: learns_anywhere(OVER_N, one, zeta=EFFECTIVE)),
    ),
    Claim(
        where=FURTHER,
        says="The choice of range finder and mean estimator matters a great deal in practice.",
        figures=OVER_N,
        checks={
            Form.VALID: ahead(OVER_N, names.TRACKED_MEAN, (names.LITERAL,), factor=1 / NEARLY, of_anything=True)
        },
    ),
)
