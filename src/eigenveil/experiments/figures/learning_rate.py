"""Learning rates that are too small or too large."""

from eigenveil.experiments.figure import Figure
from eigenveil.experiments.names import (
    LITERAL,
    OJAS,
    OJAS_PRINTED,
    PLAIN,
    TRACKED,
    TRACKED_MEAN,
    TRACKED_MEAN_RATES,
)
from eigenveil.experiments.setting import Setting

FIGURE = Figure(
    name="learning-rate",
    title="Spiked covariance, n = 10,000, sigma = .025: other learning rates",
    where="sec-appendix-experiments and sec:experiments, text only",
    paper="Experiments and the appendix on experiments, text only",
    says="k-DP-Ojas does well over a range of learning rates; k-DP-PCA needs careful tuning.",
    choice="The paper has no figure for this. All rates are multiplied by .1 to 10. Methods without rates are "
    "shown for comparison. k-DP-PCA with the tracked mean is shown with the experiments' rates and with power "
    "steps.",
    axis="rate",
    label="factor on the printed learning rates",
    values=(0.1, 0.3, 1.0, 3.0, 10.0),
    quick=(0.1, 10.0, 1.0),
    base=Setting(n=10_000, sigma=0.025),
    methods=(PLAIN, LITERAL, TRACKED_MEAN_RATES, TRACKED_MEAN, OJAS, TRACKED, OJAS_PRINTED),
    only={OJAS_PRINTED: (0.1, 1.0, 10.0)},
)
