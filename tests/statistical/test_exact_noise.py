"""The sampler's law with tens of millions of draws: what the quick tests cannot see."""

import numpy as np
import pytest
from scipy import stats

from eigenveil.mechanisms import system_bytes
from eigenveil.mechanisms.noise.exact_noise import ExactSampler, gaussian_integers, laplace_integers

pytestmark = pytest.mark.slow
ALARM = 1e-6


@pytest.mark.parametrize(("draw", "law"), [(gaussian_integers, stats.norm), (laplace_integers, stats.laplace)])
@pytest.mark.parametrize("scale", [1, 5, 64])
def test_pmf_with_twenty_million_draws(draw, law, scale):
    size = 20_000_000
    draws = draw(scale, size, system_bytes)
    edges = np.arange(-60 * scale, 60 * scale + 1)
    expected = size * (law.cdf((edges + 0.5) / scale) - law.cdf((edges - 0.5) / scale))
    observed = np.bincount(draws + 60 * scale, minlength=edges.size)
    common = expected >= 10
    while size - expected[common].sum() < 10:  # the tails are one bin, which expects 10 draws too
        common[np.flatnonzero(common)[[0, -1]]] = False
    expected = np.append(expected[common], size - expected[common].sum())
    observed = np.append(observed[common], size - observed[common].sum())
    assert stats.chisquare(observed, expected, sum_check=False).pvalue > ALARM


@pytest.mark.parametrize(("draw", "law"), [(gaussian_integers, stats.norm), (laplace_integers, stats.laplace)])
def test_far_tail_has_its_mass(draw, law):
    size, scale = 20_000_000, 1 << 24
    draws = np.abs(draw(scale, size, system_bytes)) / scale
    for reach in (3.0, 4.0, 4.5, 5.0):
        expected = size * 2 * law.sf(reach)
        seen = int(np.sum(draws > reach))
        assert stats.poisson.cdf(seen, expected) > ALARM
        assert stats.poisson.sf(seen - 1, expected) > ALARM


@pytest.mark.parametrize("normal", [True, False])
def test_tail_path_with_many_draws(normal):
    law = stats.norm if normal else stats.laplace
    draws = ExactSampler(normal=normal, reach=1).integers(1 << 20, 100_000, system_bytes)
    assert stats.kstest(draws / (1 << 20), law.cdf).pvalue > ALARM
