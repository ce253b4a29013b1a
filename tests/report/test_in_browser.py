"""A report in a browser: on a desk and on a phone, light and dark, with the keyboard, and on paper."""

import math
import re

import numpy as np
import pytest

from eigenveil import DPPCA, Budget, Ledger
from eigenveil.report import write_report
from support.browser import SIZES, overflow, serious_violations

pytestmark = pytest.mark.slow
LOOKS = pytest.mark.parametrize(("size", "dark"), [(size, dark) for size in SIZES for dark in (False, True)])


@pytest.fixture(scope="module", params=["bars", "images", "seeded"])
def report(request, tmp_path_factory):
    """Address of a report: with a map and bars, with images, or with warnings."""
    X = np.random.default_rng(0).normal(size=(6000, 12)) * [6, 5, 4, *[1] * 9]
    path = tmp_path_factory.mktemp("report") / "report.html"
    if request.param == "seeded":
        with pytest.warns(UserWarning, match="delta = 0.01 exceeds"):
            pca = DPPCA(5, random_state=0, delta=0.01, scale=np.ones(12)).fit(X)
        return write_report(pca, path).as_uri()
    costs = (Budget.from_epsilon_delta(epsilon, 1e-6).mu for epsilon in (1.0, 0.5))
    ledger = Ledger(Budget.from_mu(math.hypot(*costs)))
    pca = DPPCA(4, scale="private", ledger=ledger).fit(X)
    scores = pca.private_scores(X, epsilon=0.5, bins=8, ledger=ledger)
    grid = (3, 4) if request.param == "images" else None
    return write_report(pca, path, scores=scores, grid=grid, command="eigenveil fit " + "x" * 300).as_uri()


def top(page, selector):
    return page.locator(selector).first.bounding_box()["y"]


def brightness(colour):
    return sum(map(int, re.findall(r"\d+", colour)[:3]))


@LOOKS
def test_first_screen(browser_page, report, size, dark):
    page = browser_page(report, size=size, dark=dark)
    assert overflow(page) == 0
    assert page.requested == [report], "nothing else is loaded"
    assert page.problems == [], "nothing breaks the content security policy"
    assert top(page, ".badge") < 100
    assert top(page, "figure svg") < 700
    assert top(page, "figure svg") < top(page, "#details") < top(page, "#guarantee") < top(page, "#methods")
    if size == "desktop":
        assert all(
            box["y"] + box["height"] < 900 for box in map(_box, page.locator(".tiles").first.locator("svg").all())
        )
    ink, letters, paper = page.evaluate(
        """["body", "figure svg text", "body"].map((selector, i) =>
            getComputedStyle(document.querySelector(selector))[["color", "fill", "backgroundColor"][i]])"""
    )
    assert letters == ink, "text in figures has the colour of the page"
    assert (brightness(ink) > brightness(paper)) == dark


def _box(locator):
    return locator.bounding_box()


@LOOKS
def test_axe_finds_nothing_serious(browser_page, report, size, dark):
    page = browser_page(report, size=size, dark=dark)
    assert serious_violations(page) == []
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert serious_violations(page) == []
    assert overflow(page) == 0


@pytest.mark.parametrize("size", list(SIZES))
def test_everything_has_one_width_and_tiles_leave_no_hole(browser_page, report, size):
    page = browser_page(report, size=size)
    blocks = ":is(main > section:not(.warnings) > :not(h2), main > .warnings, main > header > p):visible"
    ends = {round(box["x"] + box["width"]) for box in map(_box, page.locator(blocks).all())}
    assert len(ends) == 1, "no ragged right edge"
    for tiles in page.locator(".tiles:visible").all():
        boxes = [box for box in map(_box, tiles.locator(":scope > *").all()) if box]
        right = max(box["x"] + box["width"] for box in boxes)
        last = max(boxes, key=lambda box: (round(box["y"]), box["x"]))
        assert last["x"] + last["width"] == pytest.approx(right, abs=1), "the last row is full"


def test_the_ledger_opens_with_the_keyboard(browser_page, report):
    page = browser_page(report)
    entries = page.locator(".group:has(summary:has-text('Number of units')) tbody")
    assert page.evaluate("document.documentElement.scrollHeight") < 4500
    assert not entries.is_visible()
    seen = []
    for _ in range(12):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.textContent.trim().slice(0, 7)"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        if seen[-1] == "Ledger:":
            page.keyboard.press("Enter")
        if seen[-1].startswith("Number"):
            page.keyboard.press("Space")
            break
    assert "Ledger:" in seen, seen
    assert entries.is_visible()


def test_wide_tables_scroll_on_a_phone_and_say_so(browser_page, report):
    page = browser_page(report, size="phone")
    assert page.locator(".cue").first.is_visible()
    table = page.locator(".scroll").first
    hidden = table.evaluate("table => table.scrollWidth - table.clientWidth")
    assert hidden > 50
    table.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(1000)  # it scrolls smoothly
    assert table.evaluate("table => table.scrollLeft") > 0
    assert not browser_page(report).locator(".cue").first.is_visible()


def test_paper(browser_page, report):
    page = browser_page(report, dark=True)
    pdf = page.pdf(format="A4")
    pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
    assert 2 <= pages <= 8
    assert len(pdf) > 30_000
    page.emulate_media(media="print", color_scheme="dark")
    ink, paper = page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    assert (brightness(ink) < 200, brightness(paper)) == (True, 765), "dark letters on white"
    assert page.locator("details.fold .meter").first.is_visible(), "the groups of the ledger are printed"
    assert page.locator("details.fold figure svg").first.is_visible()
    assert page.locator("figure").first.evaluate("figure => getComputedStyle(figure).breakInside") == "avoid"
    assert overflow(page) == 0
