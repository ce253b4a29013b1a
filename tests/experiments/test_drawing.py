"""Plots: few curves per panel, a label beside each, one colour per method."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenveil.experiments import FIGURES, METHODS, names, redraw
from eigenveil.experiments.drawing import REFERENCES, STYLES, draw, panels_of
from eigenveil.experiments.labels import spread
from eigenveil.experiments.table import Row, Table, read_table
from eigenveil.plots.style import BLUE

DOCS = Path(__file__).parents[2] / "docs" / "figures"
TABLES = {name: read_table(figure, DOCS / f"{name}.csv") for name, figure in FIGURES.items()}


def words_of(path):
    """Return the text of a plot, with all white space as single spaces."""
    shown = re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text(encoding="utf-8"))
    return " ".join(" ".join(shown).split()).replace("&lt;", "<").replace("&#x27;", "'")


@pytest.mark.parametrize("name", FIGURES)
def test_every_curve_is_shown_with_at_most_six_in_a_panel(name):
    panels = panels_of(TABLES[name])
    assert set().union(*panels.values()) == set(FIGURES[name].methods)
    present = [one for one in REFERENCES if one in FIGURES[name].methods]
    for curves in panels.values():
        assert len(curves) == len(set(curves)) <= 6
        assert curves[: len(present)] == present


def test_a_colour_per_method_and_dashes_for_what_is_not_private():
    assert set(STYLES) == set(METHODS)
    solid = [style.colour for style in STYLES.values() if style.dash != "--"]
    assert len(set(solid)) == len(solid)
    assert STYLES[names.OJAS_PRINTED].colour == STYLES[names.OJAS].colour
    assert STYLES[names.GAUSS_2_PRINTED].colour == STYLES[names.GAUSS_2].colour
    assert STYLES[names.TRACKED].colour == BLUE, "as in the plots of a fitted model"
    for name, method in METHODS.items():
        printed = not method.private and name not in (names.PLAIN, names.BOUND)
        assert (STYLES[name].dash == "--") == printed
        assert ("NOT PRIVATE" in method.label) == printed


@pytest.mark.parametrize("name", FIGURES)
def test_curves_of_a_panel_are_distinguishable_without_colour(name):
    for curves in panels_of(TABLES[name]).values():
        looks = [(STYLES[one].mark, STYLES[one].dash) for one in curves]
        assert len(set(looks)) == len(looks)


@pytest.mark.parametrize("name", FIGURES)
def test_plots_in_the_docs_label_every_curve_and_name_no_label_of_the_papers_source(name):
    words = words_of(DOCS / f"{name}.svg")
    assert all(METHODS[method].label in words for method in FIGURES[name].methods)
    assert FIGURES[name].paper in words
    assert not re.search(r"\b(fig|sec):|\bsec-", words)


def test_curves_that_coincide_share_a_label(tmp_path):
    def drawn(**curves):
        rows = [
            Row(None, x, method.replace("_", "-"), 5, mean)
            for method, means in curves.items()
            for x, mean in zip((10.0, 100.0), means, strict=True)
        ]
        table = Table("literal-choices", "eigenveil reproduce", tuple(rows))
        return words_of(draw(table, FIGURES["literal-choices"], tmp_path / "plot")[0])

    apart = drawn(plain=(0.1, 0.01), k_dp_pca=(1.0, 0.9), k_dp_pca_fixed=(1.0, 0.8))
    assert "coincide" not in apart
    words = drawn(plain=(0.1, 0.01), k_dp_pca=(1.0, 0.9), k_dp_pca_fixed=(1.0, 0.899))
    assert "2 curves that coincide: – k-DP-PCA as printed – k-DP-PCA, range fixed" in words
    assert "3 curves that coincide:" in words_of(DOCS / "literal-choices.svg")


def test_redrawing_changes_plots_only(made):
    paths = [made.out / f"spiked-d.{kind}" for kind in ("svg", "png", "csv")]
    before = [path.read_bytes() for path in paths]
    paths[0].unlink()
    assert redraw(FIGURES["spiked-d"], made.out) == paths[:2]
    assert [path.read_bytes() for path in paths] == before


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0.02, 0.15)), min_size=1, max_size=6))
def test_labels_do_not_overlap_and_stay_beside_the_axes(labels):
    wanted, heights = zip(*labels, strict=True)
    places = spread(wanted, heights)
    assert np.all(places - np.array(heights) / 2 > -1e-9)
    assert np.all(places + np.array(heights) / 2 < 1 + 1e-9)
    order = sorted(range(len(labels)), key=lambda i: places[i])
    for i, j in itertools.pairwise(order):
        assert places[j] - places[i] > (heights[i] + heights[j]) / 2 - 1e-9
        assert wanted[i] <= wanted[j]


def test_labels_stay_where_there_is_room():
    assert spread([0.9, 0.2, 0.5], [0.1, 0.2, 0.1]) == pytest.approx([0.9, 0.2, 0.5])
