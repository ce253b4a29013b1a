"""Spiked units: the part that all units share."""

import numpy as np
import pytest

from eigenveil.engines import SampledPopulation
from eigenveil.kernels import to_single
from eigenveil.operators import Matrices, samples


@pytest.mark.parametrize("b", ["0x1.4000052aaaaacp+1", "0x1.2aaab2d555555p+1"])
def test_the_common_part_is_symmetric_to_the_bit(b):
    """a (b l) and b (a l) differ in their last bit, at a value where they round differently to single precision.

    The release is the upper triangle, mirrored. It stays within the radius if the centre is symmetric.
    mutant: the shared part is subtracted from the centre without making it symmetric.
    """
    directions = np.array([[3.0], [float.fromhex(b)]])
    operator = samples.spiked(directions, [1 / 7], np.zeros((1, 2)))
    plain = to_single(operator._common(np.eye(2)))
    assert plain[0, 1] != plain[1, 0]
    total = SampledPopulation(operator, Matrices()).clipped_sum(np.zeros((2, 2)), 100.0, -25)
    np.testing.assert_array_equal(total, total.T)
    np.testing.assert_allclose(np.ldexp(total.astype(float), -25), plain, rtol=1e-6)
