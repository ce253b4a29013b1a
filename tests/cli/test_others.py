"""``transform``, ``inspect``, ``report``, ``demo`` and help, as processes."""

import json
import subprocess
import warnings

import numpy as np
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from eigenveil.cli.console import collected_warnings
from eigenveil.errors import NotCompiledWarning
from eigenveil.persistence import load

from .conftest import COMMAND, environment


def test_transform_to_parquet(eigenveil, folder, model, tmp_path):
    out, _ = model
    answer = eigenveil(
        "transform", folder / "people.parquet", "--model", out / "model", "--out", tmp_path / "scores.parquet"
    )
    assert (answer.code, answer.out) == (0, "")
    assert "not private" in answer.err
    scores = pq.read_table(tmp_path / "scores.parquet")
    rows = pq.read_table(folder / "people.parquet").drop_columns(["person_id"])
    expected = load(out / "model").transform(rows)
    assert np.array_equal(np.column_stack([column.to_numpy() for column in scores.columns]), expected)


def test_transform_in_a_pipe(folder, model, tmp_path):
    """CSV on stdout; a reader that closes the pipe early causes no error message."""
    out, _ = model
    command = [*COMMAND, "transform", str(folder / "people.csv"), "--model", str(out / "model")]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes, env=environment(), cwd=tmp_path) as process:  # noqa: S603
        assert process.stdout.readline() == '"pc1","pc2"\n'
        process.stdout.close()
        err = process.stderr.read()
    assert "Traceback" not in err
    assert "Exception" not in err


def test_transform_keeps_ids_and_every_line_in_its_place(eigenveil, folder, model, tmp_path):
    """Ragged lines and missing values have empty scores, and stderr reports how many: 3 of 6."""
    header, *lines = (folder / "people.csv").read_text(encoding="utf-8").splitlines()[:7]
    lines[1], lines[3] = "a,b,c", f"{lines[3]},1"
    lines[4] = ",".join([*lines[4].split(",")[:-1], ""])
    (tmp_path / "some.csv").write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    command = (
        "transform",
        tmp_path / "some.csv",
        "--model",
        model[0] / "model",
        "--keep",
        "person_id,x1",
        "--keep",
        "x2",
    )
    answer = eigenveil(*command)
    assert answer.code == 0, answer.err
    names, *scores = (line.split(",") for line in answer.out.splitlines())
    assert names == ['"person_id"', '"x1"', '"x2"', '"pc1"', '"pc2"']
    assert [line[0] for line in scores] == ['"person 0"', "", '"person 2"', "", '"person 4"', '"person 5"']
    assert [line[3:] == ["", ""] for line in scores] == [False, True, False, True, True, False]
    assert "nan" not in answer.out
    assert "3 of 6 rows have no scores" in answer.err
    assert eigenveil(*command, "--out", tmp_path / "s.parquet").code == 0
    table = pq.read_table(tmp_path / "s.parquet")
    assert table.column_names == ["person_id", "x1", "x2", "pc1", "pc2"]
    assert [table[name].null_count for name in table.column_names] == [2, 2, 2, 3, 3]
    fine = eigenveil(
        "transform", folder / "people.parquet", "--model", model[0] / "model", "--out", tmp_path / "f.csv"
    )
    assert "no scores" not in fine.err


@pytest.mark.slow
def test_transform_to_csv(eigenveil, folder, model, tmp_path):
    out, _ = model
    answer = eigenveil(
        "transform", folder / "people.csv", "--model", out / "model", "--out", tmp_path / "scores.csv"
    )
    assert answer.code == 0, answer.err
    assert pc.read_csv(tmp_path / "scores.csv").num_rows == 10_000
    again = eigenveil(
        "transform", folder / "people.csv", "--model", out / "model", "--out", tmp_path / "scores.csv"
    )
    assert again.code == 1
    wrong = eigenveil(
        "transform", folder / "people.csv", "--model", out / "model", "--out", tmp_path / "scores.xls"
    )
    assert wrong.code == 2


def test_inspect_as_a_table_and_as_json(eigenveil, model):
    out, answer = model
    table = eigenveil("inspect", out / "model", "--ledger")
    assert table.code == 0, table.err
    assert "2 components of 5 columns" in table.out
    assert "age +" in table.out
    assert "private; the fit cost epsilon = 1, delta = 1e-06, add-remove" in table.out
    assert "epsilon = 1 of epsilon = 1 spent, at the same delta" in table.out
    assert all(entry.what in table.out for entry in load(out / "model").ledger_.entries)
    assert "pc1 " in table.out
    assert "components hold 90 % of the variance" in table.out
    assert "°" in table.out
    plain = json.loads(eigenveil("inspect", out / "model", "--json").out)
    assert plain["component_names"] == ["pc1", "pc2"]
    assert plain["component_angles"] == load(out / "model").component_angles().tolist()
    assert plain["components_for"]["n"] == load(out / "model").components_for(0.9).n == 2
    assert len(plain["mean"]) == 5
    fitted = json.loads(answer.out)
    assert {name: fitted[name] for name in plain} == plain


def test_inspect_of_a_folder_without_a_model(eigenveil, tmp_path):
    answer = eigenveil("inspect", tmp_path)
    assert (answer.code, answer.out) == (1, "")
    assert "error:" in answer.err
    assert "Traceback" not in answer.err


def test_report_of_a_saved_model_shows_its_command(eigenveil, model, tmp_path):
    out, _ = model
    answer = eigenveil("report", out / "model", "--out", tmp_path / "r.html")
    assert (answer.code, answer.out) == (0, "")
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == (out / "report.html").read_text(encoding="utf-8")


def test_report_and_fit_show_loadings_as_images(eigenveil, folder, model, tmp_path):
    out, _ = model
    assert eigenveil("report", out / "model", "--grid", "1x5", "--out", tmp_path / "r.html").code == 0
    fit = ("fit", folder / "rows.parquet", "--report", tmp_path / "f.html", "--grid", "5x1")
    assert eigenveil(*fit).code == 0
    assert "Component 2 as 1 by 5 pixels" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Component 2 as 5 by 1 pixels" in (tmp_path / "f.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fit", "transform", "inspect", "report", "demo"])
def test_help_has_examples(eigenveil, name):
    answer = eigenveil(name, "--help")
    assert answer.code == 0
    assert f"eigenveil {name} " in answer.out.split("Examples:")[1] + " "


def test_help_and_version(eigenveil):
    answer = eigenveil("--help")
    assert answer.code == 0
    assert all(name in answer.out for name in ("fit", "transform", "inspect", "report", "demo"))


@pytest.mark.slow
def test_demo(eigenveil, tmp_path):
    answer = eigenveil("demo", "--out", tmp_path / "demo", "--json")
    assert answer.code == 0, answer.err
    output = json.loads(answer.out)
    kept = output["kept"]
    assert kept["eigenveil"] > 0.9
    assert kept["eigenveil"] > kept["k-DP-PCA as printed"]
    spiked = output["spiked"]
    # the mean of a few runs, of which about one in a hundred finds nothing; at n = 1000, DP-Gauss-1 is as good
    assert spiked["eigenveil"] > 0.2
    assert min(spiked["eigenveil"], spiked["DP-Gauss-1"]) > spiked["k-DP-PCA as printed"]
    assert "score on component 1" in (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    assert load(tmp_path / "demo" / "model").ledger_.private


def test_a_warning_about_the_installation_is_printed_but_not_part_of_the_report(capsys):
    with collected_warnings() as messages:
        warnings.warn("about the model", UserWarning, stacklevel=1)
        warnings.warn("about this machine", NotCompiledWarning, stacklevel=1)
    assert messages == ["about the model"]
    assert capsys.readouterr().err.splitlines() == ["warning: about the model", "warning: about this machine"]


def test_the_report_of_the_demo_shows_digits_as_images(tmp_path):
    from sklearn.datasets import load_digits

    from eigenveil.cli.implementations.demo import _fit_and_report

    names = [f"row {row} col {column}" for row in range(1, 9) for column in range(1, 9)]
    page = _fit_and_report(load_digits().data, names, 2, 1.0, tmp_path).read_text(encoding="utf-8")
    assert "Component 2 as 8 by 8 pixels" in page
    assert "The fit costs ε = 1 and the map of scores ε = 0.5" in page
    assert "score on component 1" in page
