"""Runs the code of docs/gallery.md while the page is read, and puts each picture below the code that draws it."""

import doctest
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from docutils import nodes

PAGE = "docs/gallery"
STYLE = {"svg.hashsalt": "eigenveil", "svg.fonttype": "none", "figure.figsize": (5.6, 3.6)}


def _draw(app: Any, doctree: Any) -> None:
    if app.env.docname != PAGE:
        return
    folder = Path(app.outdir, "_images")
    folder.mkdir(parents=True, exist_ok=True)
    names: dict[str, Any] = {}
    for section in doctree.findall(nodes.section):
        for block in [child for child in section.children if isinstance(child, nodes.literal_block)]:
            for path in _run(block.astext(), names, folder / section["ids"][0]):
                image = f'<img class="picture" alt="{section[0].astext()}" src="../_images/{path.name}">'
                section.insert(section.index(block) + 1, nodes.raw("", image, format="html"))


def _run(text: str, names: dict[str, Any], path: Path) -> list[Path]:
    """Run a piece of doctest, and save the figure it makes, if any."""
    code = "".join(example.source for example in doctest.DocTestParser().get_examples(text))
    with mpl.rc_context({"backend": "agg", **STYLE}):
        exec(code, names)  # noqa: S102  # our own page
        made = [path.with_suffix(".svg") for _ in plt.get_fignums()]
        for one in made:
            plt.savefig(one, metadata={"Date": None})
        plt.close("all")
    return made


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("doctree-read", _draw)
    return {"parallel_read_safe": True}
