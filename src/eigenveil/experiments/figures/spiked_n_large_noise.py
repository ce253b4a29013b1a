"""Utility against n, spiked data with the larger noise."""

from eigenveil.experiments.figure import Figure
from eigenveil.experiments.methods import EVERY
from eigenveil.experiments.names import OJAS_PRINTED, POWER_PRINTED
from eigenveil.experiments.setting import Setting

FIGURE = Figure(
    name="spiked-n-large-noise",
    title="Spiked covariance, sigma = .025: more units",
    where="fig:sigma-bigger (in fig:kdppca)",
    paper="Experiments, first figure (sigma = .025)",
    says="k-DP-PCA is better than all baselines at every n.",
    choice="n is not printed: 1,000 to 30,000, over which all methods except the literal form improve. "
    "DP-Power-Method is also shown with the printed noise scale.",
    axis="n",
    label="units n",
    values=(1_000, 3_000, 10_000, 30_000),
    quick=(500, 2_000),
    base=Setting(sigma=0.025),
    methods=(*EVERY, POWER_PRINTED),
    only={OJAS_PRINTED: (1_000, 3_000, 10_000)},
)
