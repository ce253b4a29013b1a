"""Exact noise and private mechanisms: counts, sums, means, histograms. Independent of principal components."""

from eigenveil.mechanisms.clipped_mean import AtQuantile, Given, clipped_mean
from eigenveil.mechanisms.clipped_sum import noisy_clipped_sum
from eigenveil.mechanisms.count import Census, noisy_census, noisy_count, noisy_count_within
from eigenveil.mechanisms.histogram import stability_histogram
from eigenveil.mechanisms.left_out import NoisyLeftOut, noisy_left_out
from eigenveil.mechanisms.noise.byte_source import ByteSource, SeededBytes, no_noise, system_bytes
from eigenveil.mechanisms.noise.noisy import Noisy, NoisyMean, NoisySum, Radius
from eigenveil.mechanisms.noise.veil import Grant, Veil
from eigenveil.mechanisms.paper.propose_test_release import propose_test_release
from eigenveil.mechanisms.radius import radius_search

__all__ = [
    "AtQuantile",
    "ByteSource",
    "Census",
    "Given",
    "Grant",
    "Noisy",
    "NoisyLeftOut",
    "NoisyMean",
    "NoisySum",
    "Radius",
    "SeededBytes",
    "Veil",
    "clipped_mean",
    "no_noise",
    "noisy_census",
    "noisy_clipped_sum",
    "noisy_count",
    "noisy_count_within",
    "noisy_left_out",
    "propose_test_release",
    "radius_search",
    "stability_histogram",
    "system_bytes",
]
