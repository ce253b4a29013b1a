"""Fixtures: data files with canaries, a client of the app with access, and noise that is the same in every run."""

import re
import time
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

from eigenveil.app import fits
from eigenveil.app.forecasts import Forecasts
from eigenveil.app.guard import Guard
from eigenveil.app.pages import Pages
from support.browser import browser_page
from support.fixed_noise import noise_of_a_test, noise_of_shared_fixtures
from support.people_table import CANARY_ID, people_table

__all__ = ["browser_page", "noise_of_a_test", "noise_of_shared_fixtures"]

OWN = "http://127.0.0.1:8000"
NAMES = ["age", "income", "a, b", " edge ", "<b onmouseover=alert(1)>&x"]


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """One table as Parquet, CSV and .npy: 2000 people with 2 rows each."""
    folder = tmp_path_factory.mktemp("data")
    table = people_table(2000, NAMES)
    pq.write_table(table, folder / "people.parquet")
    pc.write_csv(table.select(["person_id", "age", "income"]), folder / "people.csv")
    np.save(folder / "rows.npy", np.column_stack([table[name] for name in NAMES]))
    (folder / "notes.txt").write_text(CANARY_ID)
    (folder / ".hidden.csv").write_text("a,b\n1,2\n")
    (folder / "more").mkdir()
    return folder


PLANS = Forecasts()
"""Shared by all tests, because every plan takes a second."""


def new_app(start="/"):
    """The app, its guard, and a client that has opened the first address."""
    pages = Pages()
    pages._forecasts = PLANS
    guard = Guard(pages.application(), port=8000, start=start)
    client = TestClient(guard, base_url=OWN)
    first = client.get("/", params={"token": guard.token})
    assert first.status_code == 200
    return SimpleNamespace(pages=pages, guard=guard, client=client, first=first)


@pytest.fixture
def app():
    return new_app()


class Visitor:
    """A user who walks from the settings to the result, and keeps every page that was shown."""

    def __init__(self, client):
        self.client, self.seen = client, []

    def get(self, address, **given):
        answer = self.client.get(address, params=given) if given else self.client.get(address)
        self.seen.append(answer.text)
        return answer

    def until_done(self, address, **given):
        """Open a page again until nothing on it is in progress."""
        answer = self.get(address, **given)
        for _ in range(600):
            if "data-poll" not in answer.text:
                return answer
            time.sleep(0.1)
            answer = self.get(str(answer.url))
        raise AssertionError("it takes too long")

    def plan(self, data, **given):
        return self.until_done("/plan", **{"data": str(data), "n": "2000", **given})

    def press_spend(self, page):
        """Press the button of a plan; return the page of the fit."""
        return self.client.post(spend_address(page), headers={"Origin": OWN}, follow_redirects=False)

    def spend(self, page):
        answer = self.press_spend(page)
        assert answer.status_code == 303, answer.text
        return self.until_done(answer.headers["location"])


def spend_address(page):
    return re.search(r'action="(/spend/[^"]+)"', page.text)[1]


class Tags(HTMLParser):
    """Tags and attributes of a page, as a browser reads them."""

    def __init__(self, text):
        super().__init__()
        self.names, self.attributes = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.fixture
def visitor(app, monkeypatch):
    """A user for whom reports are short, because figures take seconds."""
    monkeypatch.setattr(fits, "render_report", lambda model, command: f"{model.n_components_}: {command}")
    return Visitor(app.client)


@pytest.fixture
def reader(app):
    """A user who gets real reports."""
    return Visitor(app.client)
