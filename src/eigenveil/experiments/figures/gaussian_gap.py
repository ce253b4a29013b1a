"""Utility against the eigengap, Gaussian rows."""

from eigenveil.experiments.figure import Figure
from eigenveil.experiments.figures.gaussian import GAUSSIAN, METHODS
from eigenveil.experiments.names import OJAS_PRINTED

FIGURE = Figure(
    name="gaussian-gap",
    title="Gaussian rows, n = 20,000: a wider eigengap",
    where="fig:ojas-utility-vs-eigengap (in fig:ojas-utility-wrt-n-eigengap-and-d)",
    paper="appendix on experiments, figure on Gaussian data (eigengap)",
    says="k-DP-Ojas is better than the other methods at every eigengap.",
    choice="Values of the gap and n are not printed: .5 to 9 with lambda_1 = 10 fixed, at n = 20,000.",
    axis="gap",
    label="eigengap lambda_2 - lambda_3",
    values=(0.5, 2.0, 5.0, 9.0),
    quick=(1.0, 9.0),
    base=GAUSSIAN,
    quick_base={"n": 4_000},
    methods=METHODS,
    only={OJAS_PRINTED: (0.5, 5.0, 9.0)},
)
