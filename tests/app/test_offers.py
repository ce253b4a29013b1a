"""An offer is what the user has seen: other columns, another ledger or lost outputs are refused."""

import json
import re
from types import SimpleNamespace

import pytest

import eigenveil as ev
from eigenveil.app import fits
from eigenveil.errors import InvalidInputError
from eigenveil.persistence.outputs import check_outputs_apart
from eigenveil.privacy import Budget, Ledger

from .test_pages import words


def lines(path, rows, header="a,b,c"):
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


@pytest.mark.parametrize("last", ["7", "many"])
def test_no_line_of_a_csv_file_selects_columns(visitor, tmp_path, last):
    """At a tie, one line decides whether a column holds numbers. The column is used or refused, never dropped."""
    data = lines(tmp_path / "tie.csv", [*(f"{i},{i},{i}" for i in range(3)), *["1,2,x"] * 2, f"1,2,{last}"])
    page = visitor.plan(data, k="1")
    if last == "7":
        assert "of 3 columns" in words(page)
    else:
        assert page.status_code == 400
        assert "got 'c' (string)" in words(page)
    ticked = visitor.plan(data, k="1", which="some", column=["0", "1"])
    assert "of 2 columns" in words(ticked)
    assert "--columns a,b" in words(ticked)


def spend(ledger):
    ledger.charge_gaussian("other", mu=0.1, sensitivity=1.0, scale=10.0)


@pytest.mark.parametrize(
    "change",
    [
        None,
        spend,
        lambda ledger: ledger.mark_not_private("seeded"),
        lambda _: Ledger(Budget.from_epsilon_delta(9.0, 1e-6)),
    ],
    ids=["gone", "spent", "not private", "other cap"],
)
def test_a_ledger_that_changes_after_the_plan_is_refused(app, visitor, folder, tmp_path, change):
    book, ledger = tmp_path / "book.json", Ledger(Budget.from_epsilon_delta(5.0, 1e-6))
    book.write_text(ledger.to_json())
    plan = visitor.plan(folder / "people.parquet", unit="0", ledger=str(book))
    if change is None:
        book.unlink()
    else:
        book.write_text((change(ledger) or ledger).to_json())
    before = book.read_text() if book.exists() else None
    answer = visitor.press_spend(plan)
    assert answer.status_code == 400
    assert "The ledger has changed since the plan. Nothing was spent." in words(answer)
    assert (book.read_text() if book.exists() else None) == before
    assert app.pages.fits.runs == []


def test_a_new_ledger_file_that_appears_after_the_plan_is_refused(visitor, folder, tmp_path):
    book = tmp_path / "book.json"
    plan = visitor.plan(folder / "people.parquet", unit="0", ledger=str(book), cap="5")
    book.write_text(Ledger(Budget.from_epsilon_delta(5.0, 1e-6)).to_json())
    assert "The ledger has changed" in words(visitor.press_spend(plan))


def test_a_ledger_that_changes_while_rows_are_read_is_refused(app, visitor, folder, tmp_path, monkeypatch):
    book = tmp_path / "book.json"
    book.write_text(Ledger(Budget.from_epsilon_delta(5.0, 1e-6)).to_json())
    plan = visitor.plan(folder / "people.parquet", unit="0", ledger=str(book))
    model_of = fits.Choices.model

    def model(self, callback=None):
        if callback is not None:  # the fit begins
            book.unlink()
        return model_of(self, callback)

    monkeypatch.setattr(fits.Choices, "model", model)
    page = visitor.spend(plan)
    assert "The ledger has changed since the plan." in words(page)
    assert not book.exists()
    assert app.pages.fits.runs[0].progress is None


def test_a_ledger_that_changes_just_before_it_is_locked_is_refused(visitor, folder, tmp_path, monkeypatch):
    book, ledger = tmp_path / "book.json", Ledger(Budget.from_epsilon_delta(5.0, 1e-6))
    book.write_text(ledger.to_json())
    plan = visitor.plan(folder / "people.parquet", unit="0", ledger=str(book))
    open_ledger = fits.open_ledger

    def late(account):
        spend(ledger)
        book.write_text(ledger.to_json())
        return open_ledger(account)

    monkeypatch.setattr(fits, "open_ledger", late)
    assert "The ledger has changed since the plan." in words(visitor.spend(plan))
    assert Ledger.from_json(book.read_text()).entries == ledger.entries


@pytest.mark.parametrize("header", ["a,b,x", "b,a,c", "a,b,c,d"])
def test_a_file_whose_columns_change_after_the_plan_is_refused(app, visitor, tmp_path, header):
    data = lines(tmp_path / "data.csv", ["1,2,3", "2,1,5"] * 50)
    plan = visitor.plan(data, k="1", ledger=str(tmp_path / "book.json"))
    lines(data, ["1,2,3,4"[: len(header)], "2,1,5,6"[: len(header)]] * 50, header)
    page = visitor.spend(plan)
    assert "The data file has changed since the plan." in words(page)
    assert "Nothing was spent." in words(page)
    assert not (tmp_path / "book.json").exists()
    assert app.pages.fits.runs[0].progress is None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_the_model_is_saved_before_the_report_is_made(visitor, folder, tmp_path, monkeypatch):
    plan = visitor.plan(folder / "people.parquet", unit="0", out=str(tmp_path / "model"))

    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr(fits, "render_report", fail)
    page = visitor.spend(plan)
    assert "an unexpected error (MemoryError)" in words(page)
    assert f"The model is in {tmp_path / 'model'}" in re.sub(" +", " ", words(page))
    assert "No model was written" not in words(page)
    assert "Count this budget as spent." in words(page)
    assert ev.load(tmp_path / "model").ledger_.private
    assert (tmp_path / "model" / "command.txt").exists()


@pytest.mark.parametrize("ledger", ["model", "model/book.json", "link/book.json"])
def test_a_ledger_in_the_folder_of_the_model_is_refused(visitor, folder, tmp_path, ledger):
    (tmp_path / "link").symlink_to(tmp_path / "model")
    given = {"out": str(tmp_path / "model"), "ledger": str(tmp_path / ledger)}
    page = visitor.plan(folder / "people.parquet", unit="0", **given)
    assert page.status_code == 400
    assert "is at, or inside, the model folder" in words(page)
    assert not (tmp_path / "model").exists()


def test_outputs_that_replace_one_another_are_refused(tmp_path):
    one, other = tmp_path / "one", tmp_path / "two" / ".." / "one"
    for ledger, out, report in (
        (one, None, other),
        (one, other, None),
        (one / "x", other, None),
        (None, one, other),
    ):
        with pytest.raises(InvalidInputError):
            check_outputs_apart(ledger, out, report)
    check_outputs_apart(one, tmp_path / "on", tmp_path / "report")
    check_outputs_apart(None, one, one / "report")


def test_a_ledger_with_another_relation_is_refused(visitor, folder, tmp_path):
    book = tmp_path / "book.json"
    book.write_text(Ledger(Budget.from_epsilon_delta(5.0, 1e-6), relation="replace").to_json())
    page = visitor.plan(folder / "people.parquet", unit="0", ledger=str(book))
    assert "the ledger has the relation replace, but this page fits with add-remove" in words(page)
    assert "/spend/" not in page.text
    assert json.loads(book.read_text())["entries"] == []


def test_a_fit_that_cannot_start_does_not_block_later_fits(visitor, folder, monkeypatch):
    def fail():
        raise RuntimeError("can't start new thread")

    plan = visitor.plan(folder / "people.parquet", unit="0")
    with monkeypatch.context() as patch:
        patch.setattr(fits, "Thread", lambda **_: SimpleNamespace(start=fail))
        page = visitor.spend(plan)
    assert "could not start a thread" in words(page)
    assert "Nothing was spent." in words(page)
    again = visitor.spend(visitor.plan(folder / "people.parquet", unit="0"))
    assert "The fit is done." in words(again)


def test_the_newest_offers_are_kept(app, visitor, folder, monkeypatch):
    monkeypatch.setattr(fits, "_MOST_OFFERS", 2)
    plans = [visitor.plan(folder / "people.parquet", unit="0") for _ in range(3)]
    assert len(app.pages.fits._offers) == 2
    assert "this offer is unknown" in words(visitor.press_spend(plans[0]))
    assert "The fit is done." in words(visitor.spend(plans[1]))


def test_a_plan_writes_nothing(app, visitor, folder, tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    for out in ("loop", "loop/model", "new/folder/model"):
        page = visitor.plan(folder / "people.parquet", unit="0", out=str(tmp_path / out))
        assert [path.name for path in tmp_path.iterdir()] == ["loop"]
        visitor.press_spend(page)
        assert app.pages.fits.runs[-1].wait(60)
    assert ev.load(tmp_path / "new" / "folder" / "model").ledger_.private
