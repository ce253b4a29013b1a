"""Displays as SVG inside a page: its letters and lines take the page's colours, light or dark."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.figure import Figure

_INK = "#010203"
"""Stands for the page's own colour of text until the drawing is done; no display uses it."""
_FONTS = "'DejaVu Sans', Verdana, 'Segoe UI', sans-serif"
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.size": 9.0,
    "hatch.linewidth": 0.7,
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "hatch.color"), _INK
    ),
}


def inline_svg(draw: Callable[[Axes], object], *, name: str, label: str, height: float = 2.7) -> Markup:
    """What `draw` draws, as an `svg` element.

    Parameters
    ----------
    draw : callable
        Takes the axes to draw on.
    name : str
        Starts all ids in it, so that several can stand on one page.
    label : str
        What a screen reader says.
    height : float
        In inches, at a width of 4.2.
    """
    with mpl.rc_context({**_SETTINGS, "svg.hashsalt": name}):
        figure = Figure(figsize=(4.2, height), layout="constrained")
        figure.patch.set_alpha(0.0)
        axes = figure.add_subplot()
        axes.patch.set_alpha(0.0)
        draw(axes)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    return Markup(_for_a_page(text.getvalue(), name=name, label=label))  # noqa: S704  # matplotlib escapes names


def _for_a_page(svg: str, *, name: str, label: str) -> str:
    """The element alone, without size, metadata and addresses, with ids of its own."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    box = re.search(r'viewBox="[^"]*"', svg)
    assert box is not None, "matplotlib writes one"
    head = f'<svg {box.group()} role="img" aria-label="{escape(label)}">'
    svg = head + svg[svg.index(">") + 1 :]
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(?:xlink:)?href="#', f'href="#{name}-', svg)
    svg = re.sub(r"url\(#", f"url(#{name}-", svg)
    svg = svg.replace("xlink:href=", "href=")  # pictures within; HTML knows the plain name
    svg = svg.replace("'DejaVu Sans'", _FONTS)
    return re.sub(_INK, "currentColor", svg, flags=re.IGNORECASE)
