"""Baselines: the Gaussian mechanism on the covariance, and the private power method."""
