import dataclasses
import math

import pytest

from eigenveil.errors import InvalidInputError
from eigenveil.theory import (
    Model,
    allowed_oracle_error,
    required_samples,
    required_samples_dp_ojas,
    required_samples_one,
    samples_for_zeta,
    upper_bound,
)

MODEL = Model(d=50, k=3, lambda_1=7.0, kappa=2.0, M=90.0, V=20.0, gamma=1.5)
PRIVACY = {"epsilon": 0.5, "delta": 1e-5}
LOG = math.log(1e5)
ONE = math.exp(4) + 50 * 2 * 1.5 * math.sqrt(LOG) / 0.5 + 2 * 90 + 4 * 20 + math.sqrt(50) * LOG**1.5 / 0.5
THIRD = 4 * 1.5 * 9 * 50 * math.sqrt(LOG) / 0.5


def test_the_printed_values():
    assert required_samples_one(MODEL, **PRIVACY) == pytest.approx(ONE)
    assert required_samples(MODEL, form="printed", **PRIVACY) == pytest.approx(max(ONE, 49 * 4 * 27 * 20, THIRD))
    assert required_samples(MODEL, **PRIVACY) == pytest.approx(max(3 * ONE, 16 * 27 * 20, THIRD))
    assert required_samples_dp_ojas(MODEL, **PRIVACY) == pytest.approx(
        4 + 2 * 90 + 4 * 20 + 50 * 2 * 2.5 * LOG / 0.5
    )
    assert required_samples(MODEL, constant=5.0, **PRIVACY) == pytest.approx(
        5 * required_samples(MODEL, **PRIVACY)
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"V": 1e6}, 16 * 27 * 1e6),
        ({"gamma": 1e4}, 4 * 1e4 * 9 * 50 * math.sqrt(LOG) / 0.5),
        ({"M": 1e9}, 3 * (ONE + 2 * (1e9 - 90))),
    ],
)
def test_each_of_the_three_requirements_can_be_largest(changes, expected):
    assert required_samples(dataclasses.replace(MODEL, **changes), **PRIVACY) == pytest.approx(expected)


def test_the_second_requirement_follows_from_the_lemma():
    """At n = 16 kappa^4 k^3 V the statistical error of an oracle equals the bound of lemma-upper-bound-xi-i."""
    n = 16 * MODEL.kappa**4 * MODEL.k**3 * MODEL.V
    assert math.sqrt(MODEL.V * MODEL.k / n) == pytest.approx(allowed_oracle_error(MODEL.kappa, MODEL.k))


def test_the_sharp_form():
    """The same with the sharper bound, and never more samples than the lemma requires."""
    k, kappa = MODEL.k, MODEL.kappa
    n = 8 * kappa**3 * k**2 * MODEL.V
    assert math.sqrt(MODEL.V * k / n) == pytest.approx(allowed_oracle_error(kappa, k, sharp=True))
    noisy = dataclasses.replace(MODEL, V=1e6)
    assert required_samples(noisy, form="sharp", **PRIVACY) == pytest.approx(kappa**3 * k**2 * 1e6)
    wide = dataclasses.replace(MODEL, gamma=1e4)
    private = 1e4 * 50 * math.sqrt(LOG) / 0.5
    assert required_samples(wide, form="sharp", **PRIVACY) == pytest.approx((kappa * k) ** 1.5 * private)
    for model in (MODEL, noisy, wide):
        assert required_samples(model, form="sharp", **PRIVACY) <= required_samples(model, **PRIVACY)
    with pytest.raises(InvalidInputError, match="form"):
        required_samples(MODEL, form="best", **PRIVACY)


def test_units_matter_only_in_the_printed_form():
    larger = dataclasses.replace(MODEL, lambda_1=700.0)
    assert required_samples(larger, **PRIVACY) == required_samples(MODEL, **PRIVACY)
    assert required_samples(larger, form="printed", **PRIVACY) == pytest.approx(
        1e4 * required_samples(MODEL, form="printed", **PRIVACY)
    )
    unit_gap = dataclasses.replace(MODEL, lambda_1=MODEL.kappa, V=1e6)
    assert required_samples(unit_gap, **PRIVACY) == required_samples(unit_gap, form="printed", **PRIVACY)


def test_the_exponential_condition():
    narrow = dataclasses.replace(MODEL, kappa=30.0)
    assert required_samples(narrow, **PRIVACY) == math.inf
    assert math.isfinite(required_samples(narrow, exponential=False, **PRIVACY))
    assert math.isfinite(required_samples_dp_ojas(narrow, **PRIVACY))
    assert required_samples_one(MODEL, exponential=False, **PRIVACY) == pytest.approx(ONE - math.exp(4))


@pytest.mark.parametrize("rule", [required_samples, required_samples_one, required_samples_dp_ojas])
def test_monotonicity(rule):
    base = rule(MODEL, **PRIVACY)
    assert rule(MODEL, epsilon=1.0, delta=1e-5) < base
    assert rule(MODEL, epsilon=0.5, delta=1e-3) < base
    for changes in ({"d": 100}, {"kappa": 3.0}, {"gamma": 3.0}):
        assert rule(dataclasses.replace(MODEL, **changes), **PRIVACY) > base
    assert rule(dataclasses.replace(MODEL, k=9), **PRIVACY) >= base


@pytest.mark.parametrize("zeta", [1e-4, 0.01, 0.5])
@pytest.mark.parametrize("changes", [{}, {"gamma": 0.0}, {"V": 0.0}, {"V": 1e-9}])
def test_samples_for_zeta_inverts_the_bound(zeta, changes):
    model = dataclasses.replace(MODEL, **changes)
    n = samples_for_zeta(zeta, model, constant=2.0, **PRIVACY)
    assert upper_bound(n, model, constant=2.0, **PRIVACY) == pytest.approx(zeta, rel=1e-9)


def test_invalid_arguments_raise():
    for rule in (required_samples, required_samples_one, required_samples_dp_ojas):
        with pytest.raises(InvalidInputError, match="epsilon"):
            rule(MODEL, epsilon=0.0, delta=1e-5)
        with pytest.raises(InvalidInputError, match="delta"):
            rule(MODEL, epsilon=1.0, delta=1.0)
        with pytest.raises(InvalidInputError, match="constant"):
            rule(MODEL, constant=-1.0, **PRIVACY)
    with pytest.raises(InvalidInputError, match="zeta"):
        samples_for_zeta(0.0, MODEL, **PRIVACY)
    with pytest.raises(InvalidInputError, match="k must be"):
        allowed_oracle_error(2.0, 0)
