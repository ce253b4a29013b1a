"""Other k and d, spiked data."""

from eigenveil.experiments.figure import Figure
from eigenveil.experiments.names import OJAS_PRINTED
from eigenveil.experiments.setting import Setting

FIGURE = Figure(
    name="grid-k-d",
    title="Spiked covariance, n = 10,000, sigma = .025: other k and d",
    where="fig:placeholder (appendix)",
    paper="appendix on experiments, figure for varying k and d",
    says="No comment; the figure shows the same methods for other k and d.",
    choice="k, d, n and sigma are not printed: k = 2, 3, 5 with spikes evenly spaced from 10 to 5, d = 50, 100, "
    "200, n = 10,000, sigma = .025. k = 1 is excluded, because its data model differs.",
    axis="k",
    label="components k",
    values=(2, 3, 5),
    quick=(2, 3),
    panel="d",
    panels=(50, 100, 200),
    quick_panels=(15, 30),
    base=Setting(n=10_000, sigma=0.025),
    only={OJAS_PRINTED: (2, 5)},
    bars="sd",
    linear=True,
)
