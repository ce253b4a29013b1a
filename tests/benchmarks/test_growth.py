"""Families of the benchmark on growing n: what is drawn, the floor, and where the paper's bound applies."""

import numpy as np
import pytest

from eigenveil import theory
from support.benchmarks import load_script


@pytest.fixture(scope="module")
def growth():
    return load_script("growth")


SYNTHETIC = ("spiked", "flat", "decay", "slow", "shared signal")


@pytest.mark.parametrize("name", SYNTHETIC)
def test_the_mean_of_units_is_near_the_covariance(growth, name):
    sample = growth.FAMILIES[name].draw(20_000, 1)
    off = np.linalg.norm(sample.mean - sample.covariance) / np.linalg.norm(sample.covariance)
    assert 0 < off < 0.1
    again, other = (growth.FAMILIES[name].draw(100, seed).mean for seed in (1, 2))
    assert np.array_equal(again, growth.FAMILIES[name].draw(100, 1).mean)
    assert not np.allclose(again, other)


def test_units_with_a_shared_signal_have_the_mean_that_is_said(growth):
    sample = growth.FAMILIES["shared signal"].draw(7, 1)
    W = np.random.default_rng(0).standard_normal((growth.D, 3))
    blocks = [block for partition in sample.units.partitions() for block in partition.blocks()]
    products = np.concatenate([sample.units.products(block, W) for block in blocks])
    assert np.allclose(products.mean(axis=0), sample.mean @ W)


def test_the_bound_is_only_for_k_eigenvalues_above_equal_ones(growth):
    assert [one.name for one in growth.FAMILIES.values() if one.spikes] == ["spiked", "flat"]
    for name in ("spiked", "flat"):
        family = growth.FAMILIES[name]
        values = np.linalg.eigvalsh(family.draw(10, 1).covariance)[::-1]
        expected = np.concatenate([family.spikes, np.zeros(growth.D - family.k)]) + family.sigma**2
        assert np.allclose(values, expected)
        assert family.bound(10_000) == theory.lower_bound_spiked(
            10_000, d=growth.D, spikes=family.spikes, sigma=family.sigma, epsilon=1.0
        )
        assert family.bound(10**6) < family.bound(10**5) / np.sqrt(10) * 1.001
    assert growth.FAMILIES["decay"].bound(10_000) is None


def test_zeta_of_all_methods(growth):
    found = growth.zetas("spiked", 20_000, 0)
    assert set(found) == {growth.OURS, growth.GAUSS, growth.PLAIN}
    assert found[growth.PLAIN] < found[growth.OURS] < 0.5
    assert found[growth.PLAIN] < found[growth.GAUSS] < 0.9


def made_up(growth):
    """Zetas that fall as 1/n, in the form of a run."""
    return {
        (name, n): [dict.fromkeys(growth.METHODS, (1 + seed) / n) for seed in range(2)]
        for name in growth.FAMILIES
        for n in (1_000, 10_000)
    }


def test_lines_have_ratios_to_the_floor_and_to_the_bound(growth):
    lines = growth.rows(made_up(growth))
    assert [line[0] for line in lines[::2]] == list(growth.FAMILIES)
    bound = growth.FAMILIES["spiked"].bound(1_000)
    mean = np.sqrt(2) / 1000
    assert lines[0][2:4] == ["1,000", f"{mean:.3g} ± {100 * np.log(2) / 2:.0f} %"]
    assert lines[0][6:] == [f"{bound:.3g}", "1", "1", f"{mean / bound:.3g}"]
    assert lines[4][6:] == ["", "1", "1", ""]


def test_the_picture_is_small_and_labelled(growth, tmp_path):
    growth.draw_picture(made_up(growth), tmp_path / "growth.svg", 2)
    text = (tmp_path / "growth.svg").read_text("utf-8")
    assert len(text) < 150_000
    words = (
        "zeta",
        ">0.001<",
        "number of rows n",
        "lower bound",
        "PCA, not private",
        "eigenveil",
        *growth.FAMILIES,
    )
    assert [word for word in words if word not in text] == []
