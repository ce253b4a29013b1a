"""All figures, in the order of the paper. Each file contains the definition of one figure."""

from eigenveil.experiments.figure import Figure
from eigenveil.experiments.figures import (
    gaussian_d,
    gaussian_gap,
    gaussian_n,
    grid_k_d,
    learning_rate,
    literal_choices,
    ojas_spiked,
    spiked_d,
    spiked_gap,
    spiked_n_large_noise,
    spiked_n_small_noise,
    spiked_sigma,
)

FIGURES: dict[str, Figure] = {
    module.FIGURE.name: module.FIGURE
    for module in (
        spiked_n_large_noise,
        spiked_n_small_noise,
        spiked_d,
        spiked_gap,
        spiked_sigma,
        ojas_spiked,
        grid_k_d,
        gaussian_n,
        gaussian_gap,
        gaussian_d,
        learning_rate,
        literal_choices,
    )
}
