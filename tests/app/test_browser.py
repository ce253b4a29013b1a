"""The whole walk in Chromium: with mouse, with the keyboard alone, without scripts; checked by axe."""

import contextlib
import json
import re
import socket
import threading
from concurrent.futures import Future

import pytest
import uvicorn

from eigenveil.app.guard import Guard
from eigenveil.app.pages import Pages
from support.browser import overflow, serious_violations
from support.people_table import CANARY, CANARY_ID

pytestmark = pytest.mark.slow
PATIENCE = 120_000


@contextlib.contextmanager
def served(pages, start="/"):
    """Address, with the token, of a server in a thread."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        guard = Guard(pages.application(), port=port, start=start)
        server = uvicorn.Server(uvicorn.Config(guard, log_level="warning", access_log=False, lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}/?token={guard.token}"
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def address(folder):
    with served(Pages(), start=f"/?folder={folder}") as address:
        yield address


@pytest.fixture
def opened(browser_page, address):
    """Function that opens the first page, and fails if a page asks another server or complains."""
    pages = []

    def open_first(**options):
        page = browser_page(address, **options)
        pages.append(page)
        page.set_default_timeout(PATIENCE)
        page.wait_for_selector("text=Choose a file on this machine")
        return page

    yield open_first
    own = address.partition("?")[0]
    for page in pages:
        assert [one for one in page.problems if "400 (Bad Request)" not in one] == []  # refused settings
        assert page.requested
        assert [url for url in page.requested if not url.startswith(own)] == []


def check(page):
    """Nothing that axe calls serious, nothing beyond the edge, no value of the data."""
    assert serious_violations(page) == []
    assert overflow(page) <= 0
    assert CANARY_ID not in page.content()
    assert f"{CANARY:.5g}" not in page.content()


@pytest.mark.parametrize(("size", "dark"), [("desktop", False), ("phone", True)])
def test_from_a_file_to_a_report(opened, size, dark, tmp_path):
    page = opened(size=size, dark=dark)
    check(page)
    page.get_by_role("link", name="people.parquet").click()
    check(page)
    page.get_by_label("One person is").select_option("all rows with the same person_id")
    page.get_by_label("About how many people?").fill("2000")
    page.get_by_label("Ledger file (optional)").fill(str(tmp_path / "book.json"))
    page.get_by_label(re.compile("Cap: ")).fill("1.2")
    page.get_by_label("Folder for the model").fill(str(tmp_path / "model"))
    page.get_by_role("button", name="Plan").click()
    page.wait_for_selector("svg")
    check(page)
    before = page.locator("figure").inner_html()
    page.get_by_text("The same fit on the command line and in Python").click()
    assert "--epsilon 1 " in page.locator("#command").inner_text()
    page.get_by_role("slider").fill("5")
    page.wait_for_selector("text=What ε = 0.7 means")
    assert page.locator("figure").inner_html() != before
    assert page.locator("#epsilon").inner_text() == "0.7"
    assert page.get_by_role("slider").get_attribute("aria-valuetext") == "epsilon 0.7"
    assert "At ε = 0.7" in page.get_by_role("status").inner_text()
    assert page.url.endswith("step=5")
    assert page.locator("#command").is_visible()  # what was opened stays open
    assert "--epsilon 0.7 " in page.locator("#command").inner_text()
    assert not (tmp_path / "book.json").exists()
    page.get_by_role("button", name="Spend ε = 0.7").click()
    page.wait_for_selector("text=The fit is done.")
    check(page)
    assert (tmp_path / "model" / "model.json").exists()
    assert len(json.loads((tmp_path / "book.json").read_text())["entries"]) > 5
    report = page.frame_locator("iframe")
    assert "Private: ε = " in report.locator(".badge").first.inner_text()
    with page.expect_download() as download:
        page.get_by_role("link", name="Save the report").click()
    assert download.value.suggested_filename == "report.html"
    page.go_back()  # to the plan, which is made again and refuses what the ledger cannot cover
    page.wait_for_selector("text=already exists")
    spent = (tmp_path / "book.json").read_text()
    page.get_by_label("Folder for the model").fill("")
    page.get_by_label(re.compile("Cap: ")).fill("")
    page.get_by_role("button", name="Plan").click()
    page.get_by_role("slider").fill("8")
    page.wait_for_selector("text=does not cover this fit")
    check(page)
    assert page.get_by_role("button", name="Spend").count() == 0
    assert (tmp_path / "book.json").read_text() == spent


def tab_to(page, name):
    """Press Tab until the focus is on the element with this accessible name."""
    for _ in range(60):
        page.keyboard.press("Tab")
        focus = page.evaluate(
            "(e => [e.getAttribute('aria-label'), e.labels?.[0]?.innerText, e.innerText].find(t => t) || '')"
            "(document.activeElement)"
        )
        if name in focus:
            ring = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert ring != "none", f"{name} shows no focus"
            return
    raise AssertionError(f"{name} cannot be reached")


def test_with_the_keyboard_alone(opened):
    page = opened()
    tab_to(page, "people.csv")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Who is protected")
    tab_to(page, "One person is")
    page.keyboard.type("all rows with the same p")
    tab_to(page, "all columns")
    page.keyboard.press("ArrowDown")
    tab_to(page, "use age")
    page.keyboard.press("Space")
    tab_to(page, "use income")
    page.keyboard.press("Space")
    tab_to(page, "About how many people?")
    page.keyboard.press("Control+A")
    page.keyboard.type("2000")
    page.keyboard.press("Enter")
    page.wait_for_selector("svg")
    assert "2 components of 2 columns" in page.locator("main p").first.inner_text()
    tab_to(page, "Privacy budget")
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    page.wait_for_selector("text=What ε = 2 means")
    assert page.evaluate("document.activeElement.id") == "step"
    tab_to(page, "Spend ε = 2")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=The fit is done.")
    tab_to(page, "Save the report")


@pytest.mark.filterwarnings("ignore::UserWarning")  # of a fit at epsilon .2
def test_without_scripts(opened):
    page = opened(java_script_enabled=False)
    page.get_by_label(re.compile("Path of a file")).fill("nowhere.csv")
    page.get_by_role("button", name="Show columns").click()
    assert "there is no file" in page.get_by_role("alert").first.inner_text()
    page.go_back()
    page.get_by_role("link", name="people.parquet").click()
    page.get_by_label("One person is").select_option("all rows with the same person_id")
    page.get_by_role("button", name="Plan").click()
    page.wait_for_selector("svg")
    page.get_by_role("slider").fill("2")
    page.get_by_role("button", name="Show this ε").click()
    page.wait_for_selector("text=What ε = 0.2 means")
    page.get_by_role("button", name="Spend ε = 0.2").click()
    page.wait_for_selector("text=The fit is done.")
    page.reload()
    assert page.url.count("/fits/") == 1


def test_a_page_notices_that_the_server_is_gone(browser_page, folder):
    pages = Pages()
    pages._forecasts.of = lambda *_, **__: Future()  # a plan that is never done
    with served(pages) as address:
        page = browser_page(address)
        page.wait_for_selector("text=Choose a file on this machine")
        page.goto(f"{address.partition('?')[0]}plan?data={folder}/rows.npy")
        page.wait_for_selector("[data-poll]", state="attached")
        assert not page.get_by_text("The program does not answer").is_visible()
    page.wait_for_selector("text=The program does not answer", timeout=PATIENCE)
