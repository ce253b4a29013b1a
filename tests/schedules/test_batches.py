import math

import pytest

from eigenveil.errors import InvalidInputError
from eigenveil.schedules import batch_size_root, batch_size_theorem, rounds_in, rounds_more, rounds_theorem


@pytest.mark.parametrize("n", [1, 2, 3, 10, 93, 94, 1000, 10**6, 10**9])
@pytest.mark.parametrize("rule", [batch_size_root, batch_size_theorem])
def test_batches_fit(rule, n):
    B = rule(n)
    assert isinstance(B, int)
    assert 1 <= B <= n
    assert 1 <= rounds_in(n, B) * B <= n


def test_the_printed_values():
    assert batch_size_root(10**4 + 5) == 100
    assert batch_size_theorem(10**6) == math.floor(10**6 / math.log(10**6) ** 3)
    assert batch_size_theorem(10**6, c=2.0) == math.floor(2 * 10**6 / math.log(10**6) ** 3)
    assert batch_size_theorem(93) == 1
    assert rounds_in(10**4, 100) == 100
    assert rounds_theorem(10**4, c=0.5) == math.ceil(0.5 * math.log(10**4) ** 3)


def test_batches_and_rounds_of_the_theorem_belong_together():
    for n in (10**5, 10**7, 10**9):
        assert rounds_in(n, batch_size_theorem(n)) == pytest.approx(rounds_theorem(n), rel=0.02)


@pytest.mark.parametrize("kappa", [2.0, 20.0, 200.0])
def test_which_rounds_remove_the_exponential_condition(kappa):
    """eq:exp-dep, kappa^2 log^2 n / T <= 1/3: violated by the paper's T for large kappa, never with kappa^2."""
    n = 10**6

    def left(T):
        return kappa**2 * math.log(n) ** 2 / T

    assert left(rounds_more(n, kappa, power=2)) <= 1 / 3
    assert (left(rounds_more(n, kappa)) <= 1 / 3) == (math.log(n) >= 3 * kappa)
    assert (left(rounds_theorem(n)) <= 1 / 3) == (math.log(n) >= 3 * kappa**2)
    assert rounds_more(n, 1.0) == rounds_theorem(n)


def test_invalid_arguments_raise():
    for rule in (batch_size_root, batch_size_theorem, rounds_theorem):
        for n in (0, -3, 2.5, math.inf):
            with pytest.raises(InvalidInputError, match="n must be"):
                rule(n)
    for batch in (0, 11):
        with pytest.raises(InvalidInputError, match="batch_size"):
            rounds_in(10, batch)
    with pytest.raises(InvalidInputError, match="c must be"):
        batch_size_theorem(10, c=0.0)
    with pytest.raises(InvalidInputError, match="kappa"):
        rounds_more(10, math.nan)
