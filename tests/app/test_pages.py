"""What pages show: schema and no values, plans, costs, refusals, one fit per offer, and the report."""

import html
import json
import re
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eigenveil as ev
from eigenveil.app import fits, forecasts
from eigenveil.app.choices import STEPS, PublicGuess
from eigenveil.app.forecasts import percent
from eigenveil.errors import InvalidInputError
from eigenveil.privacy import Ledger
from hostile.names import NASTY_NAMES, acts_on_page
from support.people_table import CANARY, CANARY_ID

from .conftest import NAMES, OWN, PLANS, Tags, spend_address


def words(page):
    """Text of a page, without tags."""
    return html.unescape(re.sub(r"<[^>]+>", " ", page.text)).replace("\n", " ")


# -- choosing a file ---------------------------------------------------------------------------------


def test_a_folder_lists_its_data_files(visitor, folder):
    page = visitor.get("/", folder=str(folder))
    assert {"people.parquet", "people.csv", "rows.npy", "more/"} <= set(re.findall(r">([^<>\s]+)<", page.text))
    assert "notes.txt" not in page.text
    assert "hidden" not in page.text.replace(" hidden>", "")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "expected the path of a file or folder"),
        ("a\0b", "expected the path of a file or folder"),
        ("../" * 30 + "etc/shadow", "cannot determine the format"),
        ("nowhere.csv", "there is no file or folder"),
        ("/etc/passwd", "cannot determine the format"),
        ("no/*.csv", "no file matches"),
        ("~nobody-at-all/a.csv", "there is no file or folder"),
    ],
)
@pytest.mark.parametrize("address", ["/settings", "/plan"])
def test_paths_that_lead_nowhere(visitor, address, data, message):
    page = visitor.get(address, data=data)
    assert page.status_code == 400
    assert message in words(page)


def test_folders_that_do_not_exist(visitor, folder):
    for path in ("/nowhere", str(folder / "people.csv"), "\0"):
        assert visitor.get("/", folder=path).status_code == 400
    assert visitor.get("/").status_code == 200  # the current folder
    assert visitor.get("/nowhere").status_code == 404
    assert visitor.get("/fits/1").status_code == 404
    assert visitor.get(f"/fits/{'9' * 5000}").status_code == 404


def test_folders_that_may_not_be_read(visitor, monkeypatch):
    def refuse(_):
        raise PermissionError(13, "Permission denied", "/secret")

    monkeypatch.setattr(Path, "iterdir", refuse)
    page = visitor.get("/")
    assert page.status_code == 400
    assert "/secret: Permission denied." in words(page)


# -- columns -----------------------------------------------------------------------------------------


def test_columns_are_shown_with_their_types(visitor, folder):
    page = visitor.get("/settings", data=str(folder / "people.parquet"))
    rows = re.findall(r"<th scope=\"row\">(.*?)</th>\s*<td>(.*?)</td>\s*<td>(.*?)</td>", page.text)
    shown = [tuple(map(html.unescape, row)) for row in rows]
    assert shown == [("person_id", "string", "text"), *((name, "double", "numbers") for name in NAMES)]
    assert "<b onmouseover" not in page.text
    assert "&lt;b onmouseover=alert(1)&gt;&amp;x" in page.text


def test_names_do_not_act_on_the_page(visitor, tmp_path):
    """Changes of direction, say, could make a page say something else."""
    table = pa.table(list(np.ones((len(NASTY_NAMES), 1))), names=list(NASTY_NAMES.values()))
    for name in ("\x1b[31m", "\u202egpj"):
        pq.write_table(table, tmp_path / f"{name}.parquet")
        pages = [
            visitor.get("/", folder=str(tmp_path)),
            visitor.get("/settings", data=str(tmp_path / f"{name}.parquet")),
            visitor.plan(tmp_path / f"{name}.parquet", k="1"),
        ]
        for page in pages:
            assert page.status_code == 200
            assert acts_on_page(page.text.replace(f'value="{tmp_path}/{name}.parquet"', "")) == []


def test_columns_of_arrays_have_positions(visitor, folder):
    page = visitor.get("/settings", data=str(folder / "rows.npy"))
    assert "column 4" in page.text
    assert "column 5" not in page.text
    plan = visitor.plan(folder / "rows.npy", which="some", column=["0", "3"])
    assert "of 2 columns" in words(plan)
    assert "4000" not in plan.text


def test_a_file_with_very_many_columns_is_refused(visitor, tmp_path):
    np.save(tmp_path / "wide.npy", np.zeros((2, 2001)))
    assert "lists up to 2,000 columns" in words(visitor.get("/settings", data=str(tmp_path / "wide.npy")))


def test_column_names_are_escaped_on_every_page(reader, folder):
    reader.get("/settings", data=str(folder / "people.parquet"))
    reader.spend(reader.plan(folder / "people.parquet", unit="0", which="some", column=["5", "1"]))
    reader.get("/fits/1/report")
    assert all("onmouseover" in page for page in reader.seen)
    for page in reader.seen:
        assert "b" not in Tags(page).names
        assert "onmouseover" not in Tags(page).attributes


# -- settings ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"k": "0"}, "the number of components: expected a whole number from 1"),
        ({"k": "six"}, "the number of components"),
        ({"k": "99"}, "99"),
        ({"unit": "17"}, "the column of person ids"),
        ({"which": "some", "column": []}, "at least one column"),
        ({"which": "some", "column": ["0"], "unit": "0"}, "at least one column"),
        ({"which": "some", "column": ["0"]}, "expected columns of numbers, got 'person_id' (string)"),
        ({"which": "all"}, "expected columns of numbers, got 'person_id' (string)"),
        ({"which": "some", "column": ["-1"]}, "the columns"),
        ({"delta": "0"}, "delta"),
        ({"delta": "much"}, "delta: expected a number"),
        ({"n": "many"}, "the number of people"),
        ({"spectrum": "rainbow"}, "expected a spectrum"),
        ({"step": "13"}, "the position of the slider"),
        ({"cap": "3"}, "a cap is the cap of a ledger file"),
        ({"out": "/proc"}, "already exists"),
        ({"ledger": "LEDGER"}, "is not a ledger file"),
        ({"ledger": "NEW", "cap": "-1"}, "epsilon"),
    ],
    ids=str,
)
def test_wrong_settings_come_back_with_the_form(visitor, folder, tmp_path, given, message):
    given = {"k": "3", **given}
    if "ledger" in given:
        given["ledger"] = str(tmp_path / given["ledger"])
        (tmp_path / "LEDGER").write_bytes(b"\xff\xfe")
    page = visitor.plan(folder / "people.parquet", **{"which": "some", "column": ["1", "2", "3"], **given})
    assert page.status_code == 400
    assert message in words(page)
    assert 'role="alert"' in page.text
    assert f'name="k" min="1" value="{html.escape(given["k"])}"' in page.text
    assert list(tmp_path.iterdir()) == ([tmp_path / "LEDGER"] if "ledger" in given else [])


# -- plans -------------------------------------------------------------------------------------------


def test_the_plan_moves_with_the_slider(visitor, folder):
    steps = [0, 6, len(STEPS) - 1]
    pages = [visitor.plan(folder / "people.parquet", unit="0", step=str(step)) for step in steps]
    expected = ev.plan(2000, 5, 2, epsilon=STEPS)
    for page, step in zip(pages, steps, strict=True):
        row = expected.rows[step]
        assert f"What ε = {row.epsilon:g} means" in words(page)
        assert f"At ε = {row.epsilon:g}, the 2 components are expected to capture about" in words(page)
        assert f"about {percent(row.energy)} of the variance" in words(page)
        assert f"Spend ε = {row.epsilon:g}, δ = 1e-06" in words(page)
    assert "at most 73% instead of 50%" in words(pages[1])
    assert len({re.search(r"<svg.*?</svg>", page.text, re.DOTALL)[0] for page in pages}) == 3


def test_a_plan_takes_the_number_of_people_from_the_user(visitor, folder, monkeypatch):
    asked, plan = (
        [],
        PLANS.of(PublicGuess(n=2000, rows_each=1, spectrum="slow decay"), d=5, k=2, delta=1e-6).result(),
    )

    def record(*numbers, **options):
        asked.append((numbers, options))
        return plan

    monkeypatch.setattr(forecasts, "plan", record)
    page = visitor.plan(folder / "people.parquet", n="300", unit="0", rows="3", spectrum="flat", k="3")
    options = {"epsilon": STEPS, "delta": 1e-6, "spectrum": "flat", "spread": 3, "center": True, "scale": None}
    assert asked == [((300, 5, 3), options)]
    assert "for 300 people with 3 rows each and the spectrum “flat”" in words(page)
    assert not re.search(r"\b[24],?000\b", words(page))  # the numbers in the file


def test_plans_pay_for_what_the_fit_buys(visitor, folder, monkeypatch):
    asked = []

    def record(*_, **options):
        asked.append((options["center"], options["scale"]))
        raise InvalidInputError("enough.")

    monkeypatch.setattr(forecasts, "plan", record)
    for scale in ("none", "private"):
        visitor.plan(folder / "people.parquet", unit="0", scale=scale, n="123")
    assert asked == [(True, None), (True, "private")]


def test_errors_in_plans_are_shown(visitor, folder, monkeypatch):
    def fail(*_, **__):
        raise InvalidInputError("no plan today.")

    monkeypatch.setattr(forecasts, "plan", fail)
    page = visitor.plan(folder / "people.parquet", unit="0", n="77")
    assert page.status_code == 400
    assert "no plan today" in words(page)


# -- spending ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "unit"),
    [
        ("people.parquet", "0"),
        pytest.param("people.csv", "0", marks=pytest.mark.slow),
        pytest.param("rows.npy", "", marks=pytest.mark.slow),
    ],
)
@pytest.mark.filterwarnings("ignore:.*noise in the scale is large")  # at some draws of the noise
def test_no_value_is_on_any_page(reader, folder, tmp_path, data, unit):
    reader.get("/", folder=str(folder))
    reader.get("/settings", data=str(folder / data))
    reader.plan(folder / data, unit=unit, k="9")
    done = reader.spend(reader.plan(folder / data, unit=unit, scale="private", out=str(tmp_path / "model")))
    assert "The fit is done." in words(done)
    assert len(reader.get(done.url.path + "/report").text) > 50_000
    files = [path.read_text("latin-1") for path in (tmp_path / "model").rglob("*") if path.is_file()]
    assert files
    texts = [*reader.seen, *files]
    for text in texts:
        assert f"{CANARY:.5g}" not in text
        assert CANARY_ID not in text


def test_a_fit_shows_its_report_and_saves_its_model(reader, folder, tmp_path):
    plan = reader.plan(folder / "people.parquet", unit="0", out=str(tmp_path / "model"))
    done = reader.spend(plan)
    report = reader.get("/fits/1/report")
    assert "sandbox;" in report.headers["content-security-policy"]
    assert "frame-ancestors 'self'" in report.headers["content-security-policy"]
    assert "Private: ε = 1" in words(report)
    assert str(tmp_path / "model") in words(done)
    saved = reader.get("/fits/1/report", save="")
    assert saved.headers["content-disposition"] == 'attachment; filename="report.html"'
    assert saved.text == report.text
    model = ev.load(tmp_path / "model")
    assert model.ledger_.private
    assert round(model.ledger_.epsilon(1e-6), 4) <= 1
    assert (tmp_path / "model" / "command.txt").read_text().startswith("eigenveil fit ")
    again = reader.plan(folder / "people.parquet", unit="0")
    assert "has been fitted 1 time already" in words(again)


def test_an_offer_is_accepted_once(app, visitor, folder, tmp_path):
    book = tmp_path / "book.json"
    plan = visitor.plan(folder / "people.parquet", unit="0", ledger=str(book), cap="5")
    first = visitor.press_spend(plan)
    visitor.until_done(first.headers["location"])
    spent = book.read_text()
    again = visitor.press_spend(plan)
    assert (again.status_code, again.headers["location"]) == (303, first.headers["location"])
    assert len(app.pages.fits.runs) == 1
    assert book.read_text() == spent


def test_a_double_click_starts_one_fit(app, visitor, folder):
    plan = visitor.plan(folder / "people.parquet", unit="0")
    answers = []
    clicks = [threading.Thread(target=lambda: answers.append(visitor.press_spend(plan))) for _ in range(2)]
    for click in clicks:
        click.start()
    for click in clicks:
        click.join()
    assert [(answer.status_code, answer.headers["location"]) for answer in answers] == [(303, "/fits/1")] * 2
    assert len(app.pages.fits.runs) == 1
    assert app.pages.fits.runs[0].wait(60)


def test_made_up_offers_are_refused(app):
    answer = app.client.post("/spend/made-up", headers={"Origin": OWN})
    assert answer.status_code == 400
    assert "this offer is unknown" in words(answer)


def test_one_fit_at_a_time(app, visitor, folder):
    plans = [visitor.plan(folder / "people.parquet", unit="0") for _ in range(2)]
    assert spend_address(plans[0]) != spend_address(plans[1])
    first = visitor.press_spend(plans[0])
    second = visitor.press_spend(plans[1])
    assert second.status_code == 400
    assert "another fit is running" in words(second)
    visitor.until_done(first.headers["location"])
    assert visitor.press_spend(plans[1]).status_code == 303  # the offer still stands
    assert app.pages.fits.runs[1].wait(60)


def test_the_ledger_is_shown_before_and_after(visitor, folder, tmp_path):
    book = tmp_path / "book.json"
    plan = visitor.plan(folder / "people.parquet", unit="0", ledger=str(book), cap="1.2")
    assert row_of(plan) == ["0", "1", "1.2"]
    assert not book.exists()
    done = visitor.spend(plan)
    assert row_of(done) == ["0", "1", "1.2"]
    assert round(Ledger.from_json(book.read_text()).epsilon(1e-6), 4) == 1
    more = visitor.plan(folder / "people.parquet", unit="0", ledger=str(book), step="4")
    before, after, cap = map(float, row_of(more))
    assert (before, cap) == (1, 1.2)
    assert 1.1 < after < 1.2
    assert float(row_of(visitor.spend(more))[1]) == after


def row_of(page):
    """Numbers in the table of the ledger: before, after, cap."""
    table = re.search(r"<th scope=\"row\">ε</th>(.*?)</tr>", page.text)[1]
    return re.findall(r"<td>(?:<strong>)?([^<]+)", table)


def test_a_budget_that_does_not_suffice_is_refused(app, visitor, folder, tmp_path):
    book = tmp_path / "book.json"
    given = {"unit": "0", "ledger": str(book), "cap": "1.2"}
    twice = [visitor.plan(folder / "people.parquet", **given) for _ in range(2)]
    visitor.spend(twice[0])
    spent = book.read_text()
    page = visitor.plan(folder / "people.parquet", unit="0", ledger=str(book))
    assert "does not cover this fit" in words(page)
    assert "/spend/" not in page.text
    late = visitor.press_spend(twice[1])  # it was offered while the budget sufficed
    assert late.status_code == 400
    assert "The ledger has changed since the plan. Nothing was spent." in words(late)
    assert book.read_text() == spent
    assert len(app.pages.fits.runs) == 1


def test_a_failure_says_what_was_spent(app, visitor, folder, monkeypatch, tmp_path):
    book = tmp_path / "book.json"
    plan = visitor.plan(folder / "people.parquet", unit="0", ledger=str(book))

    def note(self, step):
        self.progress = step
        if step.step == 4:
            raise OSError(28, "No space left on device", "/some/file")

    monkeypatch.setattr(fits.FitRun, "_note", note)
    page = visitor.spend(plan)
    assert "/some/file: No space left on device." in words(page)
    assert "4 releases were charged" in words(page)
    assert len(json.loads(book.read_text())["entries"]) == 4
    assert "iframe" not in page.text
    assert app.client.get("/fits/1/report").status_code == 404


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_unexpected_errors_are_not_quoted(visitor, folder, monkeypatch):
    plan = visitor.plan(folder / "people.parquet", unit="0")

    def fail(*_, **__):
        raise RuntimeError(f"{CANARY} of {CANARY_ID}")

    monkeypatch.setattr(fits, "render_report", fail)
    page = visitor.spend(plan)
    assert "an unexpected error (RuntimeError)" in words(page)
    assert "releases were charged" in words(page)
    assert CANARY_ID not in page.text


def test_a_model_that_cannot_be_saved_still_has_a_report(visitor, folder, tmp_path, monkeypatch):
    plan = visitor.plan(folder / "people.parquet", unit="0", out=str(tmp_path / "model"))

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fits, "save", fail)
    page = visitor.spend(plan)
    assert "a file: No space left on device." in words(page)
    assert "iframe" in page.text
    assert "Nothing was spent" not in words(page)


def test_a_ledger_that_is_not_private_is_named(visitor, folder, tmp_path):
    book = tmp_path / "book.json"
    ledger = Ledger(ev.Budget.from_epsilon_delta(3.0, 1e-6))
    ev.DPPCA(1, ledger=ledger, random_state=0).fit(folder / "people.parquet", units="person_id")
    book.write_text(ledger.to_json())
    page = visitor.plan(folder / "people.parquet", unit="0", ledger=str(book))
    assert "NOT PRIVATE: seeded" in words(page)
    assert "NOT PRIVATE: seeded" in words(visitor.spend(page))
