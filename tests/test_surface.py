"""What `import eigenveil` offers, and what it does not load before it is asked for."""

import subprocess
import sys

import pytest

import eigenveil as ev


def modules_after(code):
    """Modules that are loaded in a fresh process after some code has run."""
    text = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=True)  # noqa: S603
    return set(done.stdout.split())


def test_heavy_libraries_wait_until_they_are_needed():
    loaded = modules_after("import eigenveil as ev; dir(ev); ev.__version__; hasattr(ev, 'plot')")
    assert {name for name in loaded if name.startswith("eigenveil")} == {"eigenveil"}
    assert not {"numpy", "scipy", "pyarrow", "narwhals", "matplotlib", "sklearn", "jinja2", "typer"} & loaded


def test_algorithms_wait_for_neither_pictures_nor_scikit_learn():
    loaded = modules_after("from eigenveil import tracked_pca, samples, Ledger, datasets, theory")
    assert "eigenveil.algorithms" in loaded
    assert not {"matplotlib", "sklearn", "jinja2", "typer"} & loaded


def test_plots_and_reports_are_where_one_looks_for_them():
    loaded = modules_after("import eigenveil as ev; ev.plots.ScreeDisplay; ev.write_report; ev.DPPCA; ev.plan")
    assert {"eigenveil.plots", "eigenveil.report", "matplotlib", "sklearn"} <= loaded


def test_every_name_on_the_list_is_there():
    assert dir(ev) == sorted(ev.__all__)
    for name in ev.__all__:
        assert getattr(ev, name) is not None


def test_a_name_is_what_its_room_has():
    from eigenveil import algorithms, estimators, privacy

    assert (ev.DPPCA, ev.Ledger, ev.oja) == (estimators.DPPCA, privacy.Ledger, algorithms.oja)
    assert set(ev._PACKAGE_OF) | {"__version__", "datasets", "metrics", "plots", "schedules", "theory"} == set(
        ev.__all__
    )


def test_a_star_brings_every_name():
    names = {}
    exec("from eigenveil import *", names)  # noqa: S102
    assert set(ev.__all__) <= set(names)


def test_rooms_are_found_without_an_import_of_their_own():
    assert "eigenveil.engines" in modules_after("import eigenveil as ev; ev.errors.EigenveilError; ev.engines")


def test_other_names_are_not():
    with pytest.raises(AttributeError, match="no attribute 'plot'"):
        ev.plot  # noqa: B018
