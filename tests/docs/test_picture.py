"""The picture in the README: small, made by the script beside it, and silent about where and when."""

import importlib.util
import re
import warnings

import pytest

from .pages import HOUSE

FOLDER = HOUSE / "docs" / "pictures"
MOST = 100_000


@pytest.fixture(scope="module")
def script():
    found = importlib.util.spec_from_file_location("digits_picture", FOLDER / "digits.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


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
