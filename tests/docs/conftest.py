"""Noise that is the same in every run; commands and the site run in processes of their own, with real noise."""

from support.fixed_noise import noise_of_a_test, noise_of_shared_fixtures

__all__ = ["noise_of_a_test", "noise_of_shared_fixtures"]
