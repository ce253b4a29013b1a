"""The generated part of docs/architecture.md agrees with the source tree."""

import importlib.util

import pytest

from .pages import HOUSE

SCRIPT = HOUSE / "docs" / "architecture.py"
PAGE = HOUSE / "docs" / "architecture.md"


def _load():
    found = importlib.util.spec_from_file_location("architecture_script", SCRIPT)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


script = _load()


def test_the_page_is_what_the_script_writes():
    page = PAGE.read_text(encoding="utf-8")
    assert script.written(page) == page, "out of date: run `python docs/architecture.py`"


def test_every_package_is_in_the_table():
    page = PAGE.read_text(encoding="utf-8")
    for init in script.SOURCE.rglob("__init__.py"):
        name = init.parent.relative_to(script.SOURCE).as_posix()
        assert name == "." or f"| `{name}/` |" in page


# -- the tests can fail --------------------------------------------------------------------------


def tree(folder, **modules):
    """A package `eigenveil` in a folder: subpackages by name, with the text of their `__init__.py`."""
    source = folder / "eigenveil"
    for name, text in {"": "", **modules}.items():
        path = source / name.replace("__", "/")
        path.mkdir(parents=True, exist_ok=True)
        (path / "__init__.py").write_text(text)
    return source


def text_of(source):
    return script.written(f"above\n{script.BEGIN}\n{script.END}\nbelow\n", source)


def test_imports_of_every_form_are_found(tmp_path):
    source = tree(
        tmp_path,
        top='"""Top."""\nfrom eigenveil import middle\nimport numpy\n',
        middle='"""Middle."""\ndef f():\n    import eigenveil.low.deep\n',
        low='"""Low."""\n',
        low__deep='"""Deep."""\nfrom ... import base\nfrom ..other import x\n',
        base='"""Base.\n\nMore.\n"""\n',
    )
    text = text_of(source)
    assert "top --> middle" in text
    assert "middle --> low" in text
    assert "low --> base" in text
    assert "| 3 | `low/deep/` | Deep. | 1 | under 50 | `base` |" in text
    assert "| 4 | `base/` | Base. | 1 | under 50 |  |" in text
    assert text.startswith("above\n")
    assert text.endswith("\nbelow\n")


def test_edges_that_follow_from_others_are_not_drawn(tmp_path):
    source = tree(tmp_path, a="import eigenveil.b, eigenveil.c", b="import eigenveil.c", c="")
    text = text_of(source)
    assert "a --> b" in text
    assert "a --> c" not in text
    assert "| `b`, `c` |" in text


def test_a_new_import_or_docstring_changes_the_page(tmp_path):
    source = tree(tmp_path, a='"""A."""', b='"""B."""')
    before = text_of(source)
    (source / "a" / "__init__.py").write_text('"""A."""\nimport eigenveil.b\n')
    linked = text_of(source)
    (source / "b" / "__init__.py").write_text('"""Other."""')
    assert len({before, linked, text_of(source)}) == 3


def test_cycles_and_missing_markers_are_refused(tmp_path):
    with pytest.raises(ValueError, match="without cycles, got a -> b -> a"):
        text_of(tree(tmp_path, a="import eigenveil.b", b="import eigenveil.a"))
    with pytest.raises(ValueError, match="expected the markers"):
        script.written("no markers", tree(tmp_path / "fine", a=""))
