"""The command and the lines of Python on a page make the same fit as the page."""

import os
import re
import shlex
import subprocess
import sys

import pytest
from starlette.datastructures import QueryParams

from eigenveil.app.choices import read_form
from eigenveil.cli.app import app as command_line
from eigenveil.estimators.request import FitRequest
from eigenveil.persistence import load

from .conftest import NAMES

CASES = {
    "rows": ("rows.npy", {}),
    "some positions": ("rows.npy", {"which": "some", "column": ["4", "1"], "k": "1", "step": "3"}),
    "people": ("people.parquet", {"unit": "0", "scale": "private", "delta": "3e-7"}),
    "some names": ("people.parquet", {"which": "some", "column": ["1", "2"]}),
    "all columns ticked": ("people.csv", {"unit": "0", "which": "some", "column": ["1", "2"]}),
    "strange names": ("people.parquet", {"unit": "0", "which": "some", "column": ["3", "4", "5"]}),
    "ledger": ("people.csv", {"unit": "0", "ledger": "book of @.json", "cap": "3.5", "out": "model @"}),
    "ledger without a cap": ("people.csv", {"unit": "0", "ledger": "it's @.json"}),
}


def form(folder, name, place):
    """The form of a case, with outputs at a place of their own."""
    data, given = CASES[name]
    own = {key: str(place / given[key]) for key in ("ledger", "out") if key in given}
    pairs = {"data": str(folder / data), "n": "2000", **given, **own}
    flat = [(key, one) for key, value in pairs.items() for one in (value if isinstance(value, list) else [value])]
    return read_form(QueryParams(flat))[0]


def facts(request):
    """Everything that determines a fit."""
    settings, source = request.settings, request.operator.source
    names = ("k", "epsilon", "delta", "relation", "scale", "center", "bounds", "random_state", "options")
    return {
        **{name: getattr(settings, name) for name in names},
        "algorithm": settings.algorithm.name,
        "layout": source.layout,
        "columns": source.columns,
        "n_columns": source.n_columns,
        "operator": type(request.operator),
        "source": type(source),
        "ledger": None if settings.ledger is None else (settings.ledger.budget, settings.ledger.relation),
        "standard": (request.standard.buy_mean, request.standard.private.tolist()),
        "plan": request.plan(),
    }


class Spy:
    """Facts of all requests that are run, in place of running them."""

    def __init__(self, monkeypatch):
        self.seen = []

        class Stop(Exception):  # noqa: N818
            pass

        def run(request, _):
            self.seen.append(facts(request))
            raise Stop

        monkeypatch.setattr(FitRequest, "run", run)
        self.stop = Stop


@pytest.mark.parametrize("name", CASES)
def test_page_command_and_python_make_the_same_request(name, folder, tmp_path, monkeypatch):
    spy = Spy(monkeypatch)
    places = [tmp_path / one for one in ("page", "command", "python")]
    for place in places:
        place.mkdir()
    from eigenveil.app.fits import FitRun, Offer

    with pytest.raises(spy.stop):
        FitRun(Offer.of(form(folder, name, places[0])))._fitted()
    monkeypatch.chdir(places[1])
    words = shlex.split(form(folder, name, places[1]).command())
    assert words[0] == "eigenveil"
    with pytest.raises(spy.stop):
        command_line(words[1:], standalone_mode=False)
    with pytest.raises(spy.stop):
        exec(form(folder, name, places[2]).python(), {})  # noqa: S102
    page, command, python = spy.seen
    kept = {"source"}  # the page and the command keep rows in memory
    assert page == {**command, **{key: page[key] for key in kept}}
    assert {**python, **{key: page[key] for key in kept}} == page
    assert (page["ledger"] is not None) == ("ledger" in CASES[name][1])


def test_columns_with_commas_and_spaces_are_named_by_patterns(folder, tmp_path):
    command = form(folder, "strange names", tmp_path).command()
    assert shlex.split(command)[7:9] == ["--columns", "a? b,?edge?,<b onmouseover=alert(1)>&x"]
    assert NAMES[2:] == ["a, b", " edge ", "<b onmouseover=alert(1)>&x"]


def test_names_that_options_cannot_write(tmp_path, visitor):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"a,b": [1.0], "a;b": [2.0], "c": [3.0]}), tmp_path / "twins.parquet")
    page = visitor.plan(tmp_path / "twins.parquet", k="1", which="some", column=["0", "2"])
    assert "cannot be written as an option" in page.text
    assert "columns=[&#39;a,b&#39;, &#39;c&#39;]" in page.text


@pytest.mark.slow
def test_both_really_run(folder, tmp_path, visitor):
    """As a user would: in a shell, and in a new Python."""
    page = visitor.plan(
        folder / "people.csv", unit="0", ledger=str(tmp_path / "book.json"), cap="4", out=str(tmp_path / "one")
    )
    from html import unescape

    command, lines = (
        unescape(re.search(rf'id="{one}">(.*?)</code>', page.text, re.DOTALL)[1]) for one in ("command", "python")
    )
    visitor.spend(page)
    words = [sys.executable, "-m", "eigenveil.cli", *shlex.split(command.replace("/one", "/two"))[1:]]
    for call in (words, [sys.executable, "-c", lines.replace("/one", "/three")]):
        done = subprocess.run(  # noqa: S603
            call,
            cwd=tmp_path,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "report.html").exists()
        (tmp_path / "report.html").unlink()
    models = [load(tmp_path / name) for name in ("one", "two", "three")]
    assert (
        len({(model.epsilon, model.delta, tuple(model.feature_names_in_), model.n_components) for model in models})
        == 1
    )
    assert [len(model.ledger_.entries) for model in models] == sorted(
        len(model.ledger_.entries) for model in models
    )
    assert all(model.ledger_.private for model in models)
