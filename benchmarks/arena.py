"""Tracked PCA against DP-Gauss-1, whose clip is chosen for free.

    python benchmarks/arena.py                        # the public cells of the arena, 10 seeds
    python benchmarks/arena.py --family growing       # slow and skewed spectra at n = 2e4, 1e5, 5e5
    python benchmarks/arena.py --family heavy-tails   # pareto rows, rare spikes
    python benchmarks/arena.py --family small --seeds 40   # few columns
    python benchmarks/arena.py --family skewed        # log-normal factors
    python benchmarks/arena.py --family real          # real, public data; real_data.py has them
    python benchmarks/arena.py --cells flat           # cells whose name contains "flat"; prints only

Writes benchmarks/results/FAMILY.md. zeta = sqrt(1 - energy kept / best energy), smaller is better. Tracked pays
for everything: count, radii, sums, variances. The rival is given the number of units, and the best of six clipping
quantiles (.1 to .99), chosen by the true zeta, mean over seeds: more than it could have. It is shown with its
printed noise (the same on every entry), with ours (smaller by sqrt 2 off the diagonal), and without noise: the
floor that the sample sets. All are under add-remove with the same epsilon and delta.
Real data are fetched by pip; what cannot be had is left out.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import functools
import hashlib
import json
import math
import multiprocessing
import pathlib
import statistics
import sys
import warnings

import numpy as np
from cells import FAMILIES, TUNED, Cell, Drawn, FloatArray, available
from scipy import linalg, stats

import eigenveil
from eigenveil import metrics
from eigenveil.engines import LocalEngine
from eigenveil.privacy.gaussian import gaussian_mu
from eigenveil.subspace import tracked_pca

CACHE = pathlib.Path(__file__).parent / ".cache"
QUANTILES = (0.1, 0.3, 0.5, 0.75, 0.9, 0.99)

COLUMNS = (
    *("cell", "k", "tracked", "DP-Gauss-1*", "our noise*", "no noise*", "times better", "log-ratio <"),
    *("prototype", "over it"),
)

RIVALS = ("printed", "ours", "none")
"""Whose noise: DP-Gauss-1 as printed, with our noise, with none."""


def gauss_1(data: Drawn, ks: tuple[int, ...], mu: float, seed: int) -> dict[tuple[int, str], list[float]]:
    """Zeta of DP-Gauss-1 at each quantile, for every k and kind of noise."""
    d = len(data.covariance)
    Z = np.random.default_rng(seed).standard_normal((d, d))
    noises = {"printed": np.triu(Z) + np.triu(Z, 1).T, "ours": (Z + Z.T) / 2, "none": 0 * Z}
    out: dict[tuple[int, str], list[float]] = {(k, name): [] for k in ks for name in RIVALS}
    for quantile in QUANTILES:
        radius = float(np.quantile(data.norms, quantile))
        total = data.clipped_sum(np.minimum(1.0, radius / data.norms))
        for name, noise in noises.items():
            top = _leading(total + noise * radius / mu, max(ks))
            for k in ks:
                out[k, name].append(metrics.zeta(top[:k], data.covariance))
    return out


def _leading(matrix: FloatArray, k: int) -> FloatArray:
    d = len(matrix)
    top: FloatArray = linalg.eigh(matrix, subset_by_index=[d - k, d - 1])[1][:, ::-1].T
    return top


def one(job: tuple[str, str, int]) -> tuple[str, int, dict[tuple[int, str], list[float]]]:
    """All methods on one data set; what was found is kept, so that a run that was stopped goes on."""
    kept = CACHE / f"{'-'.join(map(str, job))}-{code()}.json".replace(" ", "_")
    if kept.exists():
        return job[1], job[2], {(k, method): zetas for k, method, zetas in json.loads(kept.read_text())}
    out = measured(*job)
    CACHE.mkdir(exist_ok=True)
    kept.write_text(json.dumps([[k, method, zetas] for (k, method), zetas in out.items()]))
    return job[1], job[2], out


@functools.cache
def code() -> str:
    """A name for the code that results depend on."""
    package = pathlib.Path(eigenveil.__file__).parent
    rooms = ("subspace", "mechanisms", "engines", "operators", "kernels", "datasets")
    files = [
        *(pathlib.Path(__file__).with_name(name) for name in ("cells.py", "real_data.py", "real-data.txt")),
        *(f for room in rooms for f in package.glob(f"{room}/*.py")),
    ]
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted(files))).hexdigest()[:12]


def measured(family: str, name: str, seed: int) -> dict[tuple[int, str], list[float]]:
    """All methods on one data set."""
    cell = next(cell for cell in FAMILIES[family]() if cell.name == name)
    data = cell.draw(1000 + seed)
    out = gauss_1(data, cell.ks, gaussian_mu(1.0, cell.delta), seed)
    for k in cell.ks:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            release = tracked_pca(
                data.units, k, epsilon=1.0, delta=cell.delta, random_state=seed, engine=LocalEngine(1)
            )
        out[k, "tracked"] = [metrics.zeta(release.components, data.covariance)]
    return out


def row(cell: Cell, index: int, results: dict[str, list[list[float]]]) -> tuple[str, float, float | None]:
    """A line of the table, the upper limit of the paired log-ratio, and the ratio to the prototype."""
    ours = [zetas[0] for zetas in results["tracked"]]
    rivals = {name: min(zip(*results[name], strict=True), key=statistics.mean) for name in RIVALS}
    logs = [math.log(a / b) for a, b in zip(ours, rivals["printed"], strict=True)]
    half = float(stats.t.ppf(0.975, len(logs) - 1)) * statistics.stdev(logs) / math.sqrt(len(logs))
    upper = statistics.mean(logs) + half
    width = float(stats.t.ppf(0.975, len(ours) - 1)) * statistics.stdev(ours) / math.sqrt(len(ours))
    prototype = cell.prototype[index] if index < len(cell.prototype) else None
    ratio = None if prototype is None else statistics.mean(ours) / prototype
    cells = [
        cell.name,
        f"{cell.ks[index]}",
        f"{statistics.mean(ours):.3g} +- {width:.1g}",
        f"{statistics.mean(rivals['printed']):.3g}",
        f"{statistics.mean(rivals['ours']):.3g}",
        f"{statistics.mean(rivals['none']):.3g}",
        f"{math.exp(-statistics.mean(logs)):.3g}",
        f"{upper:+.3f}",
        "" if prototype is None else f"{prototype:.3g}",
        "" if ratio is None else f"{ratio:.2f}",
    ]
    return f"| {' | '.join(cells)} |", upper, ratio


def main() -> None:
    """Run, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", choices=FAMILIES, default="arena")
    parser.add_argument("--cells", default="", help="only cells whose name contains this; nothing is written")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args()
    chosen = [cell for cell in FAMILIES[options.family]() if options.cells in cell.name and available(cell)]
    jobs = [(options.family, cell.name, seed) for cell in chosen for seed in range(options.seeds)]
    results: dict[tuple[str, int], dict[str, list[list[float]]]] = {}
    with multiprocessing.Pool(options.processes) as pool:
        for name, seed, out in pool.imap(one, jobs):
            print(f"{name}, seed {seed}", file=sys.stderr)
            for (k, method), zetas in out.items():
                results.setdefault((name, k), {}).setdefault(method, []).append(zetas)
    text = "\n".join([*_head(options.family, options.seeds), *_tables(options.family, chosen, results)])
    print(text)
    if not options.cells:
        (pathlib.Path(__file__).parent / "results" / f"{options.family}.md").write_text(text)


def _tables(
    family: str, chosen: list[Cell], results: dict[tuple[str, int], dict[str, list[list[float]]]]
) -> list[str]:
    """A table and its summary; of real data two, since some are never tuned on."""
    parts = {"": chosen}
    if family == "real":
        parts = {
            "## May be tuned on": [cell for cell in chosen if cell.source in TUNED],
            "## Never tuned on": [cell for cell in chosen if cell.source not in TUNED],
        }
    text, head = [], [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for title, cells in parts.items():
        found = [row(cell, i, results[cell.name, k]) for cell in cells for i, k in enumerate(cell.ks)]
        if found:
            lines, uppers, ratios = zip(*found, strict=True)
            within = [min(max(ratio, 0.5), 2.0) for ratio in ratios if ratio is not None]
            text += [*([title, ""] if title else []), *head, *lines, "", *_summary(uppers, within), ""]
    return text


def _head(family: str, seeds: int) -> list[str]:
    command = "python benchmarks/arena.py" + ("" if family == "arena" else f" --family {family}")
    title = family.capitalize().replace("-", " ")
    real = [
        "The rows' own covariance is the true one, so 'no noise' is clip bias alone.",
        "The mean is free. Tables (flights, caravan, weather, mortgages) are standardised for free.",
        "Where n is all rows, seeds differ in noise alone. `python benchmarks/real_data.py` lists the data.",
    ]
    return [
        f"# {title}: tracked PCA against DP-Gauss-1 with its clip for free",
        "",
        f"zeta, smaller is better; mean of {seeds} seeds, 95 % half width.",
        "epsilon = 1; delta = .01 for spiked, 1e-6 else. 'Times better' is than DP-Gauss-1* as printed.",
        f"Made by `{command} --seeds {seeds}`, which says what each is given.",
        *(real if family == "real" else []),
        "",
    ]


def _summary(uppers: tuple[float, ...], ratios: list[float]) -> list[str]:
    below = sum(upper < 0 for upper in uppers)
    most = f"at most {max(uppers):+.3f} (goal .02), below 0 in {below} of {len(uppers)} (goal 80 %)."
    lines = [f"Upper limit of the paired log-ratio to DP-Gauss-1*: {most}"]
    if ratios:
        mean = math.exp(statistics.mean(map(math.log, ratios)))
        lines.append(f"Geometric mean of the ratios to the prototype, each within [.5, 2]: {mean:.3f} (goal .9).")
    return lines


if __name__ == "__main__":
    main()
