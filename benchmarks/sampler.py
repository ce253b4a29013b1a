"""Exact noise against numpy's float normals, as ratios of times taken in turn in one run.

python benchmarks/sampler.py               # writes benchmarks/results/sampler.md
python benchmarks/sampler.py --rounds 1    # quicker; prints only
"""

from __future__ import annotations

import statistics
from collections.abc import Callable

import numpy as np
import opendp.prelude as dp
import stamp
from harness import parser, seconds, table, write

from eigenveil.mechanisms import system_bytes
from eigenveil.mechanisms.noise.exact_noise import gaussian_integers, laplace_integers

SIZE, ROUNDS, OPENDP_SIZE = 1_000_000, 9, 10_000
SCALE = (1 << 24) + 12_345


def main() -> None:
    """Measure in turn, print the table and write it."""
    options = parser(__doc__)
    options.add_argument("--rounds", type=int, default=ROUNDS, help="with another number nothing is written")
    rounds = options.parse_args().rounds
    stamped = stamp.line()
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    opendp = dp.m.make_gaussian(space, dp.l2_distance(T=float), scale=1.0)
    zeros = [0.0] * OPENDP_SIZE
    rng = np.random.default_rng()
    rivals: dict[str, tuple[Callable[[], object], int]] = {
        "exact Gaussian (eigenveil)": (lambda: gaussian_integers(SCALE, SIZE, system_bytes), SIZE),
        "exact Laplace (eigenveil)": (lambda: laplace_integers(SCALE, SIZE, system_bytes), SIZE),
        "exact discrete Gaussian (OpenDP)": (lambda: opendp(zeros), OPENDP_SIZE),
    }
    ratios: dict[str, list[float]] = {name: [] for name in rivals}
    for round_ in range(rounds + 1):
        reference = seconds(lambda: rng.standard_normal(SIZE)) / SIZE
        for name, (call, size) in rivals.items():
            ratio = seconds(call) / size / reference
            if round_:  # the first round warms up
                ratios[name].append(ratio)
    rows = [
        (name, f"{statistics.median(found):.1f}", f"{min(found):.1f}", f"{max(found):.1f}")
        for name, found in ratios.items()
    ]
    write(
        "sampler",
        title="Exact noise against `numpy.random.Generator.standard_normal`",
        about=f"Time per draw over numpy's, {SIZE:,} draws ({OPENDP_SIZE:,} for OpenDP).\n"
        f"{ROUNDS} rounds in turn. Goal: at most 40. Nothing is seeded.",
        stamp=stamped,
        command="python benchmarks/sampler.py",
        body=table(("sampler", "median ratio", "smallest", "largest"), rows),
        keep=rounds == ROUNDS,
    )


if __name__ == "__main__":
    main()
