"""Links between pages lead to files and headings that exist, and pages link to the glossary."""

import json
import re

import pytest

from .pages import HOUSE, PAGES

TEXTS = [*PAGES, HOUSE / "SECURITY.md", HOUSE / "CONTRIBUTING.md", HOUSE / "CHANGELOG.md"]
LINKED = [
    *TEXTS,
    *sorted(HOUSE.glob("docs/reference/*.md")),
    *sorted(HOUSE.glob("docs/notebooks/*.ipynb")),
    *sorted(HOUSE.glob("benchmarks/**/*.md")),
    *sorted(HOUSE.glob("tests/*/results.md")),
]
"""All pages of the documentation site."""
WITHOUT_TERMS = {"glossary.md", "claims.md"}
"""The glossary itself, and a page that is written by a command."""


def text_of(page):
    """A page, or the text between the code of a notebook."""
    text = page.read_text("utf-8")
    if page.suffix != ".ipynb":
        return text
    return "\n\n".join(
        "".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"
    )


def prose(text):
    """A page without its code blocks."""
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(text):
    """Anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ +(.+)$", prose(text), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(text, page):
    """Relative links of a page to files or headings that do not exist."""
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(text)):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if "://" in link:
            continue
        if path and not target.exists():
            broken.append(link)
        elif anchor:
            there = text if target == page else text_of(target)
            if anchor not in anchors(there):
                broken.append(link)
    return broken


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(HOUSE)))
def test_links_lead_somewhere(page):
    assert broken_links(text_of(page), page) == []


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.name)
def test_pages_link_to_the_glossary(page):
    assert page.name in WITHOUT_TERMS or "glossary.md" in prose(page.read_text("utf-8"))


def test_broken_links_are_found():
    text = "# A b\n[x](guide.md) [y](no.md) [z](#a-b) [z](#b) [w](guide.md#install)\n[v](guide.md#no)\n"
    assert broken_links(text, HOUSE / "docs" / "page.md") == ["no.md", "#b", "guide.md#no"]
