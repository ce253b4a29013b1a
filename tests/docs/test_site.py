"""The documentation site has every page, public name and display; its links lead somewhere, without a network."""

import html
import inspect
import re
import shutil
import subprocess
import sys
import zlib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

import eigenveil as ev

from .pages import HOUSE, blocks

DOCS = HOUSE / "docs"
REFERENCE = sorted((DOCS / "reference").glob("*.md"))
MODULES = ("datasets", "metrics", "plots", "theory", "schedules", "errors", "privacy", "engines", "audit")
SAMPLES = {
    f"samples.{name}"
    for name, one in inspect.getmembers(ev.samples, inspect.isfunction)
    if one.__module__ == ev.samples.__name__ and not name.startswith("_")
}
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OFFLINE = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
SITE_ONLY = {
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "benchmarks/README.md",
    "tests/faults/results.md",
    "tests/fuzz/results.md",
    "tests/hostile/results.md",
    "tests/mutants/results.md",
}
"""Pages outside docs that the navigation has, too."""


def listed(page):
    """The files in the toctrees of a page."""
    trees = re.findall(r"^```\{toctree\}\n(.*?)^```$", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    entries = [line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")]
    names = [re.sub(r".*<(.*)>$", r"\1", entry) for entry in entries]
    paths = [HOUSE / name[1:] if name.startswith("/") else page.parent / name for name in names]
    return [
        next((f for ending in (".md", ".ipynb") if (f := Path(f"{path}{ending}")).exists()), path)
        for path in paths
    ]


def names_of(module):
    """The public names of a module: its list, or all classes and functions that it defines."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    return [name for name in own if not name.startswith("_")]


def test_the_navigation_has_every_page_once():
    found = [*listed(DOCS / "index.md"), *listed(DOCS / "reference" / "index.md")]
    pages = {*DOCS.glob("*.md"), *DOCS.glob("reference/*.md"), *DOCS.glob("notebooks/*.ipynb")}
    expected = {*pages - {DOCS / "index.md"}, *(HOUSE / name for name in SITE_ONLY)}
    assert sorted(map(str, found)) == sorted(map(str, expected))


def test_every_public_name_has_an_entry():
    text = "".join(page.read_text("utf-8") for page in REFERENCE)
    single = set(
        re.findall(r"^\.\. auto(?:class|function|data):: (?:eigenveil\.)?([\w.]+)$", text, flags=re.MULTILINE)
    )
    whole = set(re.findall(r"^\.\. automodule:: eigenveil\.(\w+)\n   :members:$", text, flags=re.MULTILINE))
    assert {*ev.__all__, *SAMPLES} - single - whole == {"samples"}
    assert whole == set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_of_a_module_is_described(name):
    module = getattr(ev, name)
    assert [one for one in names_of(module) if not getattr(module, one).__doc__] == []


def shown_in(text):
    """The displays that some page draws."""
    code = "".join(blocks(text, "python"))
    return {name for name in ev.plots.__all__ if re.search(rf"plots\.{name}\.from_\w+\(.*\n.*\.plot\(", code)}


def test_the_gallery_shows_every_display():
    """Its code is run as a doctest."""
    displays = {name for name in ev.plots.__all__ if name.endswith("Display")}
    assert displays - shown_in((DOCS / "gallery.md").read_text("utf-8")) == set()
    assert shown_in("```python\n>>> a = ev.plots.ScreeDisplay.from_estimator(p)\n>>> ax = a.plot()\n```\n") == {
        "ScreeDisplay"
    }


# -- the site as built ---------------------------------------------------------------------------


class Page(HTMLParser):
    """What a page links to, loads, and can be linked at."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loads, self.anchors = [], [], set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors |= {given[key] for key in ("id", "name") if given.get(key)}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in ("script", "img", "iframe", "source") and given.get("src"):
            self.loads.append(given["src"])
        elif tag == "link" and given.get("rel") not in ("search", "index", "next", "prev", "author", "canonical"):
            self.loads.append(given["href"])


def dead_ends(site):
    """Links and files of a site's pages that lead nowhere, or into a network."""
    pages = {path: Page(path) for path in site.rglob("*.html")}
    wrong = []
    for path, page in pages.items():
        for link in (*page.links, *page.loads):
            if re.match(r"(https?:)?//|data:|mailto:", link):
                wrong += [(path.name, link)] * (link in page.loads and not link.startswith("data:"))
                continue
            file, _, anchor = unquote(html.unescape(link)).partition("#")
            target = (path.parent / file.partition("?")[0]).resolve() if file else path
            source = "_modules" in path.parts  # viewcode takes one public prefix for all names of a module
            missing = anchor and target in pages and not source and anchor not in pages[target].anchors
            if missing or not target.is_file():
                wrong.append((path.name, link))
    return wrong


def test_dead_ends_are_found(tmp_path):
    (tmp_path / "b.html").write_text('<h1 id="there">b</h1>')
    good = '<a href="b.html#there">b</a><a href="#me" id="me">me</a><a href="https://example.org">far</a>'
    bad = (
        '<a href="c.html">c</a><a href="b.html#no">no</a><img src="x.png"><script src="https://example.org/x.js">'
    )
    (tmp_path / "a.html").write_text(good + bad)
    expected = {"c.html", "b.html#no", "x.png", "https://example.org/x.js"}
    assert {link for _, link in dead_ends(tmp_path)} == expected


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("sphinx", reason="pip install -e '.[docs]' installs Sphinx")
    built = tmp_path_factory.mktemp("site")
    command = ["-m", "sphinx", "-W", "--keep-going", "-q", "-c", "docs/sphinx", "-d", str(built / "trees"), "."]
    done = subprocess.run(  # noqa: S603
        [sys.executable, *command, str(built / "html")], cwd=HOUSE, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return built / "html"


@pytest.mark.slow
def test_the_site_builds_without_warnings_or_dead_ends(site):
    assert dead_ends(site) == []
    assert "ledger" in (site / "searchindex.js").read_text("utf-8")


@pytest.mark.slow
def test_styles_load_nothing_from_a_network(site):
    styles = [*site.rglob("*.css")]
    assert styles
    assert [
        path.name for path in styles if re.search(r"(@import|url\()\s*['\"]?https?:", path.read_text("utf-8"))
    ] == []


@pytest.mark.slow
def test_the_site_describes_every_public_name(site):
    head, body = (site / "objects.inv").read_bytes().split(b"zlib.\n", 1)
    assert b"eigenveil" in head
    described = {line.split(" ", 1)[0] for line in zlib.decompress(body).decode().splitlines()}
    for module in MODULES:
        public = names_of(getattr(ev, module))
        missing = [n for n in public if not {f"eigenveil.{n}", f"eigenveil.{module}.{n}"} & described]
        assert missing == [], module
    public = {*ev.__all__, *SAMPLES} - {"samples"}
    assert {f"eigenveil.{name}" for name in public} - described == set()


@pytest.mark.slow
def test_gallery_and_commands_are_filled_in(site):
    gallery = (site / "docs" / "gallery.html").read_text("utf-8")
    assert gallery.count('<img class="picture"') >= len(ev.plots.__all__)
    commands = (site / "docs" / "reference" / "command-line.html").read_text("utf-8")
    assert all(f'id="eigenveil-{name}"' in commands for name in ("plan", "fit", "transform", "inspect", "report"))
    assert "--score-map" in commands


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_search_works_without_a_server(site, tmp_path):
    address = f"{(site / 'search.html').as_uri()}?q=ledger"
    options = [*OFFLINE.split(), f"--user-data-dir={tmp_path}", "--virtual-time-budget=20000", "--dump-dom"]
    done = subprocess.run(  # noqa: S603
        [CHROMIUM, *options, address], capture_output=True, text=True, timeout=120, check=True
    )
    assert "docs/reference/privacy.html#eigenveil.Ledger" in done.stdout
