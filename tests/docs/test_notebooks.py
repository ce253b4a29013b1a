"""The notebooks run, and are stored without outputs. The site runs them with a kernel (`test_site.py`, slow)."""

import json
import re
import warnings

import matplotlib.pyplot as plt
import pytest

from .pages import HOUSE

NOTEBOOKS = sorted((HOUSE / "docs" / "notebooks").glob("*.ipynb"))


def cells(path, kind):
    return [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == kind]


def run(path):
    """All code cells, in one namespace."""
    names = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about noise, by chance
        for cell in cells(path, "code"):
            exec(compile("".join(cell["source"]), path.name, "exec"), names)  # noqa: S102
    return names


def test_there_are_three():
    assert [path.stem for path in NOTEBOOKS] == ["first-fit", "mixed-table", "paper-redone"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_they_are_stored_without_outputs_and_places(path):
    assert [cell for cell in cells(path, "code") if cell["outputs"] or cell["execution_count"]] == []
    assert not re.search(r"/(?:home|work|root|tmp)/", path.read_text("utf-8"))


@pytest.fixture(autouse=True)
def _recompute_every_ledger():
    """Not here, where it takes longer than the notebooks: tests of the algorithms recompute such ledgers."""


@pytest.fixture
def _drawing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    backend = plt.get_backend()
    plt.switch_backend("agg")
    yield
    plt.close("all")
    plt.switch_backend(backend)


@pytest.mark.usefixtures("_drawing")
def test_a_first_fit():
    names = run(NOTEBOOKS[0])
    assert names["private"].ledger_.private
    assert names["ev"].metrics.energy_ratio(names["private"].components_, names["covariance"]) > 0.8


@pytest.mark.usefixtures("_drawing")
def test_a_mixed_table_with_people():
    names = run(NOTEBOOKS[1])
    assert names["ledger"] is names["pca"].ledger_
    assert names["ledger"].private
    pressure, glucose = (list(names["pca"].feature_names_in_).index(name) for name in ("pressure", "glucose"))
    assert (names["pca"].components_[0, [pressure, glucose]] > 0.3).all()
    assert (names["folder"] / "report.html").stat().st_size > 10_000


@pytest.mark.usefixtures("_drawing")
def test_the_paper_redone():
    names = run(NOTEBOOKS[2])
    errors = names["errors"]
    assert min(errors["k-DP-PCA, literal"]) > 0.8, "as the text says: nothing learnt"
    assert errors["k-DP-PCA, tracked mean"][0] < errors["DP-Gauss-1"][0] / 10
    assert (names["literal"].private, names["corrected"].private) == (True, True)
    assert any("as printed" in why for why in names["reasons"]["DP-Gauss-2, printed noise"])
