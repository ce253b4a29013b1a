"""The browser, for tests of how a report looks."""

from support.browser import browser_page

__all__ = ["browser_page"]
