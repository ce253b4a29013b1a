"""Pages of the repository become pages of the site as they are, with three changes while they are read.

Links to folders, which GitHub can show and a site cannot, keep their text only. The tables in benchmarks/results
are put below benchmarks/README.md in the navigation. Code loses the empty line at its end, which doctest needs.
"""

import re
from typing import Any

from docutils import nodes

TABLES = "\n\n```{toctree}\n:hidden:\n:glob:\n\nresults/*\n```\n"


def without_folder_links(text: str) -> str:
    """Return a page without links to folders, such as ``[figures/](figures/)``."""
    return re.sub(r"(?<!!)\[([^\]]+)\]\((?![a-z]+://)[^)\s]*/\)", r"\1", text)


def _read(_app: Any, page: str, source: list[str]) -> None:
    if not page.startswith("docs/notebooks/"):
        source[0] = without_folder_links(source[0])
    if page == "benchmarks/README":
        source[0] += TABLES


def _strip(_app: Any, doctree: Any) -> None:
    for block in doctree.findall(nodes.literal_block):
        text = block.astext().rstrip()
        block.rawsource, block[:] = text, [nodes.Text(text)]


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", _read)
    app.connect("doctree-read", _strip)
    return {"parallel_read_safe": True}
