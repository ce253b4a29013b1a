"""Utility against the dimension, spiked data."""

from eigenveil.experiments.figure import Figure
from eigenveil.experiments.names import OJAS_PRINTED
from eigenveil.experiments.setting import Setting

FIGURE = Figure(
    name="spiked-d",
    title="Spiked covariance, n = 10,000: more dimensions",
    where="fig:impact of d (in fig:kdppca)",
    paper="Experiments, first figure (growing dimension)",
    says="The error of the baselines grows faster with d than that of k-DP-PCA: like d^1.5 instead of d.",
    choice="n, sigma and d are not printed: n = 10,000 and sigma = .025, where all methods except the literal "
    "form learn; d doubles from 50 to 400 around the paper's 200.",
    axis="d",
    label="dimensions d",
    values=(50, 100, 200, 400),
    quick=(15, 60),
    base=Setting(n=10_000, sigma=0.025),
    only={OJAS_PRINTED: (50, 200)},
)
