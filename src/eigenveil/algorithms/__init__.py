"""Algorithms for k components: tracked PCA, deflation over oracles, and baselines that release a matrix."""

from eigenveil.algorithms.baselines.dp_gauss_1 import dp_gauss_1
from eigenveil.algorithms.baselines.dp_gauss_2 import dp_gauss_2
from eigenveil.algorithms.baselines.dp_power_method import dp_power_method
from eigenveil.algorithms.deflation.black_box_pca import black_box_pca
from eigenveil.algorithms.deflation.k_dp_ojas import k_dp_ojas
from eigenveil.algorithms.deflation.k_dp_pca import k_dp_pca
from eigenveil.algorithms.deflation.oja import oja
from eigenveil.algorithms.release import Release
from eigenveil.algorithms.stream.tracked_stream import TrackedStream
from eigenveil.algorithms.tracked import tracked_pca

__all__ = [
    "Release",
    "TrackedStream",
    "black_box_pca",
    "dp_gauss_1",
    "dp_gauss_2",
    "dp_power_method",
    "k_dp_ojas",
    "k_dp_pca",
    "oja",
    "tracked_pca",
]
