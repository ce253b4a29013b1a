"""Figure of an audit: measured epsilon against claimed epsilon."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure as Canvas

from eigenveil.audit.result import AuditFinding
from eigenveil.plots.style import BLUE, GREEN, ORANGE, PURPLE

_MARKS = (("o", BLUE), ("s", ORANGE), ("^", GREEN), ("D", PURPLE), ("v", "#56B4E9"), ("X", "#777777"))
_SETTINGS: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "audit", "font.size": 9.0}


def draw(findings: Sequence[AuditFinding], path: Path) -> Path:
    """Write the figure, with one panel per relation. A point above the diagonal is a violation."""
    relations = list(dict.fromkeys(one.relation for one in findings))
    names = list(dict.fromkeys(one.algorithm for one in findings))
    largest = 1.25 * max(max(one.epsilon, one.measured) for one in findings)
    with mpl.rc_context(_SETTINGS):
        canvas = Canvas(figsize=(1.6 + 3.6 * len(relations), 3.9), layout="constrained")
        panels = canvas.subplots(1, len(relations), squeeze=False, sharey=True)[0]
        for axes, relation in zip(panels, relations, strict=True):
            axes.fill_between([0, largest], [0, largest], largest, color="#D55E00", alpha=0.12, linewidth=0)
            axes.plot([0, largest], [0, largest], color="black", linewidth=1)
            for place, name in enumerate(names):
                marker, colour = _MARKS[place % len(_MARKS)]
                points = [one for one in findings if (one.algorithm, one.relation) == (name, relation)]
                points.sort(key=lambda one: one.epsilon)
                x, y = [one.epsilon for one in points], [one.measured for one in points]
                axes.plot(x, y, marker=marker, color=colour, linewidth=0.8, markersize=5, label=name)
            axes.set(xlim=(0, largest), ylim=(0, largest), title=relation, xlabel="claimed epsilon")
            axes.spines[["top", "right"]].set_visible(False)
        panels[0].set_ylabel("measured epsilon, lower bound")
        panels[0].text(0.04, 0.94, "claim violated", transform=panels[0].transAxes, va="top", color="#A03C00")
        canvas.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
        one = findings[0]
        note = (
            f"confidence {one.confidence:g} for each point; {one.trials} fits a side decide; delta = {one.delta:g}"
        )
        canvas.supxlabel(note, fontsize=7)
        canvas.savefig(path, **({"metadata": {"Date": None}} if path.suffix == ".svg" else {"dpi": 130}))
    return path
