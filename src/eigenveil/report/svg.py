"""Displays as inline SVG. Text and lines use the page's text colour, light or dark."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from eigenveil._printable import printable

_INK = "#010203"
_CARD = "#020304"
"""Placeholders for the page's colours of text and of cards, replaced after drawing. No display uses them."""
_FONTS = "'DejaVu Sans', Verdana, 'Segoe UI', sans-serif"
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.size": 9.0,
    "hatch.linewidth": 0.7,
    "figure.facecolor": _CARD,
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "hatch.color"), _INK
    ),
}


def inline_svg(
    draw: Callable[[Axes], object], *, name: str, label: str, width: float = 3.7, height: float = 2.6
) -> Markup:
    """Draw on new axes with `draw` and return the figure as an `svg` element.

    Parameters
    ----------
    draw : callable
        Function that takes the axes to draw on.
    name : str
        Prefix of all ids in the element, so that one page can contain several.
    label : str
        Text for screen readers.
    width, height : float
        Size in inches, which sets the size of letters: the page stretches the picture to the width it has.
    """
    with mpl.rc_context({**_SETTINGS, "svg.hashsalt": name}):
        figure = Figure(figsize=(width, height), layout="constrained")
        figure.patch.set_alpha(0.0)
        axes = figure.add_subplot()
        axes.patch.set_alpha(0.0)
        draw(axes)
        text = io.StringIO()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)  # the page has other fonts
            figure.savefig(text, format="svg", metadata={"Date": None})
    return Markup(_for_a_page(text.getvalue(), name=name, label=label))  # noqa: S704  # matplotlib escapes names


def _for_a_page(svg: str, *, name: str, label: str) -> str:
    """Return the bare `svg` element, without size, metadata and external addresses, and with prefixed ids."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    box = re.search(r'viewBox="[^"]*"', svg)
    assert box is not None, "matplotlib writes a viewBox"
    head = f'<svg {box.group()} role="img" aria-label="{escape(printable(label))}">'
    svg = head + svg[svg.index(">") + 1 :]
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(?:xlink:)?href="#', f'href="#{name}-', svg)
    svg = re.sub(r"url\(#", f"url(#{name}-", svg)
    svg = svg.replace("xlink:href=", "href=")  # embedded images; HTML uses the plain attribute name
    svg = svg.replace("'DejaVu Sans'", _FONTS)
    svg = svg.replace(_CARD, "var(--card)")
    return svg.replace(_INK, "currentColor")
