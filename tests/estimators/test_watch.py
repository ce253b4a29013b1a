"""Progress: rate and time left, with a clock controlled by the test."""

import numpy as np
import pytest

from eigenveil import DPPCA, samples
from eigenveil.estimators import Progress
from eigenveil.estimators.progress import Lines, Watch, count_rows
from eigenveil.privacy import Purpose


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def said(monkeypatch):
    lines = []
    monkeypatch.setattr(Lines, "say", lambda _, text: lines.append(text))
    return lines


def watch_of(most):
    clock = Clock()
    watch = Watch(clock)
    watch.expect(most, more=False)
    return watch, clock


def read(watch, clock, *, blocks, rows, seconds):
    """One pass over the data, in blocks that take equally long."""
    watch.start_pass()
    for _ in range(blocks):
        clock.now += seconds
        watch.add_rows(rows)


def test_time_left_is_remaining_rows_at_the_rate_since_the_first_pass(said):
    watch, clock = watch_of(5)
    read(watch, clock, blocks=4, rows=1000, seconds=9.0)  # the first pass may sort people
    assert watch.seconds_left() is None
    assert watch.time_left_text() == ""
    read(watch, clock, blocks=4, rows=1000, seconds=0.5)
    assert watch.seconds_left() == pytest.approx(3 * 2.0)
    watch.start_pass()
    clock.now += 0.5
    watch.add_rows(1000)
    assert watch.seconds_left() == pytest.approx(1.5 + 2 * 2.0)
    assert (watch.pass_text(), watch.time_left_text()) == ("pass 3 of at most 5", ", at most 6 s left")
    assert watch.rate_text() == ", 230 rows/s"
    assert not said, "nothing was charged, so nothing is printed"


def test_neither_maximum_nor_time_left_if_the_maximum_is_unknown(said):
    watch, clock = watch_of(None)
    for _ in range(3):
        read(watch, clock, blocks=1, rows=100, seconds=1.0)
    assert watch.pass_text() == "pass 3"
    assert watch.time_left_text() == ""
    watch(Progress(what="round 4 (pilot): sum", purpose=Purpose.COMPONENTS, step=14, share=0.4))
    assert said == ["round 4 (pilot): sum: 40% of the budget, pass 3, 100 rows/s"]


def test_one_more_pass_after_the_fit():
    watch = Watch(Clock())
    watch.expect(8, more=True)
    watch.start_pass()
    assert watch.pass_text() == "pass 1 of at most 9"


def test_the_time_left_is_never_negative():
    watch, clock = watch_of(1)
    for _ in range(3):
        read(watch, clock, blocks=1, rows=100, seconds=1.0)
    assert watch.seconds_left() == 0


def test_occasional_lines_without_a_terminal(said):
    watch, clock = watch_of(50)
    step = Progress(what="round 4 (pilot): sum", purpose=Purpose.COMPONENTS, step=14, share=0.4)
    watch(step)
    assert not said
    read(watch, clock, blocks=6, rows=500, seconds=0.5)
    (line,) = said
    assert line.startswith("round 4 (pilot): sum: 40% of the budget, pass 1 of at most 50, 1k rows/s")


def test_rows_and_passes_are_counted():
    watch, _ = watch_of(4)
    operator = count_rows(samples.rows(np.ones((70, 2))), watch)
    for _ in range(2):
        assert sum(block.values.shape[0] for block in operator.source.blocks()) == 70
    assert (watch.rows, watch.passes) == (140, 2)


def test_the_bar_shows_every_charge(monkeypatch):
    """Every update of the bar, independent of when the terminal is refreshed."""
    shown = []

    class Bar:
        def update(self, task, **told):
            shown.append((task, told))

    watch, clock = watch_of(40)
    monkeypatch.setattr(watch, "_bars", Bar())
    monkeypatch.setattr(watch, "_task", 7)
    X = np.random.default_rng(0).normal(size=(3000, 12)) * [6, 3, *[1] * 10]
    heard = []

    def hear(step):
        heard.append(step)
        clock.now += 1
        watch(step)

    DPPCA(2, epsilon=2.0, callback=hear).fit(count_rows(samples.rows(X), watch))
    charges = [told for _, told in shown if "description" in told]
    assert {task for task, _ in shown} == {7}
    assert [told["description"] for told in charges if told["description"] == heard[0].what]
    assert list(dict.fromkeys(told["description"] for told in charges)) == list(
        dict.fromkeys(step.what for step in heard)
    ), "every charge was shown, in order"
    shares = [told["completed"] for told in charges]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    last = shown[-1][1]["pace"]
    assert last.startswith(f"pass {watch.passes} of at most 40, ")
    assert "rows/s" in last
    assert "left" in last


def test_steps_report_the_passes_that_were_made():
    """Each step reports the number of passes before it; at most two more follow the last step."""
    steps = []
    watch, _ = watch_of(None)
    X = np.random.default_rng(0).normal(size=(3000, 12)) * [6, 3, *[1] * 10]
    DPPCA(2, epsilon=2.0, center=False, callback=steps.append).fit(count_rows(samples.rows(X), watch))
    passes = [step.passes for step in steps]
    assert passes[0] == 1  # the count of units and the next query share one pass, before both charges
    assert passes == sorted(passes)
    assert watch.passes - 2 <= passes[-1] <= watch.passes


def test_passes_of_a_cluster_are_those_of_the_steps(said):
    """Rows are then not counted here, so there is no rate."""
    watch, clock = watch_of(9)
    clock.now += 3
    watch(Progress(what="mean", purpose=Purpose.MEAN, step=2, share=0.08, passes=4))
    assert said == ["mean: 8% of the budget, pass 4 of at most 9"]
