"""Draws the diagram of docs/architecture.md, which GitHub draws with Mermaid, without any script or network."""

import re
from html import escape
from typing import Any

from docutils import nodes

ROW, BOX, GAP, LETTER, MARGIN = 78, 30, 26, 8.2, 24
"""Distance of layers, height of a box, distance between boxes, width of a letter, and space at the sides."""


def parsed(text: str) -> tuple[list[list[str]], list[tuple[str, str]]]:
    """Return the layers, top first, and the arrows of a flowchart as `docs/architecture.py` writes it."""
    layers = [
        [line.strip() for line in body.splitlines() if line.strip() and not line.strip().startswith("direction")]
        for body in re.findall(r"subgraph [^\n]*\n(.*?)\n *end\b", text, flags=re.DOTALL)
    ]
    return layers, re.findall(r"^ *(\w+) --> (\w+)$", text, flags=re.MULTILINE)


def drawn(text: str) -> str:
    """Return the flowchart as SVG, in the colours of the page."""
    layers, arrows = parsed(text)
    widths = {name: LETTER * len(name) + 20 for names in layers for name in names}
    spans = [sum(widths[name] for name in names) + GAP * (len(names) - 1) for names in layers]
    width, height = max(spans) + 8 * MARGIN, ROW * (len(layers) - 1) + BOX + 8
    places: dict[str, tuple[float, float]] = {}
    for row, (names, span) in enumerate(zip(layers, spans, strict=True)):
        left = (width - span) / 2 + (1.5 * MARGIN if row % 2 else -1.5 * MARGIN)
        for name in names:
            places[name] = (left + widths[name] / 2, 4 + ROW * row)
            left += widths[name] + GAP
    shapes = [_arrow(places[above], places[below]) for above, below in arrows]
    shapes += [_box(name, *place, widths[name]) for name, place in places.items()]
    label = "Packages in layers; arrows point from a package to one that it imports: " + ", ".join(
        f"{above} to {below}" for above, below in arrows
    )
    return (
        f'<svg class="layer-diagram" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="{escape(label)}"><defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" '
        'markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z"/></marker></defs>'
        f"{''.join(shapes)}</svg>"
    )


def _arrow(above: tuple[float, float], below: tuple[float, float]) -> str:
    (x, y), (u, v) = above, below
    top, half = y + BOX, (v - y - BOX) / 2
    curve = f"M{x:.0f} {top:.0f} C{x:.0f} {top + half:.0f} {u:.0f} {v - half:.0f} {u:.0f} {v:.0f}"
    return f'<path class="arrow" d="{curve}" marker-end="url(#tip)"/>'


def _box(name: str, x: float, y: float, width: float) -> str:
    box = f'<rect x="{x - width / 2:.0f}" y="{y:.0f}" width="{width:.0f}" height="{BOX}" rx="6"/>'
    return f'{box}<text x="{x:.0f}" y="{y + BOX / 2 + 5:.0f}" text-anchor="middle">{escape(name)}</text>'


def _replace(_app: Any, doctree: Any) -> None:
    for block in list(doctree.findall(nodes.literal_block)):
        if block.get("language") == "mermaid":
            block.replace_self(nodes.raw("", drawn(block.astext()), format="html"))


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("doctree-read", _replace)
    return {"parallel_read_safe": True}
