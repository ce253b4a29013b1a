"""Implementation of ``eigenveil demo``: plan, fit handwritten digits, write a report, compare methods."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits

from eigenveil.algorithms import Release, dp_gauss_1, k_dp_pca, tracked_pca
from eigenveil.cli.console import print_json, say
from eigenveil.datasets import spiked_covariance
from eigenveil.estimators import DPPCA
from eigenveil.metrics import energy_ratio
from eigenveil.persistence import save
from eigenveil.persistence.outputs import check_report_path
from eigenveil.planner import plan
from eigenveil.privacy import Budget, Ledger
from eigenveil.report import write_report

DELTA = 1e-6
MAP_EPSILON = 0.5
RUNS = 3
"""Number of runs per method. The table shows the mean."""


def run(
    *,
    out: Path,
    components: int,
    epsilon: float,
    as_json: bool,
) -> None:
    """Run ``eigenveil demo``."""
    digits = load_digits()
    out.mkdir(parents=True, exist_ok=True)
    check_report_path(out / "report.html")
    rows, names = digits.data, [f"row {r} col {c}" for r in range(1, 9) for c in range(1, 9)]
    say(
        f"{len(rows)} handwritten digits of {rows.shape[1]} pixels, {components} components, epsilon = {epsilon:g}"
    )
    n, d = rows.shape
    planned = plan(n, d, components, epsilon=epsilon, delta=DELTA, spectrum="fast decay")
    say(f"Plan (made without reading the digits):\n{planned}\n")
    say("Fitting, and writing a report ...")
    report = _fit_and_report(rows, names, components, epsilon, out)
    say(f"Comparing with other methods, {RUNS} runs each ...")
    kept = _digits_kept(rows, components, epsilon)
    spiked = _spiked_kept(epsilon)
    if as_json:
        print_json({"kept": kept, "spiked": spiked, "epsilon": epsilon, "delta": DELTA})
    else:
        Console(highlight=False).print(_table(kept, spiked, epsilon))
    say(f"report: {report}")


def _fit_and_report(rows: Any, names: list[str], k: int, epsilon: float, out: Path) -> Path:
    """Fit, buy a map of scores on the same ledger, save the model, write the report."""
    fit, map_ = (Budget.from_epsilon_delta(one, DELTA).mu for one in (epsilon, MAP_EPSILON * epsilon))
    ledger = Ledger(Budget.from_mu(math.hypot(fit, map_)))
    frame = pa.Table.from_arrays(list(rows.T), names=names)
    model = DPPCA(k, epsilon=epsilon, delta=DELTA, ledger=ledger)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the report shows the warnings
        model.fit(frame)
        scores = model.private_scores(frame, epsilon=MAP_EPSILON * epsilon, delta=DELTA, bins=10, ledger=ledger)
    save(model, out / "model")
    return write_report(model, out / "report.html", command="eigenveil demo", scores=scores, grid=(8, 8))


def _digits_kept(rows: Any, k: int, epsilon: float) -> dict[str, float]:
    """Return, for each method, the variance of the digits it captures relative to plain PCA."""
    centred = rows - rows.mean(axis=0)  # an advantage for the other methods: they need not buy a mean
    own = DPPCA(k, epsilon=epsilon, delta=DELTA)
    return _compared(lambda: own.fit(rows).release_, centred, np.cov(rows.T, bias=True), k, epsilon)


def _spiked_kept(epsilon: float) -> dict[str, float]:
    """Return the same for a sample whose units differ little, so that the noise can adapt to their spread."""
    data = spiked_covariance(1_000, 200, [10.0, 5.0], 0.025, random_state=0)
    budget: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA}
    return _compared(lambda: tracked_pca(data.samples, 2, **budget), data.samples, data.covariance, 2, epsilon)


def _compared(own: Callable[[], Release], samples: Any, truth: Any, k: int, epsilon: float) -> dict[str, float]:
    budget: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA}
    literal: dict[str, Any] = {"mean_estimator": "privmean", "range_finder": "privrange", "relation": "replace"}
    runs: dict[str, Callable[[], Release]] = {
        "eigenveil": own,
        "DP-Gauss-1": lambda: dp_gauss_1(samples, k, **budget),
        "k-DP-PCA as printed": lambda: k_dp_pca(samples, k, **budget, **literal),
    }
    kept = {"plain PCA (not private)": 1.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, run in runs.items():
            kept[name] = float(np.mean([energy_ratio(run().components, truth) for _ in range(RUNS)]))
    plain = np.linalg.eigvalsh(truth)[::-1]
    kept["random directions"] = float(k / len(plain) * plain.sum() / plain[:k].sum())
    return kept


def _table(kept: dict[str, float], spiked: dict[str, float], epsilon: float) -> Table:
    table = Table(caption="captured variance, relative to plain PCA")
    table.add_column(f"at epsilon = {epsilon:g}")
    table.add_column("digits", justify="right")
    table.add_column("spiked sample", justify="right")
    for name, share in kept.items():
        table.add_row(name, f"{share:.1%}", f"{spiked[name]:.1%}")
    return table
