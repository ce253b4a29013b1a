"""Utility against n, Gaussian rows."""

from eigenveil.experiments.figure import Figure
from eigenveil.experiments.figures.gaussian import GAUSSIAN, METHODS
from eigenveil.experiments.names import OJAS_PRINTED

FIGURE = Figure(
    name="gaussian-n",
    title="Gaussian rows: more units",
    where="fig:ojas-utility-vs-sample-size (in fig:ojas-utility-wrt-n-eigengap-and-d)",
    paper="appendix on experiments, figure on Gaussian data (sample size)",
    says="k-DP-Ojas is better than the other methods at every n.",
    choice="n is not printed: 3,000 to 50,000, as far as time allows. The other eigenvalues are not printed "
    "either: all .1, after one trial run each with .1 and with 1.",
    axis="n",
    label="units n",
    values=(3_000, 10_000, 20_000, 50_000),
    quick=(1_000, 4_000),
    base=GAUSSIAN,
    methods=METHODS,
    only={OJAS_PRINTED: (3_000, 10_000, 20_000)},
)
