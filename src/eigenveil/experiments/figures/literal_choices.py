"""Batch sizes and ranges of the literal k-DP-PCA."""

from eigenveil.experiments.figure import Figure
from eigenveil.experiments.names import LITERAL, LITERAL_FIXED, LITERAL_FIXED_FOUR, LITERAL_LOG_BATCHES, PLAIN
from eigenveil.experiments.setting import Setting

FIGURE = Figure(
    name="literal-choices",
    title="Spiked covariance, sigma = .025: batches and ranges of the literal k-DP-PCA",
    where="sec-appendix-experiments, text only",
    paper="appendix on experiments, text only",
    says="B = sqrt(n) did better than n/log^3(n); a threshold fixed in advance removes most of the samples that "
    "range finding needs.",
    choice="The paper has no figure for this. n = 10,000 and 100,000. The fixed threshold is the true one, and is "
    "also shown with four large batches.",
    axis="n",
    label="units n",
    values=(10_000, 100_000),
    quick=(500, 2_000),
    base=Setting(sigma=0.025),
    methods=(PLAIN, LITERAL, LITERAL_LOG_BATCHES, LITERAL_FIXED, LITERAL_FIXED_FOUR),
)
