"""The curves: what they are called, what they are worth, and when they are run."""

from __future__ import annotations

from dataclasses import dataclass

from eigenveil.experiments import names
from eigenveil.experiments.fits import FITS, Fit


@dataclass(frozen=True, kw_only=True)
class Method:
    """One curve.

    Parameters
    ----------
    name, label : str
        In files and options; in pictures.
    private : bool
        Whether it would be private if it were not seeded.
    what : str
        How it is run, in a sentence.
    has_rates : bool
        Whether learning rates matter to it.
    one_in : int
        It is run in one of so many trials: slow methods, whose curves then rest on fewer.
    """

    name: str
    label: str
    private: bool
    what: str
    has_rates: bool = False
    one_in: int = 1

    @property
    def fit(self) -> Fit | None:
        """How it is run; None for a bound, which is computed and not run."""
        return FITS.get(self.name)

    def trials(self, asked: int) -> int:
        """How many of the trials asked for it is run in; at least 2 of them.

        Examples
        --------
        >>> slow = METHODS["k-dp-ojas-printed"]
        >>> [slow.trials(asked) for asked in (1, 2, 50)], METHODS["gauss-1"].trials(50)
        ([1, 2, 5], 50)
        """
        return 0 if self.fit is None else min(asked, max(2, asked // self.one_in))


METHODS = {
    method.name: method
    for method in (
        Method(
            name=names.PLAIN,
            label="PCA, not private",
            private=False,
            what="eigenvectors of the mean of all units: the floor that the sample sets",
        ),
        Method(
            name=names.GAUSS_1,
            label="DP-Gauss-1",
            private=True,
            what="the paper's clip, exact noise",
        ),
        Method(
            name=names.GAUSS_1_BOUGHT,
            label="DP-Gauss-1, clip bought",
            private=True,
            what="handed nothing: a clip that holds three quarters of the units is bought",
        ),
        Method(
            name=names.GAUSS_2,
            label="DP-Gauss-2 (PTR)",
            private=True,
            what="the paper's clip, propose-test-release on the eigengap",
        ),
        Method(
            name=names.POWER,
            label="DP-Power-Method",
            private=True,
            what="the paper's clip beta, noise for beta^2; rounds from the true spectrum",
        ),
        Method(
            name=names.POWER_PRINTED,
            label="DP-Power-Method, printed scale",
            private=True,
            what="noise for alpha beta, as printed, which is private too",
        ),
        Method(
            name=names.LITERAL,
            label="k-DP-PCA as printed",
            private=True,
            what="PrivRange and PrivMean, B = sqrt(n), K = a = C1 = 1, the experiments' learning rates",
            has_rates=True,
        ),
        Method(
            name=names.LITERAL_LOG_BATCHES,
            label="k-DP-PCA, B = n/log^3 n",
            private=True,
            what="as printed, with the batches that the theory asks for; in one of ten trials, as it is slow",
            has_rates=True,
            one_in=10,
        ),
        Method(
            name=names.LITERAL_FIXED,
            label="k-DP-PCA, range fixed",
            private=True,
            what="PrivMean alone, handed the true top eigenvalue of the gradients' spread; B = sqrt(n); in one of "
            "ten trials",
            has_rates=True,
            one_in=10,
        ),
        Method(
            name=names.LITERAL_FIXED_FOUR,
            label="k-DP-PCA, range fixed, four batches",
            private=True,
            what="the same with four batches per component, as large as four can be; in one of ten trials",
            has_rates=True,
            one_in=10,
        ),
        Method(
            name=names.TRACKED_MEAN,
            label="k-DP-PCA, tracked mean",
            private=True,
            what="one radius search and a tracked centre in place of PrivRange and PrivMean; power steps",
        ),
        Method(
            name=names.TRACKED_MEAN_RATES,
            label="k-DP-PCA, tracked mean, rates",
            private=True,
            what="the same with the experiments' learning rates in place of power steps",
            has_rates=True,
        ),
        Method(
            name=names.OJAS,
            label="k-DP-Ojas, valid noise",
            private=True,
            what="disjoint batches, clip lambda_1, rates 1/(1 + j)",
            has_rates=True,
        ),
        Method(
            name=names.TRACKED,
            label="tracked block (ours)",
            private=True,
            what="`tracked_pca`, handed nothing",
        ),
        Method(
            name=names.OJAS_PRINTED,
            label="k-DP-Ojas, printed noise: NOT PRIVATE",
            private=False,
            what="one unit a step, noise multiplier as printed with C' = 1, clip lambda_1, rates 1/(1 + j); in "
            "one of ten trials, as it is slow",
            has_rates=True,
            one_in=10,
        ),
        Method(
            name=names.GAUSS_2_PRINTED,
            label="DP-Gauss-2 as printed: NOT PRIVATE",
            private=False,
            what="noise on the gap without beta, drawn again where the gap is not positive",
        ),
        Method(
            name=names.BOUND,
            label="paper's lower bound (rate)",
            private=False,
            what="corollary-lower-bound-spiked-cov for Gaussian rows, its unknown constant taken as 1",
        ),
    )
}

EVERY = (
    names.PLAIN,
    names.GAUSS_1,
    names.GAUSS_2,
    names.POWER,
    names.LITERAL,
    names.TRACKED_MEAN,
    names.OJAS,
    names.TRACKED,
    names.OJAS_PRINTED,
    names.GAUSS_2_PRINTED,
    names.BOUND,
)
"""The curves that a figure has unless it says otherwise."""
