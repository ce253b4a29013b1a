"""Pictures in the README and the guide: small, made by scripts beside them, and silent about where and when."""

import importlib.util
import re
import warnings

import pytest

from support.browser import CHROMIUM

from .pages import HOUSE

FOLDER = HOUSE / "docs" / "pictures"
MOST = 100_000


SHOTS = [f"report-{size}-{theme}.png" for size in ("desktop", "phone") for theme in ("light", "dark")]


def loaded(name):
    found = importlib.util.spec_from_file_location(f"{name}_picture", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def script():
    return loaded("digits")


def check(path):
    text = path.read_text(encoding="utf-8")
    assert len(text) < MOST
    assert "<metadata" not in text
    assert "<!--" not in text
    assert not re.search(r"(/(?:home|work|root|tmp)/|\b20\d\d-\d\d-\d\d)", text)
    assert "NOT PRIVATE" not in text
    assert "(private, ε = 1)" in text
    assert "score on component 2" in text


def test_the_one_in_the_readme():
    check(FOLDER / "digits.svg")
    readme = (HOUSE / "README.md").read_text("utf-8")
    assert "docs/pictures/digits.svg" in readme
    assert "python docs/pictures/digits.py" in readme


def test_the_script_makes_such_a_picture(script, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        plain, private, scores = script.fitted()
    assert private.ledger_.private
    assert scores.ledger is private.ledger_
    figure = script.draw(plain, private, scores)
    script.write(figure, tmp_path / "first.svg")
    check(tmp_path / "first.svg")
    script.write(script.draw(plain, private, scores), tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_bytes() == (tmp_path / "first.svg").read_bytes()


def test_pictures_of_the_report_are_small():
    assert "pictures/report-desktop-light.png" in (HOUSE / "docs" / "guide.md").read_text("utf-8")
    for name in SHOTS:
        assert (FOLDER / name).read_bytes()[:4] == b"\x89PNG"
        assert (FOLDER / name).stat().st_size < 250_000


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_the_script_makes_pictures_of_the_report(tmp_path):
    pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: eigenveil[browser]")
    loaded("report").make(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(SHOTS)
