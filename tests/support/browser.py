"""Chromium for tests of pages, driven by Playwright. Tests are skipped, with the reason, where either is missing.

A test package gets the fixture from its conftest.py: ``from support.browser import browser_page``.
"""

import contextlib
import shutil

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


@contextlib.contextmanager
def chromium():
    """A running browser. Nothing is downloaded: it is the Chromium of this machine."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    driver = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: eigenveil[browser]")
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


@pytest.fixture(scope="module")  # not longer: while it runs, no other test of the process can run an event loop
def browser_page():
    """A function that opens an address on a page of its own, and returns Playwright's page."""
    with chromium() as browser, contextlib.ExitStack() as opened:

        def open_page(address, *, size="desktop", dark=False, **options):
            width, height = SIZES[size]
            context = browser.new_context(
                viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", **options
            )
            opened.callback(context.close)
            page = context.new_page()
            page.requested, page.problems = [], []
            page.on("request", lambda request: page.requested.append(request.url))
            page.on("console", lambda message: page.problems.append(message.text))
            page.on("pageerror", lambda error: page.problems.append(str(error)))
            page.goto(address)
            return page

        yield open_page


def overflow(page):
    """By how many pixels the page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def serious_violations(page):
    """What axe calls serious or critical: rule, and the first element that breaks it."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed").Axe()
    found = axe.run(page).response["violations"]
    grave = [one for one in found if one["impact"] in ("serious", "critical")]
    return [(one["id"], one["nodes"][0]["html"][:200]) for one in grave]
