"""Utility against the noise level, spiked data."""

from eigenveil.experiments.figure import Figure
from eigenveil.experiments.names import OJAS_PRINTED
from eigenveil.experiments.setting import Setting

FIGURE = Figure(
    name="spiked-sigma",
    title="Spiked covariance, n = 10,000: more noise",
    where="fig:increasing-sigma (in fig:kdpojas-kdppca)",
    paper="Experiments, second figure (varying noise level)",
    says="k-DP-PCA is far better than k-DP-Ojas at low noise; at high noise k-DP-Ojas matches it or is better.",
    choice="sigma is not printed: from .001, the smallest in the paper, to 1, where sigma^2 is a fifth of "
    "lambda_2; n = 10,000.",
    axis="sigma",
    label="noise sigma",
    values=(0.001, 0.025, 0.1, 0.3, 1.0),
    quick=(0.001, 0.3),
    base=Setting(n=10_000),
    only={OJAS_PRINTED: (0.001, 0.025, 0.3, 1.0)},
)
