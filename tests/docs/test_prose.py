"""The project writes the field's words, in files and folders of a size that a reader can take in."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "eigenveil"
INSTEAD = {
    r"in silence": "silently",
    r"tak(e|es|en) off": "subtract",
    r"dear(er|est)": "more, most expensive",
    r"of no use": "invalid",
    r"without end": "unbounded",
    r"for ever": "permanently",
    r"told|tells": "report, return, show",
    r"in the words of": "as",
    r"(this|the|each) room|rooms|the house": "package, layer",
    r"hand(s|ed)? (in|out|on)": "pass, yield, forward",
    r"anew": "again",
    r"noise (may )?rules?": "noise dominates",
    r"what neighbours are": "neighbouring relation",
    r"what the whole may cost": "privacy budget of the whole run",
    r"vouch(es)?": "guarantee",
    r"whoever": "anyone who",
    r"lets? in": "include",
    r"luck": "chance",
}
"""Words that a reader would have to learn, and what to write."""


def _pages():
    pages = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.html"), *(ROOT / "docs").rglob("*.md")]
    pages += (ROOT / "docs" / "notebooks").glob("*.ipynb")
    return [*pages, *(ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"))]


def found_in(text):
    return [match[0] for words in INSTEAD for match in re.finditer(rf"\b({words})\b", text, re.IGNORECASE)]


def test_planted_words_are_found():
    assert found_in("A row is taken off in silence, whoever it is.") == ["in silence", "taken off", "whoever"]
    assert not found_in("Bytes are handled one at a time; hand-written loops.")


def test_no_private_dialect():
    found = {str(page.relative_to(ROOT)): found_in(page.read_text()) for page in _pages()}
    assert len(found) > 200
    assert {page: words for page, words in found.items() if words} == {}


def test_lines_of_docs_are_short():
    """Except tables, links, code and the output of commands; docs/claims.md is generated."""
    for page in [page for page in _pages() if page.suffix == ".md" and page.name != "claims.md"]:
        fenced = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
        lines = [line for line in fenced.splitlines() if len(line) > 100 and line[:4].strip()]
        long = [one for one in lines if "](" not in one and not one.lstrip().startswith(("|", "<", "![", ">>>"))]
        assert long == [], page.name


def test_no_file_is_above_400_lines_and_no_folder_above_14_modules():
    modules = [path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"]
    assert {path.name: lines for path in modules if (lines := len(path.read_text().splitlines())) > 400} == {}
    folders = Counter(path.parent for path in modules)
    assert {str(folder): number for folder, number in folders.items() if number > 14} == {}


def test_no_two_public_classes_have_one_name():
    names = Counter(
        node.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("page", ["README.md", "docs/guide.md", "docs/privacy.md"])
def test_pages_link_to_the_glossary(page):
    assert "glossary.md" in (ROOT / page).read_text()
