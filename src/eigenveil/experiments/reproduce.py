"""Run figures, and write their tables, plots and the page of claims."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from eigenveil.experiments.cache import Cache
from eigenveil.experiments.claims import CLAIMS
from eigenveil.experiments.figure import Figure
from eigenveil.experiments.figures import FIGURES
from eigenveil.experiments.runner import ProgressCallback, results, run_missing
from eigenveil.experiments.table import Table, read_table, summary, write_table
from eigenveil.experiments.verdicts import page


@dataclass(frozen=True, kw_only=True)
class Run:
    """Settings that determine the numbers of a figure.

    Parameters
    ----------
    trials : int
        Datasets per point. Slow methods run on fewer of them.
    seed : int
        Seed of all randomness, of the data and of the noise.
    quick : bool
        Run only a few small points, to check that everything works.
    """

    trials: int = 50
    seed: int = 0
    quick: bool = False

    def command(self, figure: str) -> str:
        """Return the command that reproduces the numbers.

        Examples
        --------
        >>> Run(trials=2, quick=True).command("spiked-d")
        'eigenveil reproduce spiked-d --trials 2 --seed 0 --quick'
        """
        command = f"eigenveil reproduce {figure} --trials {self.trials} --seed {self.seed}"
        return f"{command} --quick" if self.quick else command


def reproduce(
    figures: Iterable[Figure],
    run: Run,
    *,
    out: Path,
    cache: Path,
    workers: int = 1,
    on_progress: ProgressCallback = lambda *_: None,
) -> dict[str, list[Path]]:
    """Run the missing fits of the figures, and write the table and plots of each.

    Parameters
    ----------
    figures : iterable of Figure
        Figures to make. Cells that several figures share are run once.
    run : Run
        Number of trials, seed, and whether it is a quick run.
    out, cache : Path
        Folders for the output files, and for results of single fits.
    workers : int
        Number of processes.
    on_progress : callable
        Called with the progress; see `ProgressCallback`.

    Returns
    -------
    dict
        Output files by name of figure.
    """
    chosen = list(figures)
    kept = Cache(cache)
    run_missing(
        chosen,
        trials=run.trials,
        seed=run.seed,
        quick=run.quick,
        cache=kept,
        workers=workers,
        on_progress=on_progress,
    )
    out.mkdir(parents=True, exist_ok=True)
    return {figure.name: _write(figure, run, kept, out) for figure in chosen}


def redraw(figure: Figure, out: Path) -> list[Path]:
    """Draw the plots of a figure from its table in `out`, and return their paths."""
    from eigenveil.experiments.drawing import draw  # noqa: PLC0415  # matplotlib is slow to import

    return draw(read_table(figure, out / f"{figure.name}.csv"), figure, out / figure.name)


def _write(figure: Figure, run: Run, cache: Cache, out: Path) -> list[Path]:
    values = results(figure, trials=run.trials, seed=run.seed, quick=run.quick, cache=cache)
    rows = [summary(*place, zetas) for place, zetas in values.items()]
    order = {name: place for place, name in enumerate(figure.methods)}
    rows.sort(key=lambda row: (order[row.method], row.panel or 0.0, row.x))
    table = Table(figure.name, run.command(figure.name), tuple(rows))
    path = out / f"{figure.name}.csv"
    write_table(table, figure, path)
    return [path, *redraw(figure, out)]


def write_claims(out: Path, target: Path) -> Path:
    """Write the page of claims with their verdicts, from the tables in `out` alone."""
    tables = {
        name: read_table(figure, out / f"{name}.csv")
        for name, figure in FIGURES.items()
        if (out / f"{name}.csv").exists()
    }
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page(CLAIMS, tables, FIGURES, folder=out.name), encoding="utf-8")
    return target
