"""The command `eigenveil app`: what it prints, what it needs, and what it leaves when it is stopped."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import httpx2
import numpy as np
import pytest

from eigenveil.cli.implementations import app as implementation
from eigenveil.errors import MissingExtraError, UnreadableError
from eigenveil.privacy import Ledger

COMMAND = [sys.executable, "-m", "eigenveil.cli", "app", "--no-browser"]


@contextmanager
def started(*arguments, cwd=None):
    """The command in a process of its own, and the address that it prints."""
    environment = {**os.environ, "COLUMNS": "300", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(  # noqa: S603
        [*COMMAND, *arguments], stderr=subprocess.PIPE, text=True, env=environment, cwd=cwd
    ) as process:
        try:
            yield process, re.search(r"http://\S+", process.stderr.readline())[0]
        finally:
            process.kill()


def stopped(process, number=signal.SIGINT):
    """Send a signal; return the exit code and the rest of stderr."""
    process.send_signal(number)
    return process.wait(20), process.stderr.read()


def test_without_the_extra_the_command_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.startswith(("eigenveil.app", "uvicorn"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingExtraError, match=r"needs uvicorn, .*\nHint: pip install 'eigenveil\[app\]'"):
        implementation.run(data=None, port=0, browser=False)


def test_a_file_that_does_not_exist_is_an_error():
    with pytest.raises(UnreadableError, match="there is no file or folder"):
        implementation.run(data="nowhere.csv", port=0, browser=False)


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_it_serves_until_it_is_stopped(folder, number):
    with started(str(folder / "people.csv"), cwd=folder) as (process, address):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{43}", address)
        with httpx2.Client(base_url=address.partition("?")[0]) as client:
            assert client.get("/").status_code == 403
            first = client.get(address)
            page = client.get(first.headers["refresh"].partition("url=")[2])
            assert (page.status_code, "person_id" in page.text) == (200, True)
            assert client.get("/", headers={"Host": "evil.example"}).status_code == 421
            assert "server" not in page.headers
        code, rest = stopped(process, number)
    assert (code, rest) == (0, "Stop with Ctrl-C.\n")


@pytest.mark.slow
def test_stopping_in_the_middle_of_a_fit_leaves_the_ledger_right(tmp_path):
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(1_000_000, 60)))
    with started(cwd=tmp_path) as (process, address):
        own = address.partition("/?")[0]
        with httpx2.Client(base_url=own, timeout=60) as client:
            client.get(address)
            given = {"data": "rows.npy", "ledger": "book.json", "cap": "3", "n": "1000", "k": "8"}
            page = client.get("/plan", params=given)
            spend = re.search(r'action="(/spend/[^"]+)"', page.text)[1]
            assert client.post(spend, headers={"Origin": own}).headers["location"] == "/fits/1"
            for _ in range(600):
                if (tmp_path / "book.json").exists() and len(entries(tmp_path)) > 3:
                    break
                time.sleep(0.05)
            running = "The fit is running" in client.get("/fits/1").text
        code, _ = stopped(process)
    assert running
    assert code == 0
    ledger = Ledger.from_json((tmp_path / "book.json").read_text())
    assert len(ledger.entries) == len(entries(tmp_path)) > 3
    assert 0 < ledger.epsilon(1e-6) < 1
    assert [path.name for path in tmp_path.iterdir() if ".part-" in path.name] == []


def entries(folder):
    return json.loads((folder / "book.json").read_text())["entries"]
