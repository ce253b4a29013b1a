"""Orderings that must hold in every figure, even with few and small datasets."""

import dataclasses
import itertools

import pytest

from eigenveil.experiments import FIGURES, METHODS, Setting, names
from eigenveil.experiments.fits import RELATION

BETTER_THAN_RANDOM = 0.9
SPIKED = [name for name, figure in FIGURES.items() if figure.base.model == "spiked"]
GAUSSIAN = [name for name, figure in FIGURES.items() if figure.base.model == "gaussian"]


@pytest.mark.parametrize("name", FIGURES)
def test_every_curve_has_its_points(made, name):
    figure, table = FIGURES[name], made.tables[name]
    methods = {row.method for row in table.rows}
    assert methods >= set(figure.methods) - {names.OJAS_PRINTED}
    for row in table.rows:
        assert row.trials == (0 if row.method == names.BOUND else 2)
        assert 0 <= row.mean <= 1
        assert row.method == names.BOUND or row.low <= row.mean <= row.high


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_is_better_than_no_noise(made, name):
    """Up to 10 %, by chance."""
    table = made.tables[name]
    for panel in table.panels():
        floor = table.curve(names.PLAIN, panel)
        for method in {row.method for row in table.rows} - {names.PLAIN, names.BOUND}:
            for x, row in table.curve(method, panel).items():
                assert row.mean > 0.9 * floor[x].mean, (method, panel, x)


@pytest.mark.parametrize("name", FIGURES)
def test_literal_k_dp_pca_learns_nothing_from_so_few_units(made, name):
    """A random k-dimensional subspace captures at most k/d of the energy of the spikes."""
    table = made.tables[name]
    for panel in table.panels():
        assert all(row.mean > 0.6 for row in table.curve(names.LITERAL, panel).values())


@pytest.mark.parametrize(
    "name", [name for name in SPIKED if name not in ("spiked-sigma", "learning-rate", "literal-choices")]
)
def test_tracked_block_beats_the_baselines_on_spiked_data(made, name):
    table = made.tables[name]
    for panel in table.panels():
        tracked = table.curve(names.TRACKED, panel)
        for other in (names.GAUSS_1, names.GAUSS_2, names.POWER, names.OJAS, names.GAUSS_2_PRINTED):
            assert all(tracked[x].mean < row.mean for x, row in table.curve(other, panel).items()), other


@pytest.mark.parametrize("name", ["spiked-n-large-noise", "spiked-n-small-noise", "gaussian-n"])
def test_more_units_help(made, name):
    for method in (names.GAUSS_1, names.TRACKED, names.BOUND):
        means = [row.mean for _, row in sorted(made.tables[name].curve(method).items())]
        assert all(after < before for before, after in itertools.pairwise(means)), method


@pytest.mark.parametrize("name", ["spiked-d", "gaussian-d"])
def test_more_dimensions_hurt_the_baselines(made, name):
    for method in (names.GAUSS_1, names.POWER):
        means = [row.mean for _, row in sorted(made.tables[name].curve(method).items())]
        assert all(after > before for before, after in itertools.pairwise(means)), method


@pytest.mark.parametrize("name", GAUSSIAN)
def test_a_bought_clip_beats_one_that_exceeds_every_row(made, name):
    table = made.tables[name]
    wide, bought = (table.curve(method) for method in (names.GAUSS_1, names.GAUSS_1_BOUGHT))
    assert all(row.mean < wide[x].mean for x, row in bought.items())


def test_methods_without_rates_ignore_the_factor(made):
    table = made.tables["learning-rate"]
    assert len({row.mean for row in table.curve(names.TRACKED).values()}) == 1
    assert len({row.mean for row in table.curve(names.OJAS).values()}) > 1


@pytest.mark.parametrize("method", [method for method in METHODS.values() if method.fit is not None])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_methods_called_private_are_private_except_for_the_seed(method):
    """The ledger of each curve agrees with the figure."""
    setting = Setting(n=300, d=8, sigma=0.1)
    ledger = method.fit(setting.draw(0), setting, 0).ledger
    assert not ledger.private
    others = [reason for reason in ledger.reasons if not reason.startswith("seeded")]
    assert method.private == (not others)
    if method.private:
        assert ledger.epsilon(setting.delta) <= setting.epsilon * (1 + 1e-9)
        assert ledger.relation == RELATION


def test_settings_of_the_paper():
    """The settings printed in the captions."""
    for figure in FIGURES.values():
        base = figure.base
        assert (base.k, base.lambda_1, base.epsilon, base.delta, base.tau) == (2, 10.0, 1.0, 0.01, 0.01)
        assert figure.axis == "d" or figure.panel == "d" or base.d == 200
        assert set(figure.only) <= set(figure.methods)
        assert all(set(values) <= set(figure.values) for values in figure.only.values())


def test_a_setting_describes_its_data():
    for model in ("spiked", "gaussian"):
        setting = Setting(model=model, n=50, d=12, k=3, sigma=0.3, gap=2.0)
        data = setting.draw(0)
        assert data.eigenvalues == pytest.approx(setting.eigenvalues)
        assert data.eigenvalues[2] - data.eigenvalues[3] == pytest.approx(2.0)
        assert dataclasses.replace(setting, rate=3.0).without_rate() == setting
        assert setting.spectrum == pytest.approx(tuple(data.eigenvalues[2:4]))
