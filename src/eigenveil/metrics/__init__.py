"""Metrics of components against a known true covariance. Not private: for studies, never for releases."""

from eigenveil.metrics.angles import projector_distance, sin_angle
from eigenveil.metrics.energy import energy_ratio, zeta

__all__ = ["energy_ratio", "projector_distance", "sin_angle", "zeta"]
