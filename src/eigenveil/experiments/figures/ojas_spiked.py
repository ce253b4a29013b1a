"""k-DP-Ojas against n, spiked data."""

from eigenveil.experiments.figure import Figure
from eigenveil.experiments.names import OJAS_PRINTED
from eigenveil.experiments.setting import Setting

FIGURE = Figure(
    name="ojas-spiked",
    title="Spiked covariance, sigma = .025: k-DP-Ojas, up to n = 100,000",
    where="fig:k-dp-ojas (in fig:kdpojas-kdppca)",
    paper="Experiments, second figure (sigma = .025)",
    says="The simpler k-DP-Ojas stays effective without knowing eigenvalues, and can match or beat k-DP-PCA.",
    choice="n is not printed: the values of spiked-n-large-noise, and 100,000, where k-DP-Ojas with valid noise "
    "has learnt. With the printed noise it takes one step per unit, so it is run up to n = 10,000 only.",
    axis="n",
    label="units n",
    values=(1_000, 3_000, 10_000, 30_000, 100_000),
    quick=(500, 2_000),
    base=Setting(sigma=0.025),
    only={OJAS_PRINTED: (1_000, 3_000, 10_000)},
)
