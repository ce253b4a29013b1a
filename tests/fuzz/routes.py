"""The routes of the app: requests of a session, one per line, in any order and with any headers.

A line has a method, a target and headers, separated by spaces: ``GET /settings?data={folder}/a.csv host:{host}``.
Words in braces stand for what the input cannot know: secrets, the last offer, and the folder with the data.
"""

import asyncio
import gc
import os
import re
import shutil
import sys
import tempfile
import warnings
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from unittest import mock
from urllib.parse import quote, unquote

import matplotlib.font_manager  # noqa: F401  # writes a list of fonts when it is loaded for the first time
import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from eigenveil.app import fits, forecasts
from eigenveil.app.guard import HEADERS, Guard
from eigenveil.app.pages import Pages
from eigenveil.privacy import Budget, Ledger
from fuzz.scratch import scratch
from hostile.names import NASTY_NAMES, acts_on_page
from support.people_table import CANARY, CANARY_ID, people_table

MOST_REQUESTS = 6
HOST = "127.0.0.1:8000"
SAFE = ("GET", "HEAD")
CANARIES = (CANARY_ID, f"{CANARY:.8g}")
CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


# -- files -----------------------------------------------------------------------------------------


def _fill(folder):
    """Data files with canaries and nasty names, ledgers, and what only looks like them."""
    folder.mkdir(exist_ok=True)
    table = people_table(100, list("abcde"))
    pq.write_table(table, folder / "people.parquet")
    pc.write_csv(table, folder / "people.csv")
    np.save(folder / "rows.npy", np.column_stack([table[name] for name in "abcde"]))
    values = np.random.default_rng(0).normal(size=(50, len(NASTY_NAMES)))
    pq.write_table(pa.table(list(values.T), names=list(NASTY_NAMES.values())), folder / "nasty.parquet")
    for name in NASTY_NAMES.values():
        if len(name) < 200 and not set("\0/") & set(name):
            (folder / f"{name}.csv").write_text("x,y\n1,2\n")
    (folder / "broken.parquet").write_bytes(b"PAR1" + CANARY_ID.encode() + b"PAR1")
    (folder / "broken.csv").write_bytes(b'a,"b\n\xff\x00' + CANARY_ID.encode())
    (folder / "book.json").write_text(Ledger(Budget.from_epsilon_delta(2.0, 1e-6)).to_json())
    (folder / "other.json").write_text(Ledger(Budget.from_mu(1.0), relation="replace").to_json())
    (folder / "notes.json").write_text(CANARY_ID)
    (folder / "loop").symlink_to("loop")
    (folder / "link.json").symlink_to("book.json")
    os.mkfifo(folder / "pipe.npy")


def _base(event, given):
    """The folder to which the path of an event is relative."""
    inside = event in ("os.remove", "os.rmdir") and given[1] != -1
    return Path(f"/proc/self/fd/{given[1]}").readlink() if inside else Path()


class Watch:
    """Sees every change of files in this process. One that no accepted offer states is noted.

    Outside of the folder all changes are refused, so that no input can do harm.
    """

    def __init__(self):
        self.folder, self.fits, self.wrong = None, None, []
        self._temporaries = Path(tempfile.gettempdir())
        sys.addaudithook(self)

    def __call__(self, event, given):
        writes = event in CHANGES or (event == "open" and given[2] & WRITING)
        if self.fits is None or not writes or not isinstance(given[0], str | os.PathLike):
            return
        for path in {"os.rename": given[:2]}.get(event, given[:1]):
            place = Path(os.path.abspath(_base(event, given) / path))  # noqa: PTH100
            if place == Path(os.devnull) or "__pycache__" in place.parts:  # modules that are loaded late
                continue
            if not self._stated(place):
                self.wrong.append((event, str(place)))
            if not place.is_relative_to(self.folder) and not self._temporary(place):
                raise PermissionError(13, "Permission denied", str(place))

    def _stated(self, place):
        """Whether the place is an output of an accepted offer, beside it as a part or a lock, or above it."""
        outputs = {path for run in self.fits.runs for path in (run.choices.out, run.choices.ledger) if path}
        for output in outputs | {Path(os.path.realpath(path)) for path in outputs}:
            if place in output.parents:
                return True
            if place.is_relative_to(output.parent):
                first = place.relative_to(output.parent).parts[0]
                if first in (output.name, f".{output.name}.lock") or first.startswith(f".{output.name}.part-"):
                    return True
        return bool(self.fits.runs) and self._temporary(place)

    def _temporary(self, place):
        """Whether the place is a temporary file of a fit."""
        inside = self._temporaries in place.parents and not place.is_relative_to(self.folder)
        return inside and place.relative_to(self._temporaries).parts[0].startswith("eigenveil-")


# -- requests --------------------------------------------------------------------------------------


@cache
def _world():
    """What all inputs share: pages, whose templates are compiled once, and a loop for requests."""
    _fill(scratch() / "app")
    return SimpleNamespace(pages=Pages(), watch=Watch(), runner=asyncio.Runner())


def _quick_plan(n, d, k, *, epsilon, **given):
    """A plan at one epsilon, shown for all of them."""
    found = _plan(n, d, k, epsilon=epsilon[6], **given)
    return replace(found, rows=tuple(replace(found.rows[0], epsilon=one) for one in epsilon))


_plan = forecasts.plan
_DOUBLES = (
    mock.patch.object(forecasts, "plan", _quick_plan),
    mock.patch.object(fits, "render_report", lambda model, **_: f"{model.n_components_}"),
)
"""Plans and reports take seconds, and have tests of their own."""


class Session:
    """An app with a guard of its own, and the requests to it."""

    def __init__(self, world, folder):
        self._world, self._pages = world, world.pages
        self._pages.fits, self._pages._forecasts = fits.Fits(), forecasts.Forecasts()
        self._guard = Guard(self._pages.application(), port=8000)
        self._words = {
            "{folder}": str(folder),
            "{host}": HOST,
            "{own}": f"http://{HOST}",
            "{cookie}": f"eigenveil-8000={self._guard._session}",
            "{token}": self._guard.token,
            "{once}": self._guard.single_use,
            "{offer}": "none",
        }

    @property
    def fits(self):
        return self._pages.fits

    def send(self, line):
        """Send a request, and check its answer and what it did."""
        before = len(self.fits.runs)
        scope = self._scope(line)
        answer = self._world.runner.run(self._answer(scope))
        self._check(scope, answer)
        started = self.fits.runs[before:]
        assert len(started) <= (scope["method"] == "POST" and answer.status == 303)
        for run in started:
            assert run.wait(60), "the fit takes too long"
            assert "unexpected" not in (run.error or ""), run.error
            if run.spent is not None:
                assert run.spent <= run.spending.after * (1 + 1e-9)
        for offer in re.findall(r'action="/spend/([^"]+)"', answer.text):
            self._words["{offer}"] = offer

    def _scope(self, line):
        """The request as the server reads it: a target is ASCII, and a header has no control characters."""
        text = line.decode("latin-1")
        for word, value in self._words.items():
            text = text.replace(word, value)
        method, target, *headers = (re.sub(r"[\x00-\x1f\x7f]", "", one) for one in (text + " /").split(" "))
        path, _, query = quote(target.encode("latin-1"), safe="".join(map(chr, range(33, 127)))).partition("?")
        pairs = [header.partition(":") for header in headers]
        return {
            "type": "http",
            "http_version": "1.1",
            "method": re.sub(r"[^-!#$%&'*+.^_`|~0-9A-Za-z]", "", method) or "GET",
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, _, value in pairs],
            "server": ("127.0.0.1", 8000),
            "client": ("127.0.0.1", 50000),
        }

    async def _answer(self, scope):
        said = []

        async def receive():
            await asyncio.sleep(0)
            return {"type": "http.request", "body": scope["query_string"], "more_body": False}

        async def send(message):
            await asyncio.sleep(0)
            said.append(message)

        await self._guard(scope, receive, send)
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in said[0]["headers"]}
        body = b"".join(message.get("body", b"") for message in said[1:])
        return SimpleNamespace(status=said[0]["status"], headers=headers, text=body.decode())

    def _check(self, scope, answer):
        assert answer.status < 500, "an error of the server"
        assert all(name.lower() in answer.headers for name in HEADERS)
        query, headers = scope["query_string"].decode(), {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1"), value.decode("latin-1"))
        own = headers.get("host") in (HOST, "localhost:8000")
        comes_from = headers.get("origin") or headers.get("referer", "")
        from_own_page = scope["method"] in SAFE or comes_from.startswith(f"http://{headers.get('host')}")
        secret = self._guard._session.encode()
        knows_secret = any(name == b"cookie" and secret in value for name, value in scope["headers"])
        refused = answer.status in (403, 421) and answer.text.startswith("Refused: ")
        if "refresh" in answer.headers:
            assert own
            assert from_own_page
            assert self._words["{token}"] in query or self._words["{once}"] in query
        elif not (own and from_own_page and knows_secret):
            assert refused, "content without access"
        assert ("set-cookie" in answer.headers) == ("refresh" in answer.headers)
        self._check_text(answer, said=unquote(query) + scope["path"])

    def _check_text(self, answer, *, said):
        assert "Traceback" not in answer.text or "Traceback" in said
        assert not [canary for canary in CANARIES if canary in answer.text and canary not in said]
        if answer.headers.get("content-type", "").startswith("text/html"):
            scripts = re.findall(r"<script[^>]*>", answer.text)
            assert set(scripts) <= {'<script src="/static/app.js" defer>'}
            assert not acts_on_page(re.sub(r'value="[^"]*"', "", answer.text))


def app_routes(data):
    """No request to the app gets an error of the server, a value of the data, or access without the secret.

    No file is written, and nothing is charged, but what an accepted offer states.
    """
    world, folder = _world(), scratch() / "app"
    gc.collect()  # what other tests left removes its temporary folders now, and not below
    session, watch = Session(world, folder), world.watch
    watch.folder, watch.fits, watch.wrong = folder, session.fits, []
    with ExitStack() as doubles, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about noise
        for double in _DOUBLES:
            doubles.enter_context(double)
        try:
            for line in data.split(b"\n")[:MOST_REQUESTS]:
                session.send(line)
                assert not watch.wrong, f"changes of files that no accepted offer states: {watch.wrong}"
        finally:
            for run in session.fits.runs:
                run.wait(60)
            watch.fits = None
            if session.fits.runs or watch.wrong:
                shutil.rmtree(folder)
                _fill(folder)
