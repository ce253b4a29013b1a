import dataclasses
import itertools
import math

import pytest

from eigenveil.errors import InvalidInputError
from eigenveil.schedules import (
    ExperimentSchedule,
    HarmonicSchedule,
    TheoremSchedule,
    experiment_schedules,
    theorem_alpha,
    theorem_offset,
    theorem_schedule,
)

EXPERIMENT = ExperimentSchedule(eigenvalue=10.0, next_eigenvalue=4.0, sigma=0.1, n=2000)
SCHEDULES = [TheoremSchedule(gap=0.5, offset=30.0, alpha=2.0), EXPERIMENT, HarmonicSchedule()]


@pytest.mark.parametrize("eta", SCHEDULES, ids=lambda eta: type(eta).__name__)
def test_steps_decrease_like_one_over_t(eta):
    steps = [eta(t) for t in range(1, 200)]
    assert all(early > late > 0 for early, late in itertools.pairwise(steps))
    assert eta(2 * 10**9) == pytest.approx(eta(10**9) / 2, rel=1e-6)
    # not summable, but their squares are: what stochastic approximation asks for
    inverse = [1 / step for step in steps]
    assert inverse[2] - inverse[1] == pytest.approx(inverse[101] - inverse[100])


@pytest.mark.parametrize("eta", SCHEDULES, ids=lambda eta: type(eta).__name__)
def test_steps_start_at_one_and_schedules_are_immutable(eta):
    for t in (0, -1):
        with pytest.raises(InvalidInputError, match="counted from 1"):
            eta(t)
    if dataclasses.fields(eta):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(eta, dataclasses.fields(eta)[0].name, 1.0)
    assert eta == dataclasses.replace(eta)


def test_the_printed_values():
    assert TheoremSchedule(gap=0.5, offset=30.0, alpha=2.0)(10) == 2 / (0.5 * 40)
    assert EXPERIMENT(7) == pytest.approx(1 / (20 * 0.1 * 10 + 6 * 7 / math.log(2000)))
    assert [HarmonicSchedule()(j) for j in (1, 2, 9)] == [1 / 2, 1 / 3, 1 / 10]


def test_the_experiments_step_is_the_theorems_with_another_offset():
    log = math.log(2000)
    same = TheoremSchedule(gap=6.0, offset=20 * 0.1 * 10 * log / 6, alpha=log)
    for t in (1, 10, 1000):
        assert EXPERIMENT(t) == pytest.approx(same(t))


def test_one_schedule_per_component():
    first, second = experiment_schedules([10.0, 4.0, 1.0], sigma=0.1, n=2000)
    assert first == EXPERIMENT
    assert (second.eigenvalue, second.next_eigenvalue) == (4.0, 1.0)
    quiet = experiment_schedules([1.0, 0.0], sigma=0.0, n=3)[0]
    assert quiet(1) == pytest.approx(math.log(3))


def test_the_offset_is_the_larger_of_its_two_parts():
    common = {"gap": 0.5, "lambda_1": 2.0, "alpha": 3.0, "failure": 0.1}
    log = math.log(1 + 0.1 / 100)
    noisy = theorem_offset(spread=1.0, variance=7.0, **common)
    assert noisy == pytest.approx(20 * (7 + 4) * 9 / (0.25 * log))
    wide = theorem_offset(spread=1e9, variance=7.0, **common)
    assert wide == pytest.approx(20 * 1e9 * 3 / 0.5)
    assert theorem_offset(spread=1.0, variance=8.0, **common) > noisy
    assert theorem_offset(spread=1.0, variance=7.0, **(common | {"failure": 0.01})) > noisy


def test_the_offset_has_no_units():
    """Doubling the data divides step sizes by four and leaves the offset unchanged."""
    once = theorem_schedule(10**5, lambda_1=2.0, lambda_2=1.0, spread=3.0, variance=5.0)
    twice = theorem_schedule(10**5, lambda_1=8.0, lambda_2=4.0, spread=12.0, variance=80.0)
    assert twice.offset == pytest.approx(once.offset)
    assert twice(17) == pytest.approx(once(17) / 4)
    assert once.alpha == theorem_alpha(10**5) == pytest.approx(math.log(10**5))


def test_alpha_stays_in_the_range_of_the_theorem():
    assert theorem_alpha(1) > 0.5
    assert theorem_alpha(10**6, c=0.001) > 0.5
    with pytest.raises(InvalidInputError, match="alpha"):
        TheoremSchedule(gap=1.0, offset=1.0, alpha=0.5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TheoremSchedule(gap=0.0, offset=1.0, alpha=1.0), "gap"),
        (lambda: TheoremSchedule(gap=1.0, offset=-1.0, alpha=1.0), "offset"),
        (lambda: ExperimentSchedule(eigenvalue=1.0, next_eigenvalue=1.0, sigma=0.1, n=10), "must exceed"),
        (lambda: ExperimentSchedule(eigenvalue=1.0, next_eigenvalue=0.0, sigma=-0.1, n=10), "sigma"),
        (lambda: ExperimentSchedule(eigenvalue=1.0, next_eigenvalue=0.0, sigma=0.1, n=1), "at least 2"),
        (lambda: experiment_schedules([1.0], sigma=0.1, n=10), "k \\+ 1"),
        (lambda: theorem_schedule(10, lambda_1=1.0, lambda_2=1.0, spread=1.0, variance=1.0), "must exceed"),
        (
            lambda: theorem_offset(gap=1.0, lambda_1=1.0, spread=1.0, variance=1.0, alpha=1.0, failure=1.0),
            "failure",
        ),
        (lambda: theorem_alpha(0), "n must be"),
    ],
)
def test_invalid_arguments_raise(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()
