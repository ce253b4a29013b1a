"""Only the browser that has the token gets in; foreign hosts, foreign pages and wrong tokens are refused."""

import re
import socket
from contextlib import closing

import pytest
from starlette.testclient import TestClient

from eigenveil.app.guard import HEADERS

from .conftest import OWN, Tags, new_app, spend_address

EVERYWHERE = ["/", "/settings", "/plan", "/fits/1", "/fits/1/report", "/static/app.js", "/nowhere"]


@pytest.mark.parametrize("path", EVERYWHERE)
def test_nothing_is_shown_without_the_cookie(app, path):
    stranger = TestClient(app.guard, base_url=OWN)
    for cookie in ("", "wrong", app.guard.token, "\xff"):
        answer = stranger.get(path, headers={"Cookie": f"eigenveil-8000={cookie}".encode("latin-1")})
        assert answer.status_code == 403
        assert answer.text.startswith("Refused: open the address")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1", "127.0.0.1:8001", "localhost", ""]
)
@pytest.mark.parametrize("path", EVERYWHERE)
def test_a_foreign_host_is_refused(app, host, path):
    for query in ("", f"?token={app.guard.token}"):
        answer = app.client.get(path + query, headers={"Host": host})
        assert answer.status_code == 421
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("token", ["", "wrong", "é"])
def test_a_wrong_token_is_refused(app, token):
    answer = TestClient(app.guard, base_url=OWN).get("/", params={"token": token})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_the_token_becomes_a_cookie_that_scripts_and_other_sites_do_not_get(app):
    cookie = app.first.headers["set-cookie"]
    assert cookie.startswith("eigenveil-8000=")
    assert {"HttpOnly", "SameSite=strict"} <= set(cookie.split("; "))
    assert app.guard.token not in cookie
    assert app.first.headers["refresh"] == "0; url=/"
    assert app.client.get("/").status_code == 200
    assert (
        TestClient(app.guard, base_url="http://localhost:8000").get(f"/?token={app.guard.token}").status_code
        == 200
    )


def test_the_token_for_the_browser_works_once(app):
    once = app.guard.single_use
    stranger = TestClient(app.guard, base_url=OWN)
    assert once != app.guard.token
    assert [stranger.get("/", params={"token": once}).status_code for _ in range(3)] == [200, 403, 403]
    assert stranger.get("/", params={"token": app.guard.token}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:8001"},
        {"Origin": "http://localhost:8000"},  # the page was opened at 127.0.0.1
        {"Origin": "https://127.0.0.1:8000"},
        {"Referer": "http://evil.example/?http://127.0.0.1:8000/"},
        {"Referer": "http://["},
        {"Origin": "http://evil.example", "Referer": f"{OWN}/plan"},
    ],
    ids=str,
)
def test_a_form_of_another_page_spends_nothing(app, visitor, folder, headers):
    page = visitor.plan(folder / "people.parquet", unit="0")
    answer = app.client.post(spend_address(page), headers=headers)
    assert answer.status_code == 403
    assert app.pages.fits.runs == []


def test_a_get_request_spends_nothing(app, visitor, folder):
    page = visitor.plan(folder / "people.parquet", unit="0")
    assert app.client.get(spend_address(page)).status_code == 405
    assert app.pages.fits.runs == []


@pytest.mark.parametrize("path", [*EVERYWHERE, "/?folder=/"])
def test_every_answer_has_the_headers(app, path):
    for client in (app.client, TestClient(app.guard, base_url=OWN)):
        headers = client.get(path).headers
        assert {name: headers[name] for name in HEADERS} == HEADERS


def test_the_policy_allows_own_files_only():
    policy = dict(part.split(" ", 1) for part in HEADERS["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in "".join(value for name, value in policy.items() if name != "style-src-attr")


@pytest.mark.parametrize(
    "path", ["/static/../guard.py", "/static/%2e%2e/guard.py", "/static//etc/passwd", "/static/"]
)
def test_static_files_are_those_of_the_folder(app, path):
    assert app.client.get(path).status_code == 404
    assert app.client.get("/static/app.js").headers["content-type"].startswith("text/javascript")


def test_pages_load_own_files_only_and_have_no_inline_script(app, visitor, folder):
    page = visitor.plan(folder / "people.parquet", unit="0")
    for text in (
        page.text,
        app.client.get("/").text,
        app.client.get("/settings", params={"data": page.url.params["data"]}).text,
    ):
        assert re.findall(r"<script[^>]*>", text) == ['<script src="/static/app.js" defer>']
        assert not re.search(r'(?:src|href|action)="(?!/|#curve-)', text)
        assert not any(name.startswith("on") for name in Tags(text).attributes)
        assert "style" not in Tags(text).names


def test_a_file_can_be_the_first_page():
    app = new_app(start="/settings?data=%2Fa+b.csv")
    assert app.first.headers["refresh"] == "0; url=/settings?data=%2Fa+b.csv"


def test_the_server_listens_on_this_machine_only(monkeypatch):
    from eigenveil.app import server

    told, opened, addresses = [], [], []

    def run(_, sockets):
        addresses.append(sockets[0].getsockname())
        raise KeyboardInterrupt

    monkeypatch.setattr(server.uvicorn.Server, "run", run)
    monkeypatch.setattr(server.webbrowser, "open", opened.append)
    server.serve(None, port=0, browser=True, say=told.append)
    host, port = addresses[0]
    assert host == "127.0.0.1"
    assert re.search(rf"http://127\.0\.0\.1:{port}/\?token=[\w-]{{43}}$", told[0])
    assert opened[0].startswith(f"http://127.0.0.1:{port}/?token=")
    assert opened[0] not in told[0]
    with closing(socket.create_server(("127.0.0.1", 0))) as taken, pytest.raises(OSError, match="in use"):
        server.serve(None, port=taken.getsockname()[1], browser=False, say=told.append)
    assert len(opened) == 1
