"""What a user can expect at every epsilon: plans computed in threads, with a curve."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import Future
from functools import lru_cache
from threading import Lock, Thread

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator, PercentFormatter, ScalarFormatter

from eigenveil.app.choices import STEPS, PublicGuess
from eigenveil.planner import Expected, Plan, explain, percent, plan
from eigenveil.plots.style import BLUE, ORANGE
from eigenveil.report.svg import inline_svg

DRAWING = Lock()
"""Held while matplotlib draws: its settings are shared by all threads."""


class Forecasts:
    """Plans by their inputs. Each is computed once, in a thread of its own."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._plans: dict[tuple[PublicGuess, int, int, float, bool, str | None], Future[Plan]] = {}

    def of(
        self, guess: PublicGuess, *, d: int, k: int, delta: float, center: bool = True, scale: str | None = None
    ) -> Future[Plan]:
        """Return the plan for these public numbers at all epsilons of the slider, perhaps not computed yet."""
        key = (guess, d, k, delta, center, scale)

        def compute() -> Plan:
            spread = "rows" if guess.rows_each == 1 else guess.rows_each
            return plan(
                guess.n,
                d,
                k,
                epsilon=STEPS,
                delta=delta,
                spectrum=guess.spectrum,
                spread=spread,
                center=center,
                scale=scale,
            )

        with self._lock:
            if key not in self._plans:
                self._plans[key] = _in_thread(compute)
            return self._plans[key]


def _in_thread(compute: Callable[[], Plan]) -> Future[Plan]:
    """Run a function in a thread that does not keep the process alive."""
    future: Future[Plan] = Future()

    def run() -> None:
        try:
            future.set_result(compute())
        except Exception as error:  # noqa: BLE001  # raised again where the result is read
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    return future


def energy_interval(row: Expected) -> tuple[float, float]:
    """Return the interval in which the energy is expected, from that of zeta = sqrt(1 - energy)."""
    low, high = row.interval
    return 1 - high**2, 1 - low**2


def expectation(found: Plan, step: int) -> str:
    """Return what can be expected at one epsilon, in a sentence."""
    row, k = found.rows[step], found.k
    low, high = energy_interval(row)
    components = "1 component is" if k == 1 else f"{k} components are"
    best = "the best component captures" if k == 1 else f"the best {k} components capture"
    return (
        f"At ε = {row.epsilon:g}, the {components} expected to capture about {percent(row.energy)} of the "
        f"variance that {best}: between {percent(low)} and {percent(high)}. Without privacy it would be "
        f"{percent(1 - row.without_privacy**2)}."
    )


def meaning(found: Plan, step: int) -> str:
    """Return what epsilon means for an attacker, in words."""
    text = " ".join(explain(found.rows[step].epsilon, found.delta).split()).partition(": ")[2]
    return f"{text[0].upper()}{text[1:]}"


@lru_cache(maxsize=64)
def curve(found: Plan, step: int) -> Markup:
    """Draw the expected energy against epsilon with its interval, and mark one epsilon."""
    rows = found.rows
    epsilons, energies = [row.epsilon for row in rows], [row.energy for row in rows]
    low, high = zip(*map(energy_interval, rows), strict=True)

    def draw(axes: Axes) -> None:
        axes.fill_between(epsilons, low, high, color=BLUE, alpha=0.25, linewidth=0)
        axes.plot(epsilons, energies, color=BLUE)
        axes.axhline(1 - rows[0].without_privacy ** 2, color=BLUE, linestyle=":", linewidth=1)
        here, at = epsilons[step], energies[step]
        axes.vlines(here, low[step], high[step], color=ORANGE, linewidth=2)
        axes.plot([here], [at], "o", color=ORANGE, markersize=7)
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(FixedLocator([0.1, 0.2, 0.5, 1, 2, 5, 10]))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
        bottom = min(0.8, *low)  # a good plan looks good, and not like a steep curve
        axes.set_ylim(bottom - 0.03 * (1 - bottom), 1 + 0.05 * (1 - bottom))
        axes.set_xlabel("ε")
        axes.set_ylabel("captured variance")

    with DRAWING:
        svg = inline_svg(draw, name="curve", label=f"Expected accuracy by ε. {expectation(found, step)}")
    return Markup(re.sub(r"<style.*?</style>", "", svg, flags=re.DOTALL))  # noqa: S704  # our CSS has these rules
