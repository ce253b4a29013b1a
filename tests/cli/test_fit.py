"""``eigenveil fit`` as a process: results, errors, interruptions."""

import contextlib
import json
import os
import re
import signal
import subprocess
import time

import numpy as np
import pyarrow.parquet as pq
import pytest

from eigenveil import Ledger
from eigenveil.persistence import load
from support.people_table import CANARY, CANARY_ID

from .conftest import COMMAND, environment


def shows_canary(text):
    """Whether a text has six digits of the canary, or eight in a figure, whose coordinates may agree in six."""
    outside = re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL)
    return "81.2345" in outside or any(canary in text for canary in ("81.234567", "81.234568", CANARY_ID))


def test_parquet_to_model_report_and_json(model):
    out, answer = model
    output = json.loads(answer.out)
    loaded = load(out / "model")
    assert output["private"] is True
    assert output["feature_names"] == ["age", "income", "x1", "x2", "x3"]
    assert np.array_equal(output["components"], loaded.components_)
    assert abs(loaded.components_[0, 0]) > 0.95
    assert output["spent"]["epsilon"] == pytest.approx(1.0, abs=1e-6)
    assert abs(output["n_samples"] - 5000) < 500, "people, not rows"
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "--columns &#39;age,income,x*&#39;" in page
    assert not [file for file in out.iterdir() if file.name.startswith(".")]


def test_no_value_of_the_data_is_disclosed(model, folder):
    out, answer = model
    assert CANARY_ID.encode() in (folder / "people.parquet").read_bytes()
    files = [file for file in out.rglob("*") if file.is_file()]
    assert len(files) == 4
    output = [answer.out.encode(), answer.err.encode(), *(file.read_bytes() for file in files)]
    assert not any(shows_canary(text.decode("utf-8", "replace")) for text in output)
    for canary in (np.float64(CANARY).tobytes(), np.float32(CANARY).tobytes()):
        assert not any(canary in text for text in output)


def test_csv_to_stdout_alone(eigenveil, folder, tmp_path):
    answer = eigenveil(
        "fit", folder / "people.csv", "-k", 1, "--columns", "x*,age", "--json", "--seed", 3, cwd=tmp_path
    )
    assert answer.code == 0, answer.err
    output = json.loads(answer.out)
    assert output["feature_names"] == ["x1", "x2", "x3", "age"]
    assert "not private" in answer.err
    assert output["private"] is False
    assert "seeded" in output["not_private_because"][0]
    assert not list(tmp_path.iterdir())


def test_scales_and_bounds_for_some_columns(eigenveil, folder):
    given = ("--scale", "x*=private", "--scale", "age=9", "--bounds", "age=0,110", "--epsilon", 4)
    planned = eigenveil("fit", folder / "rows.parquet", *given, "--plan-only", "--json")
    assert json.loads(planned.out)["scale"] == "private for some columns, declared public"
    answer = eigenveil("fit", folder / "rows.parquet", *given, "--json")
    assert answer.code == 0, answer.err
    scale = json.loads(answer.out)["scale"]
    assert scale[:2] == [9.0, 1.0]
    assert np.allclose(scale[2:], 1.0, atol=0.3)
    missing = eigenveil("fit", folder / "rows.parquet", "--scale", "weight=2", "--json")
    assert missing.code != 0
    assert "no column 'weight'" in missing.err


def test_a_second_fit_adds_up_and_is_refused(eigenveil, folder, tmp_path):
    book = tmp_path / "budget.json"
    fit = ("fit", folder / "rows.parquet", "-k", 1, "--json", "--ledger", book)
    first = eigenveil(*fit, "--epsilon", 1, "--cap-epsilon", 1.2)
    assert first.code == 0, first.err
    spent = Ledger.from_json(book.read_text())
    assert spent.epsilon(1e-6) == pytest.approx(1.0, abs=1e-6)
    second = eigenveil(*fit, "--epsilon", 1)
    assert (second.code, second.out) == (3, "")
    assert "No noise was drawn" in second.err
    assert book.read_text() == spent.to_json() + "\n"
    third = eigenveil(*fit, "--epsilon", 0.5)
    assert third.code == 0, third.err
    assert 1.0 < Ledger.from_json(book.read_text()).epsilon(1e-6) <= 1.2


@pytest.mark.slow
def test_a_cap_is_set_once(eigenveil, folder, tmp_path):
    book = tmp_path / "budget.json"
    fit = ("fit", folder / "rows.parquet", "--json", "--ledger", book, "--epsilon", 0.1)
    assert eigenveil(*fit, "--cap-epsilon", 1).code == 0
    answer = eigenveil(*fit, "--cap-epsilon", 5)
    assert answer.code == 2
    assert "set when the file is created" in answer.err


def destroyed(folder, tmp_path):
    """Write a Parquet file whose schema is intact and whose values are destroyed."""
    source = (folder / "people.parquet").read_bytes()
    footer = int.from_bytes(source[-8:-4], "little") + 8
    path = tmp_path / "destroyed.parquet"
    path.write_bytes(b"PAR1" + b"\0" * (len(source) - footer - 4) + source[-footer:])
    return path


def test_plan_only_reads_no_value(eigenveil, folder, tmp_path):
    path = destroyed(folder, tmp_path)
    with pytest.raises(OSError, match="page header"):
        pq.read_table(path)
    answer = eigenveil("fit", path, "-k", 2, "--units", "person_id", "--plan-only", "--json", "--epsilon", 0.5)
    assert answer.code == 0, answer.err
    plan = json.loads(answer.out)
    assert plan["columns"] == ["age", "income", "x1", "x2", "x3"]
    assert (plan["epsilon"], plan["n_components"], plan["private"]) == (0.5, 2, True)
    assert [file.name for file in tmp_path.iterdir()] == ["destroyed.parquet"]


def test_plan_only_reads_no_value_of_an_npz(eigenveil, tmp_path):
    path = tmp_path / "rows.npz"
    np.savez(path, np.random.default_rng(0).normal(size=(20_000, 3)))
    whole = path.read_bytes()
    end = whole.index(b"PK\x01\x02")
    path.write_bytes(whole[:20_000] + bytes(end - 20_000) + whole[end:])
    with pytest.raises(Exception, match="CRC"):
        np.load(path)["arr_0"]
    answer = eigenveil("fit", path, "-k", 2, "--plan-only", "--json")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["n_columns"] == 3
    book = tmp_path / "budget.json"
    failed = eigenveil("fit", path, "-k", 2, "--json", "--ledger", book)
    assert (failed.code, failed.out) == (1, "")
    assert "could not read" in failed.err
    assert not book.exists(), "detected before any budget is spent"


@pytest.mark.slow
def test_damaged_values_are_a_failure_and_leave_no_files(eigenveil, folder, tmp_path):
    path = destroyed(folder, tmp_path)
    book = tmp_path / "budget.json"
    answer = eigenveil("fit", path, "--columns", "age,income", "--out", tmp_path / "model", "--ledger", book)
    assert answer.code == 1
    assert "could not read" in answer.err
    assert [file.name for file in tmp_path.iterdir()] == ["destroyed.parquet"]


# -- maps of scores ------------------------------------------------------------------------------


def test_a_map_of_scores_is_charged_to_the_ledger_of_the_fit(eigenveil, folder, tmp_path):
    book = tmp_path / "budget.json"
    answer = eigenveil(
        "fit", folder / "people.parquet", "-k", 2, "--units", "person_id", "--score-map", 0.5, "--score-bins", 6,
        "--out", tmp_path / "model", "--report", tmp_path / "report.html", "--json", "--ledger", book,
    )  # fmt: skip
    assert answer.code == 0, answer.err
    output = json.loads(answer.out)
    counts = np.array(output["score_map"]["counts"])
    assert counts.shape == (6, 6)
    assert abs(counts.sum() - 5000) < 500, "people, not rows"
    assert output["score_map"]["components"] == [1, 2]
    ledger = Ledger.from_json(book.read_text())
    assert ledger.entries[-1].what == "histogram of scores, components 1 and 2"
    assert 1.0 < ledger.epsilon(1e-6) < 1.5, "together less than the sum"
    assert ledger.remaining_mu < 1e-4, "by default a new file has exactly the budget of this run"
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "score on component 2" in page
    assert f"ε = {ledger.epsilon(1e-6):.4g}" in page
    again = eigenveil("report", tmp_path / "model", "--out", tmp_path / "again.html")
    assert again.code == 0, again.err
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == page
    plain = json.loads(eigenveil("inspect", tmp_path / "model", "--json").out)
    assert plain["score_map"] == output["score_map"]
    for text in (answer.out, answer.err, page, (tmp_path / "model" / "score-map.json").read_text()):
        assert not shows_canary(text)


@pytest.mark.slow
def test_a_map_that_does_not_fit_is_refused_before_the_fit(eigenveil, folder, tmp_path):
    book = tmp_path / "budget.json"
    fit = ("fit", folder / "rows.parquet", "--json", "--ledger", book, "--cap-epsilon", 1, "--score-map", 0.5)
    for more in ([], ["--plan-only"]):
        answer = eigenveil(*fit, *more)
        assert answer.code == 3
        assert "No noise was drawn" in answer.err
        assert not book.exists()
    answer = eigenveil(*fit, "--epsilon", 0.5, "--plan-only")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["score_map_epsilon"] == 0.5


def test_a_map_for_each_public_group(eigenveil, folder, tmp_path):
    table = pq.read_table(folder / "people.parquet")
    half = ["north" if row % 4 == 0 else "south" for row in range(len(table))]
    pq.write_table(table.append_column("site", [half]), tmp_path / "sites.parquet")
    fit = (
        "fit", tmp_path / "sites.parquet", "--units", "person_id", "--columns", "age,income,x*", "--json",
        "--algorithm", "dp-gauss-1", "--score-map", 2, "--report", tmp_path / "report.html",
    )  # fmt: skip
    answer = eigenveil(*fit, "--score-groups", "site=south,north,moon")
    assert answer.code == 0, answer.err
    output = json.loads(answer.out)
    assert output["score_map"]["labels"] == ["south", "north", "moon"]
    sizes = np.sum(output["score_map"]["counts"], axis=(1, 2)) + output["score_map"]["outside"]
    assert sizes == pytest.approx([3750, 1250, 0], abs=300), "people count once, in parts"
    assert "Map of north" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "the list of groups" in [entry["what"] for entry in output["ledger"]["entries"]]
    wrong = eigenveil(*fit, "--force", "--score-groups", "sight=south,north", "--ledger", tmp_path / "budget.json")
    assert wrong.code == 2
    assert "'sight'" in wrong.err
    assert not (tmp_path / "budget.json").exists(), "nothing was spent"


@pytest.mark.slow
def test_a_new_model_removes_an_old_map(eigenveil, folder, tmp_path):
    fit = ("fit", folder / "rows.parquet", "--out", tmp_path / "model", "--algorithm", "dp-gauss-1")
    assert eigenveil(*fit, "--score-map", 0.5).code == 0
    assert (tmp_path / "model" / "score-map.json").exists()
    assert eigenveil(*fit, "--force").code == 0
    assert not (tmp_path / "model" / "score-map.json").exists()


# -- ledger files --------------------------------------------------------------------------------


def test_dp_gauss_2_sets_its_part_aside_in_a_new_ledger(eigenveil, folder, tmp_path):
    book = tmp_path / "budget.json"
    fit = ("fit", folder / "rows.parquet", "-k", 1, "--json", "--ledger", book, "--algorithm", "dp-gauss-2")
    first = eigenveil(*fit, "--cap-epsilon", 3)
    assert first.code == 0, first.err
    ledger = Ledger.from_json(book.read_text())
    assert ledger.budget.epsilon(1e-6) == pytest.approx(3, rel=1e-6)
    assert (ledger.budget.epsilon_aside, ledger.budget.delta_aside) == (0.25, 5e-7)
    assert 0.9 < ledger.epsilon(1e-6) <= 1.0
    again = eigenveil(*fit, "--cap-epsilon", 3)
    assert (again.code, again.out) == (3, "")
    assert "Start a new ledger file with this fit" in again.err
    assert book.read_text() == ledger.to_json() + "\n"


@pytest.mark.slow
def test_dp_gauss_2_on_a_ledger_without_its_part_gives_a_hint(eigenveil, folder, tmp_path):
    book = tmp_path / "budget.json"
    fit = ("fit", folder / "rows.parquet", "--json", "--ledger", book, "--epsilon", 0.5)
    assert eigenveil(*fit, "--cap-epsilon", 3).code == 0
    for more in ([], ["--plan-only"]):
        answer = eigenveil(*fit, "--algorithm", "dp-gauss-2", *more)
        assert answer.code == 3
        assert "(0.125, 5e-07)" in answer.err
        assert "dp-gauss-1, which need no such part" in answer.err


def test_a_ledger_file_of_people_refuses_their_rows(eigenveil, folder, tmp_path):
    """Found in a review: both fits were accepted, and no artefact said whom it protects."""
    book, model = tmp_path / "budget.json", tmp_path / "model"
    fit = (
        "fit",
        folder / "people.parquet",
        "--ledger",
        book,
        "--columns",
        "age,income",
        "--algorithm",
        "dp-gauss-1",
        "--json",
    )
    people = eigenveil(*fit, "--units", "person_id", "--cap-epsilon", 3, "--out", model)
    assert people.code == 0, people.err
    words, before = "one person (all rows with the same person_id)", book.read_bytes()
    assert f"one unit: {words}" in eigenveil("inspect", model).out
    for more in ([], ["--plan-only"]):
        rows = eigenveil(*fit, *more)
        assert rows.code == 1, rows.err
        assert f"the ledger is about {words}, but this run is about one row" in rows.err
        assert "Pass 'person_id' as units" in rows.err
    assert book.read_bytes() == before
    assert eigenveil(*fit, "--units", "person_id").code == 0


def on_ledger(folder, book):
    """Return the arguments of a quick fit that spends epsilon = 0.5."""
    rows = folder / "rows.parquet"
    return ("fit", rows, "--json", "--ledger", book, "--epsilon", 0.5, "--algorithm", "dp-gauss-1")


def test_a_seed_is_refused_on_a_private_ledger(eigenveil, folder, tmp_path):
    book = tmp_path / "budget.json"
    fit = on_ledger(folder, book)
    assert eigenveil(*fit, "--cap-epsilon", 3).code == 0
    before = book.read_text()
    answer = eigenveil(*fit, "--seed", 3)
    assert (answer.code, answer.out) == (2, "")
    assert "use a new ledger file for seeded trials" in answer.err.replace("\n", " ")
    assert book.read_text() == before


@pytest.mark.slow
def test_seeded_trials_use_separate_ledgers(eigenveil, folder, tmp_path):
    book = tmp_path / "trials.json"
    fit = on_ledger(folder, book)
    for more in (["--cap-epsilon", 3], []):
        answer = eigenveil(*fit, "--seed", 3, *more)
        assert answer.code == 0, answer.err
    assert not Ledger.from_json(book.read_text()).private
    unseeded = eigenveil(*fit)
    assert unseeded.code == 0
    assert "so the model is not private either" in unseeded.err
    assert json.loads(unseeded.out)["private"] is False


def test_an_interrupted_fit_reports_its_spending(folder, tmp_path):
    """After Ctrl-C there is no model, and the ledger shows the budget spent."""
    rows = pq.read_table(folder / "rows.parquet")
    wide = {f"c{i}": rows.column(i % 5) for i in range(100)}
    pq.write_table(type(rows).from_pydict(wide), tmp_path / "wide.parquet")
    book = tmp_path / "budget.json"
    command = [*COMMAND, "fit", "wide.parquet", "--scale", "private", "--out", "model", "--ledger", "budget.json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, env=environment(), **pipes) as process:  # noqa: S603
        waited = time.monotonic() + 60
        while not book.exists() or len(json.loads(book.read_text())["entries"]) < 5:
            assert time.monotonic() < waited
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    assert "No model was written" in err
    assert "Traceback" not in err
    ledger = Ledger.from_json(book.read_text())
    assert len(ledger.entries) >= 5
    assert 0 < ledger.epsilon(1e-6) < 1
    assert {file.name for file in tmp_path.iterdir()} == {"wide.parquet", "budget.json", ".budget.json.lock"}


@pytest.mark.slow
def test_one_ledger_is_charged_by_one_process_at_a_time(eigenveil, folder, tmp_path):
    import fcntl

    book = tmp_path / "budget.json"
    with (tmp_path / ".budget.json.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        answer = eigenveil("fit", folder / "rows.parquet", "--json", "--ledger", book)
    assert (answer.code, answer.out) == (1, "")
    assert "another process" in answer.err
    assert not book.exists()


def test_invalid_options_are_usage_errors(eigenveil, folder):
    answer = eigenveil("fit", folder / "rows.parquet", "--epsilon", "-1", "--json")
    assert (answer.code, answer.out) == (2, "")
    assert "epsilon must be a finite number above 0" in answer.err


@pytest.mark.parametrize(
    "flags",
    [
        ["--ledger", "book.json", "--report", "book.json"],
        ["--ledger", "real/book.json", "--report", "link/book.json", "--force"],
        ["--ledger", "model/book.json", "--out", "model"],
    ],
)
def test_a_ledger_is_not_an_output(eigenveil, folder, tmp_path, flags):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    answer = eigenveil("fit", folder / "rows.parquet", *flags, cwd=tmp_path)
    assert (answer.code, answer.out) == (2, "")
    assert "the ledger file" in answer.err
    assert "Hint: Choose different names" in answer.err
    assert [path.name for path in tmp_path.rglob("*book.json*")] == [], "nothing is charged"


@pytest.mark.parametrize("missing", ["matplotlib", "jinja2"])
def test_a_report_that_cannot_be_written_is_refused_before_the_fit(folder, tmp_path, missing):
    line = ["eigenveil", "fit", str(folder / "rows.parquet"), "--ledger", "book.json", "--report", "page.html"]
    code = (
        f"import sys; sys.modules[{missing!r}] = None; sys.argv = {line!r}\nfrom eigenveil.cli import main\nmain()"
    )
    found = subprocess.run(  # noqa: S603
        [COMMAND[0], "-c", code], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )
    assert found.returncode == 1
    assert f"need {missing}, which is not installed" in found.stderr
    assert list(tmp_path.iterdir()) == [], "nothing is charged"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")  # noqa: PTH110
def test_messages_that_cannot_be_written_do_not_end_a_fit(folder, tmp_path):
    line = [*COMMAND, "fit", str(folder / "rows.parquet"), "--out", "model", "--json"]
    with open("/dev/full", "w") as full:  # noqa: PTH123
        found = subprocess.run(  # noqa: S603
            line, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=full, text=True, check=False
        )
    assert json.loads(found.stdout)["components"] == load(tmp_path / "model").components_.tolist()
    assert load(tmp_path / "model").ledger_.private


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--relation", "sideways", "--json"], "sideways"),
        (["--algorithm", "magic", "--json"], "magic"),
        (["-k", "0", "--json"], "-k"),
        (["--delta", "2", "--json"], "delta"),
        (["--scale", "wide", "--json"], "public number per column"),
        (["--scale", "x1=wide", "--json"], "a public number"),
        (["--scale", "private", "--scale", "1,2", "--json"], "more than once"),
        (["--scale", "x1=1", "--scale", "x1=2", "--json"], "names a column twice"),
        (["--bounds", "x1=3", "--json"], "two numbers, low and high"),
        (["--cap-epsilon", "2", "--json"], "--ledger"),
        (["--score-map", "0", "--json"], "epsilon"),
        (["--score-map", "1", "-k", "1", "--json"], "-k 2"),
        (["--score-map", "1", "--algorithm", "k-dp-pca", "--json"], "releases none"),
        (["--score-groups", "site=a,b", "--json"], "--score-map too"),
        (["--score-map", "1", "--score-groups", "site", "--json"], "site=north,south"),
        (["--no-such-flag"], "no-such-flag"),
        ([], "no output requested"),
    ],
)
def test_more_invalid_options(eigenveil, folder, flags, said):
    answer = eigenveil("fit", folder / "rows.parquet", *flags)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err


def test_unreadable_files_are_failures(eigenveil, tmp_path):
    (tmp_path / "bad.parquet").write_bytes(b"this is no Parquet file")
    answer = eigenveil("fit", tmp_path / "bad.parquet", "--json")
    assert (answer.code, answer.out) == (1, "")
    assert "could not read" in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "flags", "said"),
    [
        ("people.parquet", [], "'person_id' (string)"),
        ("people.parquet", ["--units", "persn_id"], "Did you mean 'person_id'"),
        ("people.parquet", ["--columns", "wealth"], "no column 'wealth'"),
        ("rows.parquet", ["-k", "6"], "from 1 to 5"),
        ("rows.parquet", ["--scale", "1,2"], "5 finite numbers above 0"),
    ],
)
def test_options_that_do_not_match_the_columns_are_usage_errors(eigenveil, folder, path, flags, said):
    answer = eigenveil("fit", folder / path, *flags, "--json")
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err
    assert "columns=[" not in answer.err, "hints use command-line options"


@pytest.mark.parametrize("units", [[], ["--units", "person_id"]])
def test_memory_changes_nothing_but_where_rows_are(eigenveil, folder, units):
    asked = ["fit", folder / "people.csv", "-k", 1, "--columns", "x*,age", "--json", "--seed", 3, *units]
    found = [json.loads(eigenveil(*asked, *more).out) for more in ([], ["--memory", "0"], ["--memory", "10kB"])]
    assert found[0]["components"] == found[1]["components"] == found[2]["components"]


@pytest.mark.parametrize("size", ["2", "-1GB", "many", "2 GB more", "", "1e3MB", "nanGB"])
def test_a_size_of_memory_needs_a_number_and_a_unit(eigenveil, folder, size):
    answer = eigenveil("fit", folder / "rows.parquet", f"--memory={size}", "--json")
    assert (answer.code, answer.out) == (2, "")
    assert "--memory: expected a number and its unit" in answer.err
    assert "--memory 2GB" in answer.err


def test_memory_is_that_of_this_machine(eigenveil, folder):
    answer = eigenveil("fit", folder / "rows.parquet", "--memory", "1GB", "--engine", "dask")
    assert answer.code == 2
    assert "their own limits" in answer.err


def test_outputs_are_checked_before_any_budget_is_spent(eigenveil, folder, tmp_path):
    book = tmp_path / "budget.json"
    where = "/proc/nowhere/model" if os.path.isdir("/proc") else "/dev/null/model"  # noqa: PTH112  # root may not either
    answer = eigenveil("fit", folder / "rows.parquet", "--out", where, "--ledger", book)
    assert answer.code == 1
    assert "error: /" in answer.err
    assert "Traceback" not in answer.err
    assert not book.exists()


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_missing_permissions(eigenveil, folder, tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    answer = eigenveil("fit", folder / "rows.parquet", "--out", locked / "model")
    assert answer.code == 1
    assert "Permission denied" in answer.err


@pytest.mark.slow
def test_a_model_is_replaced_only_with_force(eigenveil, folder, tmp_path):
    fit = ("fit", folder / "rows.parquet", "--out", tmp_path / "model", "--algorithm", "dp-gauss-1")
    assert eigenveil(*fit).code == 0
    before = load(tmp_path / "model").components_
    refused = eigenveil(*fit)
    assert refused.code == 1
    assert "--force" in refused.err
    assert np.array_equal(load(tmp_path / "model").components_, before)
    assert eigenveil(*fit, "--force").code == 0
    assert not np.array_equal(load(tmp_path / "model").components_, before)


@pytest.mark.slow
def test_globs_folders_and_arrays(eigenveil, folder, tmp_path):
    table = pq.read_table(folder / "rows.parquet")
    for part in range(2):
        pq.write_table(table.slice(5000 * part, 5000), tmp_path / f"part-{part}.parquet")
    for data in ([tmp_path / "part-*.parquet"], [tmp_path], sorted(tmp_path.glob("*.parquet"))):
        output = json.loads(eigenveil("fit", *data, "--json").out)
        assert abs(output["n_samples"] - 10_000) < 500
    np.save(tmp_path / "rows.npy", np.column_stack([column.to_numpy() for column in table.columns]))
    output = json.loads(eigenveil("fit", tmp_path / "rows.npy", "--columns", "0,1", "--json").out)
    assert output["n_features"] == 2


def everything_from(terminal):
    """Return everything written to a terminal until it is closed, which Linux signals by an error."""
    seen = b""
    with contextlib.suppress(OSError):
        while more := os.read(terminal, 4096):
            seen += more
    os.close(terminal)
    return seen


@pytest.mark.slow
def test_progress_on_a_terminal(folder, tmp_path):
    """With a terminal for stderr there is a bar; stdout stays clean."""
    import pty

    ours, theirs = pty.openpty()
    command = [*COMMAND, "fit", str(folder / "rows.parquet"), "--scale", "private", "--json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": theirs, "text": True}
    with subprocess.Popen(command, **pipes, env=environment(), cwd=tmp_path) as process:  # noqa: S603
        os.close(theirs)
        seen = everything_from(ours)
        output = process.stdout.read()
    assert process.returncode == 0, seen
    assert json.loads(output)["private"] is True
    assert b"\r" in seen or b"\x1b[" in seen, "the bar was redrawn; test_progress checks its content"


def test_csv_without_a_header(eigenveil, tmp_path):
    """The first row is not a header; --no-header reads it as data, in fit and in transform."""
    rows = np.random.default_rng(0).normal(size=(3000, 3)) * [5, 1, 1]
    rows[0] = [7351.25, 1, 1]
    np.savetxt(tmp_path / "x.csv", rows, delimiter=",")
    refused = eigenveil("fit", "x.csv", "-k", 1, "--json", cwd=tmp_path)
    assert refused.code != 0
    assert "--no-header" in refused.err
    assert "7351" not in refused.out + refused.err
    options = ("-k", 1, "--no-header", "--out", "m", "--json", "--no-center")
    fitted = eigenveil("fit", "x.csv", *options, cwd=tmp_path)
    assert fitted.code == 0, fitted.err
    assert json.loads(fitted.out)["feature_names"] == ["column_1", "column_2", "column_3"]
    scores = eigenveil("transform", "x.csv", "--model", "m", "--no-header", cwd=tmp_path)
    assert scores.code == 0, scores.err
    assert len(scores.out.splitlines()) == 3001
    other = eigenveil("fit", tmp_path / "no.npy", "--no-header", cwd=tmp_path)
    assert other.code != 0
