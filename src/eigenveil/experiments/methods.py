"""Methods shown as curves: their names, whether they are private, and in which trials they run."""

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
        Name in files and options; label in plots.
    private : bool
        Whether the method would be private without a seed.
    what : str
        How the method is run, in one sentence.
    has_rates : bool
        Whether the method uses learning rates.
    one_in : int
        Run the method in one of this many trials. Slow methods have fewer trials per point.
    """

    name: str
    label: str
    private: bool
    what: str
    has_rates: bool = False
    one_in: int = 1

    @property
    def fit(self) -> Fit | None:
        """Function that runs the method; None for a bound, which is computed directly."""
        return FITS.get(self.name)

    def trials(self, requested: int) -> int:
        """Return the number of trials of this method out of `requested` trials; at least 2 if possible.

        Examples
        --------
        >>> slow = METHODS["k-dp-ojas-printed"]
        >>> [slow.trials(requested) for requested in (1, 2, 50)], METHODS["gauss-1"].trials(50)
        ([1, 2, 5], 50)
        """
        return 0 if self.fit is None else min(requested, max(2, requested // self.one_in))


METHODS = {
    method.name: method
    for method in (
        Method(
            name=names.PLAIN,
            label="PCA, not private",
            private=False,
            what="eigenvectors of the mean of all units: the error of the sample alone",
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
            what="receives no clip: it buys one that exceeds the norm of three quarters of the units",
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
            what="as printed, with the batch size that the theory requires; in one of ten trials, as it is slow",
            has_rates=True,
            one_in=10,
        ),
        Method(
            name=names.LITERAL_FIXED,
            label="k-DP-PCA, range fixed",
            private=True,
            what="PrivMean alone, with the true top eigenvalue of the gradients' covariance; B = sqrt(n); in one "
            "of ten trials",
            has_rates=True,
            one_in=10,
        ),
        Method(
            name=names.LITERAL_FIXED_FOUR,
            label="k-DP-PCA, range fixed, four batches",
            private=True,
            what="the same with four batches per component, the largest possible; in one of ten trials",
            has_rates=True,
            one_in=10,
        ),
        Method(
            name=names.TRACKED_MEAN,
            label="k-DP-PCA, tracked mean",
            private=True,
            what="one radius search and a tracked centre instead of PrivRange and PrivMean; power steps",
        ),
        Method(
            name=names.TRACKED_MEAN_RATES,
            label="k-DP-PCA, tracked mean, rates",
            private=True,
            what="the same with the experiments' learning rates instead of power steps",
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
            what="`tracked_pca`, which receives no public information about the data",
        ),
        Method(
            name=names.OJAS_PRINTED,
            label="k-DP-Ojas, printed noise: NOT PRIVATE",
            private=False,
            what="one unit per step, noise multiplier as printed with C' = 1, clip lambda_1, rates 1/(1 + j); in "
            "one of ten trials, as it is slow",
            has_rates=True,
            one_in=10,
        ),
        Method(
            name=names.GAUSS_2_PRINTED,
            label="DP-Gauss-2 as printed: NOT PRIVATE",
            private=False,
            what="noise on the gap does not scale with beta, and is drawn again if the gap is not positive",
        ),
        Method(
            name=names.BOUND,
            label="paper's lower bound (rate)",
            private=False,
            what="corollary-lower-bound-spiked-cov for Gaussian rows, with its unknown constant set to 1",
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
"""Default curves of a figure."""
