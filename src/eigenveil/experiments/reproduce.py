"""From the name of a figure to its files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from eigenveil.experiments.cache import Cache
from eigenveil.experiments.claims import CLAIMS
from eigenveil.experiments.figure import Figure
from eigenveil.experiments.figures import FIGURES
from eigenveil.experiments.runner import Heard, results, run_missing
from eigenveil.experiments.table import Table, read_table, summary, write_table
from eigenveil.experiments.verdicts import page


@dataclass(frozen=True, kw_only=True)
class Run:
    """What decides on the numbers of a figure.

    Parameters
    ----------
    trials : int
        Data sets per point; slow methods see fewer of them.
    seed : int
        All randomness follows from it, that of the data and that of the noise.
    quick : bool
        A few small points, to see that all works.
    """

    trials: int = 50
    seed: int = 0
    quick: bool = False

    def command(self, figure: str) -> str:
        """What to type for the same numbers.

        Examples
        --------
        >>> Run(trials=2, quick=True).command("spiked-d")
        'eigenveil reproduce spiked-d --trials 2 --seed 0 --quick'
        """
        words = f"eigenveil reproduce {figure} --trials {self.trials} --seed {self.seed}"
        return f"{words} --quick" if self.quick else words


def reproduce(
    figures: Iterable[Figure],
    run: Run,
    *,
    out: Path,
    cache: Path,
    workers: int = 1,
    heard: Heard = lambda *_: None,
) -> dict[str, list[Path]]:
    """Run what is missing of the figures, and write table and pictures of each.

    Parameters
    ----------
    figures : iterable of Figure
        Cells that several of them have are run once.
    run : Run
        Trials, seed, quick or not.
    out, cache : Path
        Folders for the files, and for results of single fits.
    workers : int
        Processes.
    heard : callable
        Told of progress.

    Returns
    -------
    dict
        The files of every figure.
    """
    chosen = list(figures)
    kept = Cache(cache)
    run_missing(
        chosen, trials=run.trials, seed=run.seed, quick=run.quick, cache=kept, workers=workers, heard=heard
    )
    out.mkdir(parents=True, exist_ok=True)
    return {figure.name: _write(figure, run, kept, out) for figure in chosen}


def _write(figure: Figure, run: Run, cache: Cache, out: Path) -> list[Path]:
    from eigenveil.experiments.drawing import draw  # noqa: PLC0415  # matplotlib takes its time to import

    values = results(figure, trials=run.trials, seed=run.seed, quick=run.quick, cache=cache)
    rows = [summary(*place, zetas) for place, zetas in values.items()]
    order = {name: place for place, name in enumerate(figure.methods)}
    rows.sort(key=lambda row: (order[row.method], row.panel or 0.0, row.x))
    table = Table(figure.name, run.command(figure.name), tuple(rows))
    path = out / f"{figure.name}.csv"
    write_table(table, figure, path)
    return [path, *draw(table, figure, out / figure.name)]


def write_claims(out: Path, target: Path) -> Path:
    """Write what became of the paper's claims, from the tables in `out` alone."""
    tables = {
        name: read_table(figure, out / f"{name}.csv")
        for name, figure in FIGURES.items()
        if (out / f"{name}.csv").exists()
    }
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page(CLAIMS, tables, FIGURES, folder=out.name), encoding="utf-8")
    return target
