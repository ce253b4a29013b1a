"""Rule 16: what a fit publishes names no file, no folder, no id, no index and no value of the data, and no count.

The adversary reads model folder, report, command, ledger file, map of scores, stdout, reprs and pickles.
"""

import inspect
import os
import pathlib
import pickle
import shlex
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from starlette.datastructures import QueryParams

import eigenveil as ev
from eigenveil.app.choices import read_form
from eigenveil.app.fits import FitRun, Offer
from eigenveil.cli.app import app as command_line
from eigenveil.cli.commands import fit
from eigenveil.cli.implementations import fit as fit_module
from eigenveil.cli.shown_command import shown_command
from support.fixed_noise import noise_of_a_test, noise_of_shared_fixtures

__all__ = ["noise_of_a_test", "noise_of_shared_fixtures"]  # real noise could look like a canary

HOME, FOLDER, FILE = "home-of-canary", "ward-canary", "canary-doe"
ID, TEXT, INDEX, NUMBER = "id-canary", "text-canary", 918273645, 7234.123456789
TRACES = ("canary", str(INDEX), "7234.1234")


def table(n=3000):
    rows = np.random.default_rng(0).normal(size=(n, 4)) * [4, 2, 1, 1]
    rows[17] = NUMBER
    frame = pd.DataFrame(rows, columns=list("abcd"), index=np.arange(n) + INDEX - 17)
    frame.insert(0, "who", [ID if row < 20 else f"p{row // 10}" for row in range(n)])
    frame["site"] = [TEXT if row % 100 == 17 else ["north", "south"][row % 2] for row in range(n)]
    return frame


def files(folder, parts):
    """Write the table as CSV files whose names are a person's; return their names."""
    folder.mkdir(parents=True)
    names = []
    for number, part in enumerate(np.array_split(np.arange(3000), parts)):
        names.append(folder / f"{FILE}-{number:02}.csv")
        table().iloc[part].to_csv(names[-1], index=False)
    return names


def content(place):
    """Return all files below a folder, as bytes."""
    return {path.name: path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}


def assert_no_trace(*published):
    assert published
    for one in published:
        whole = one if isinstance(one, bytes) else one.encode()
        found = [trace for trace in TRACES if trace.encode() in whole]
        assert not found, (found, whole[:200])
        assert np.float64(NUMBER).tobytes() not in whole


def terminal(place, *words):
    """Return stdout of a command that ran in a folder with canaries in its name, in a home of that kind."""
    home = {"HOME": str(place), "USERPROFILE": str(place), "COLUMNS": "200"}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "eigenveil.cli", *map(str, words)],
        cwd=place, env={**os.environ, **home}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


PEOPLE = ["--units", "who", "--encode", "site=north,south"]


@pytest.mark.parametrize("unit", [["--columns", "a,b,c,d"], PEOPLE], ids=["rows", "people"])
def test_the_command_line(unit, tmp_path):
    place = tmp_path / HOME
    data = files(place / FOLDER, 3)
    book, out, page = place / "canary-ledger.json", place / "canary-model", place / "canary-report.html"
    where = ["--epsilon", "20", "--ledger", book, "--cap-epsilon", "99", "--out", out, "--report", page, "--json"]
    shown = terminal(place, "fit", *data, *unit, "--score-map", "0.5", *where)
    later = [terminal(place, "inspect", out, "--json"), terminal(place, "inspect", out, "--ledger")]
    terminal(place, "report", out, "--out", place / "again.html")
    published = content(out)
    assert {"model.json", "command.txt", "score-map.json"} <= set(published)
    assert_no_trace(shown, *later, *published.values(), book.read_bytes(), page.read_bytes())
    assert_no_trace((place / "again.html").read_bytes())
    command = published["command.txt"].decode()
    assert command.startswith(
        f"eigenveil fit DATA {shlex.join(unit)} --epsilon 20 --ledger LEDGER --cap-epsilon 99"
    )
    assert command.rstrip() in page.read_text().replace("&#39;", "'")


def test_how_many_files_there_are_is_not_published(tmp_path):
    """One file per patient: their number is the exact number of patients."""
    fits = []
    for parts in (1, 7):
        place = tmp_path / f"{parts} files"
        data = files(place / FOLDER, parts)
        words = ["--columns", "a,b,c,d", "--seed", "1", "--out", place / "m", "--report", place / "r.html"]
        stdout = terminal(place, "fit", *data, *words, "--json")
        fits.append({**content(place / "m"), "page": (place / "r.html").read_bytes(), "stdout": stdout})
    assert fits[0] == fits[1]


def every_option(out):
    """Words that give every option of ``fit`` a value that is not its default, and the words that are shown."""
    public = [
        "-k", "1", "--units", "who", "--columns", "a,b*", "--encode", "site=north,south", "--fill", "a=2.5",
        "--fill", "b=1", "--no-header", "--epsilon", "0.25", "--delta", "1e-07", "--relation", "replace",
        "--cap-epsilon", "2", "--seed", "3", "--score-map", "0.5", "--algorithm", "dp-gauss-1", "--no-center",
        "--scale", "lab_*=private", "--scale", "a=2", "--bounds", "0,255", "--engine", "dask", "--memory", "2GB",
        "--grid", "2x2", "--score-bins", "8", "--score-groups", "site=north,south", "--json", "--force",
    ]  # fmt: skip
    places = {"--ledger": "LEDGER", "--out": "MODEL", "--report": "REPORT.html", "--scheduler": "ADDRESS"}
    return public, places, [word for flag in places for word in (flag, str(out / f"{FILE}{flag}"))]


def test_the_command_has_all_options_and_no_path(tmp_path, monkeypatch):
    """Read the shown command again: it has the same options, also those that come later."""
    seen = []
    monkeypatch.setattr(fit_module, "run", lambda **given: seen.append(given))
    public, places, hidden = every_option(tmp_path)
    command_line(["fit", f"{FILE}.csv", f"{FOLDER}/*", *public, *hidden], standalone_mode=False)
    command = shown_command(seen[0])
    assert_no_trace(command)
    assert command.startswith("eigenveil fit DATA --units who --columns")
    command_line(shlex.split(command)[1:], standalone_mode=False)
    hides = {"data": ["DATA"], **{flag[2:]: place for flag, place in places.items()}}
    assert {name: str(value) for name, value in seen[1].items()} == {
        name: str(value) for name, value in {**seen[0], **hides}.items()
    }
    defaults = {name: one.default for name, one in inspect.signature(fit.command).parameters.items()}
    left = [name for name, value in seen[0].items() if value == defaults[name]]
    assert left == ["plan_only"], "a new option: add it to every_option"


@pytest.mark.parametrize("column", ["a", "a,b"])
def test_the_app(column, tmp_path):
    """A column that no option can name, so that the folder of the model keeps lines of Python."""
    place = tmp_path / HOME
    files(place / FOLDER, 1)
    frame = table().drop(columns="site").rename(columns={"a": column})
    twin = {"a;b": frame["b"]} if "," in column else {}
    data = place / FOLDER / f"{FILE}.parquet"
    frame.assign(**twin).to_parquet(data, index=False)
    names = list(frame.assign(**twin).columns)
    pairs = {"data": str(data), "unit": "0", "n": "300", "which": "some", "ledger": str(place / "canary.json")}
    columns = [("column", str(names.index(column))), ("column", "2")]
    given = [*pairs.items(), ("cap", "3"), ("out", str(place / "canary-model")), *columns]
    run = FitRun(Offer.of(read_form(QueryParams(given))[0]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run._run()
    assert run.saved, run.error
    published = content(place / "canary-model")
    assert_no_trace(run.report, *published.values(), (place / "canary.json").read_bytes())
    assert b"DATA" in published["command.txt"]
    assert (b"eigenveil fit DATA" in published["command.txt"]) == (column == "a")


def fitted(data, **given):
    pca = ev.DPPCA(2, epsilon=4.0, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pca.fit(data, units="who")
        return pca, pca.private_scores(data, units="who", epsilon=1.0, ledger=ev.Ledger(ev.Budget.from_mu(9.0)))


@pytest.mark.parametrize("kind", ["frame", "paths"])
def test_python(kind, tmp_path):
    place = tmp_path / HOME
    names = [str(name) for name in files(place / FOLDER, 3)]
    pca, scores = fitted(table() if kind == "frame" else names, encode={"site": ["north", "south"]})
    ev.save(pca, place / "canary-model")
    ev.write_report(pca, place / "canary.html", scores=scores)
    values = {name: value for name, value in vars(pca).items() if not name.startswith("__")}
    texts = [repr(pca), pca._repr_html_(), repr(values), repr(scores), str(pca.ledger_), pca.ledger_.to_json()]
    texts += [repr(pca.release_), repr(pca.warnings_), repr(scores.ledger), scores.ledger.to_json()]
    pickles = [pickle.dumps(one) for one in (pca, pca.release_, pca.ledger_, ev.load(place / "canary-model"))]
    published = content(place / "canary-model")
    assert_no_trace(*texts, *pickles, *published.values(), (place / "canary.html").read_bytes())


def test_streams(tmp_path):
    place = tmp_path / HOME
    place.mkdir()
    frame = table().drop(columns="site")
    frame["who"] = [ID + str(row) for row in range(len(frame))]
    pca = ev.DPPCA(2, center=False, options={"batch_size": 1500}).partial_fit(frame, units="who")
    pca.stream.save(place / "canary.json")
    ev.save(pca, place / "model")
    ev.write_report(pca, place / "page.html")
    texts = [repr(pca), repr(pca.stream), str(pca.ledger_), pca.ledger_.to_json(), repr(pca.stream.release())]
    assert_no_trace(*texts, (place / "canary.json").read_bytes(), (place / "page.html").read_bytes())
    assert_no_trace(*content(place / "model").values())
    rows = ev.DPPCA(2, center=False, options={"batch_size": 1500}).partial_fit(
        table().drop(columns=["who", "site"])
    )
    rows.stream.save(place / "rows.json")
    assert_no_trace((place / "rows.json").read_bytes(), repr(rows), repr(vars(rows)))


def test_the_check_can_fail():
    for published in (
        f"fit {FILE}.csv",
        repr(table()),
        pickle.dumps(table()),
        f"{NUMBER}",
        str(pathlib.Path(HOME)),
    ):
        with pytest.raises(AssertionError):
            assert_no_trace(published)
