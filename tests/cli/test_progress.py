"""Progress: what is said of pace and time left, with a clock that the test holds."""

import numpy as np
import pytest

from eigenveil import samples
from eigenveil.cli import progress
from eigenveil.cli.progress import Watch, counted
from eigenveil.estimators import Progress
from eigenveil.estimators.readings import Course
from eigenveil.privacy import Purpose


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def said(monkeypatch):
    lines = []
    monkeypatch.setattr(progress, "say", lines.append)
    return lines


def watch_of(most, *, exact):
    clock = Clock()
    watch = Watch(clock)
    watch.course = Course(most, exact=exact)
    return watch, clock


def read(watch, clock, *, blocks, rows, seconds):
    """One reading, in blocks that take as long each."""
    watch.began()
    for _ in range(blocks):
        clock.now += seconds
        watch.saw(rows)


def test_time_left_is_rows_to_go_at_the_pace_since_the_first_reading(said):
    watch, clock = watch_of(5, exact=True)
    read(watch, clock, blocks=4, rows=1000, seconds=9.0)  # it may have sorted people
    assert watch.seconds_left() is None
    assert watch.left() == "time left not known yet"
    read(watch, clock, blocks=4, rows=1000, seconds=0.5)
    assert watch.seconds_left() == pytest.approx(3 * 2.0)
    watch.began()
    clock.now += 0.5
    watch.saw(1000)
    assert watch.seconds_left() == pytest.approx(1.5 + 2 * 2.0)
    assert (watch.reading(), watch.left()) == ("reading 3 of 5", "about 6 s left")
    assert watch.rate() == "230 rows/s"
    assert not said, "nothing was charged, so there is nothing to tell"


def test_at_most_where_the_number_of_rounds_is_open():
    watch, clock = watch_of(50, exact=False)
    read(watch, clock, blocks=1, rows=100, seconds=1.0)
    read(watch, clock, blocks=1, rows=100, seconds=2.0)
    assert watch.reading() == "reading 2 of at most 50"
    assert watch.left() == "at most 1 min 36 s left"


def test_the_end_is_never_in_the_past():
    watch, clock = watch_of(1, exact=False)
    for _ in range(3):
        read(watch, clock, blocks=1, rows=100, seconds=1.0)
    assert watch.reading() == "reading 3 of at most 3"
    assert watch.seconds_left() == 0


def test_a_line_now_and_then_without_a_terminal(said):
    watch, clock = watch_of(50, exact=False)
    step = Progress(what="round 4 (pilot): sum", purpose=Purpose.COMPONENTS, step=14, share=0.4)
    watch(step)
    assert not said
    read(watch, clock, blocks=6, rows=500, seconds=0.5)
    (line,) = said
    assert line.startswith("round 4 (pilot): sum: 40% of the budget, reading 1 of at most 50, 1k rows/s")
    assert line.endswith("time left not known yet")


def test_what_is_charged_for_shortens_the_way():
    watch, _ = watch_of(50, exact=False)
    watch.readings = 20
    watch(Progress(what="variances: radius", purpose=Purpose.VARIANCES, step=18, share=0.9))
    assert watch.reading() == "reading 20 of at most 26"


def test_rows_and_readings_are_counted():
    watch, _ = watch_of(4, exact=True)
    operator = counted(samples.rows(np.ones((70, 2))), watch)
    for _ in range(2):
        assert sum(block.values.shape[0] for block in operator.source.blocks()) == 70
    assert (watch.rows, watch.readings) == (140, 2)
