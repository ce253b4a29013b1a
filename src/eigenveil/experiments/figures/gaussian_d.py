"""Utility against the dimension, Gaussian rows."""

from eigenveil.experiments.figure import Figure
from eigenveil.experiments.figures.gaussian import GAUSSIAN, METHODS
from eigenveil.experiments.names import OJAS_PRINTED

FIGURE = Figure(
    name="gaussian-d",
    title="Gaussian rows, n = 20,000: more dimensions",
    where="fig:gaussian-data-impact-of-d (in fig:ojas-utility-wrt-n-eigengap-and-d)",
    paper="appendix on experiments, figure on Gaussian data (dimension)",
    says="k-DP-Ojas is better than the other methods at every d.",
    choice="d and n are not printed: d doubles from 50 to 400 around the paper's 200, at n = 20,000.",
    axis="d",
    label="dimensions d",
    values=(50, 100, 200, 400),
    quick=(15, 60),
    base=GAUSSIAN,
    quick_base={"n": 4_000},
    methods=METHODS,
    only={OJAS_PRINTED: (50, 200)},
)
