"""Pages of the repository become pages of the site as they are, with two changes while they are read.

Links to folders, which GitHub can show and a site cannot, keep their text only. The tables in benchmarks/results
are put below benchmarks/README.md in the navigation.
"""  # noqa: INP001

import re
from typing import Any

TABLES = "\n\n```{toctree}\n:hidden:\n:glob:\n\nresults/*\n```\n"


def without_folder_links(text: str) -> str:
    """Return a page without links to folders, such as ``[figures/](figures/)``."""
    return re.sub(r"(?<!!)\[([^\]]+)\]\((?![a-z]+://)[^)\s]*/\)", r"\1", text)


def _read(_app: Any, page: str, source: list[str]) -> None:
    if not page.startswith("docs/notebooks/"):
        source[0] = without_folder_links(source[0])
    if page == "benchmarks/README":
        source[0] += TABLES


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True}
