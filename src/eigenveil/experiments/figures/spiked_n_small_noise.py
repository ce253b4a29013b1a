"""Utility against n, spiked data with the smaller noise."""

from eigenveil.experiments.figure import Figure
from eigenveil.experiments.names import OJAS_PRINTED
from eigenveil.experiments.setting import Setting

FIGURE = Figure(
    name="spiked-n-small-noise",
    title="Spiked covariance, sigma = .001: more units",
    where="fig:sigma-smaller (in fig:kdppca)",
    paper="Experiments, first figure (sigma = .001)",
    says="k-DP-PCA is better than all baselines at every n, by more than at sigma = .025.",
    choice="n as in spiked-n-large-noise, so that the two figures can be compared.",
    axis="n",
    label="units n",
    values=(1_000, 3_000, 10_000, 30_000),
    quick=(500, 2_000),
    base=Setting(sigma=0.001),
    only={OJAS_PRINTED: (1_000, 3_000, 10_000)},
)
