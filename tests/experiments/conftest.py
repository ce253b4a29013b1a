"""A quick run of all figures; tests check the files that it wrote."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from eigenveil.experiments import FIGURES, Run, reproduce
from eigenveil.experiments.names import OJAS_PRINTED
from eigenveil.experiments.table import Table, read_table

SLOW = "learning-rate"
"""The figure that is run with the slow method."""
RUN = Run(trials=2, seed=0, quick=True)


def small(figure):
    """Return the figure without its slowest curve, unless it is `SLOW`."""
    if figure.name == SLOW:
        return replace(figure, quick_base={"n": 500})
    return replace(figure, methods=tuple(name for name in figure.methods if name != OJAS_PRINTED))


@dataclass(frozen=True)
class Made:
    out: Path
    cache: Path
    tables: dict[str, Table]


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Every figure, from a quick run."""
    folder = tmp_path_factory.mktemp("reproduce")
    out, cache = folder / "figures", folder / "cache"
    reproduce(map(small, FIGURES.values()), RUN, out=out, cache=cache)
    return Made(out, cache, {name: read_table(figure, out / f"{name}.csv") for name, figure in FIGURES.items()})
