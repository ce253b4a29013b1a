"""Utility against the eigengap, spiked data."""

from eigenveil.experiments.figure import Figure
from eigenveil.experiments.names import OJAS_PRINTED
from eigenveil.experiments.setting import Setting

FIGURE = Figure(
    name="spiked-gap",
    title="Spiked covariance, n = 10,000, sigma = .025: a wider eigengap",
    where="fig:varying-eigengap (in fig:kdpojas-kdppca)",
    paper="Experiments, second figure (increasing eigengap)",
    says="DP-Gauss-2 improves with the gap and nearly reaches k-DP-PCA; DP-Gauss-1 hardly changes; k-DP-PCA is "
    "best at every gap.",
    choice="Values of the gap, n and sigma are not printed: lambda_2 ranges from .5 to 9 with lambda_1 = 10 "
    "fixed, at n = 10,000 and sigma = .025.",
    axis="gap",
    label="eigengap lambda_2 - lambda_3",
    values=(0.5, 1.0, 2.0, 5.0, 9.0),
    quick=(1.0, 9.0),
    base=Setting(n=10_000, sigma=0.025),
    only={OJAS_PRINTED: (1.0, 5.0, 9.0)},
)
