"""The browser, for tests of how a report looks, and noise that is the same in every run."""

from support.browser import browser_page
from support.fixed_noise import noise_of_a_test, noise_of_shared_fixtures

__all__ = ["browser_page", "noise_of_a_test", "noise_of_shared_fixtures"]
