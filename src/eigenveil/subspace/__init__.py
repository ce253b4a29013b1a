"""Algorithms for k components: tracked PCA, deflation over oracles, and baselines that release a matrix."""

from eigenveil.subspace.black_box_pca import black_box_pca
from eigenveil.subspace.dp_gauss_1 import dp_gauss_1
from eigenveil.subspace.dp_gauss_2 import dp_gauss_2
from eigenveil.subspace.dp_power_method import dp_power_method
from eigenveil.subspace.k_dp_ojas import k_dp_ojas
from eigenveil.subspace.k_dp_pca import k_dp_pca
from eigenveil.subspace.oja import oja
from eigenveil.subspace.release import Release
from eigenveil.subspace.tracked import tracked_pca
from eigenveil.subspace.tracked_stream import TrackedStream

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
