"""Every mechanism of the house, ready to run on rows: what the checks of all mechanisms go through."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from eigenveil.algorithms.baselines.dp_gauss_1 import DP_GAUSS_1, Gauss1Options
from eigenveil.algorithms.baselines.dp_gauss_2 import _buy_projector
from eigenveil.algorithms.baselines.dp_power_method import DP_POWER, PowerOptions
from eigenveil.algorithms.bounds import Declared, buy_bounds
from eigenveil.algorithms.frame import ColumnBounds
from eigenveil.algorithms.standard import Standard, standardise, with_declared
from eigenveil.algorithms.variances import buy_variances
from eigenveil.engines import ColumnPopulation, SampledPopulation, TensorPopulation
from eigenveil.mechanisms import (
    AtQuantile,
    clipped_mean,
    noisy_census,
    noisy_clipped_sum,
    noisy_count,
    noisy_count_within,
    noisy_left_out,
    propose_test_release,
    radius_search,
)
from eigenveil.mechanisms.columns import column_counts, column_sums
from eigenveil.mechanisms.norm_curve import norm_curve
from eigenveil.mechanisms.paper.truncated_sum import noisy_truncated_sum
from eigenveil.mechanisms.score_histogram import ScoreGrid, score_histogram
from eigenveil.operators import ColumnGroup, Matrices, MeanRows, Products, Squares, samples
from eigenveil.privacy import Budget, Ledger
from eigenveil.privacy.gaussian import gaussian_mu
from eigenveil.units import Units

ASIDE = {"epsilon_aside": 0.3, "delta_aside": 1e-4}


def ledger(relation):
    return Ledger(Budget.from_epsilon_delta(2.0, 1e-3, **ASIDE), relation=relation)


def vectors(rows):
    return TensorPopulation(rows)


def blocks(rows):
    """d x m matrices: x (w^T x) for a fixed w of two columns."""
    w = np.linspace(-1, 1, 2 * rows.shape[1]).reshape(rows.shape[1], 2)
    with np.errstate(all="ignore"):
        return TensorPopulation(rows[:, :, None] * (rows @ w)[:, None, :])


def symmetric(rows):
    with np.errstate(all="ignore"):
        return TensorPopulation(rows[:, :, None] * rows[:, None, :], symmetric=True)


def _w(rows):
    return np.linspace(-1, 1, 2 * rows.shape[1]).reshape(rows.shape[1], 2)


def row_blocks(rows):
    return SampledPopulation(samples.rows(rows), Products(_w(rows)))


def sparse_row_blocks(rows):
    shift = np.linspace(-1, 1, rows.shape[1]).astype(np.float32).astype(float)
    return SampledPopulation(samples.rows(sparse.csr_array(rows)).shifted(shift), Products(_w(rows)))


def single_row_blocks(rows):
    with np.errstate(all="ignore"):
        return SampledPopulation(samples.rows(rows.astype(np.float32)), Products(_w(rows)))


def row_matrices(rows):
    return SampledPopulation(samples.rows(rows), Matrices())


def row_vectors(rows):
    return SampledPopulation(samples.rows(sparse.csr_array(rows)), MeanRows())


def _centre(population):
    return np.full(population.shape, 0.125)


def _count(population, veil):
    noisy_count(population, mu=0.1, veil=veil)


def _count_within(population, veil):
    noisy_count_within(population, centre=_centre(population), radius=0.75, mu=0.1, veil=veil)


def _census(population, veil):
    noisy_census(population, mu=0.1, veil=veil)


def _left_out(operator, veil):
    noisy_left_out(Units(operator, veil, veil.ledger.budget).left_out(), mu=0.1, veil=veil)


def _radius(population, veil):
    radius_search(population, centre=_centre(population), target=2.0, mu=0.1, veil=veil)


def _norm_curve(population, veil):
    norm_curve(population, centre=_centre(population), n_hat=3.0, mu=0.1, veil=veil)


def _clipped_sum(population, veil):
    noisy_clipped_sum(population, centre=_centre(population), radius=0.75, mu=0.1, veil=veil)


def _truncated_sum(population, veil):
    noisy_truncated_sum(population, centre=_centre(population), reach=0.75, mu=0.1, veil=veil)


def _clipped_mean(population, veil):
    options = {"centre": _centre(population), "n_hat": 1.0, "veil": veil}
    clipped_mean(population, radius=AtQuantile(mu=0.05), mu=0.1, **options)


def _spectral_gap(population, veil):
    """The top eigenprojector of a clipped second moment, by propose-test-release (as DP-Gauss-2 does)."""
    total = np.ldexp(population.clipped_sum(np.zeros(population.shape), 1.0, -40).astype(float), -40)
    values, directions = np.linalg.eigh(total)
    gap = float(values[-1] - values[-2]) if len(values) > 1 else float(values[-1])
    top = directions[:, -1:]
    factor = veil.relation.distance_between_sums(1.0)
    propose_test_release(
        top @ top.T,
        gap,
        margin_sensitivity=2 * factor,
        sensitivity_at=lambda y: 2 * factor / (y - factor) if y > 3 * factor else None,
        epsilon=0.3,
        delta=1e-4,
        mu=gaussian_mu(0.5, 1e-4),
        value_error=1e-9,
        margin_error=1e-9,
        veil=veil,
    )


def _gauss_1(rows, veil):
    units = Units(samples.rows(rows), veil, veil.ledger.budget)
    DP_GAUSS_1.run(units, 1, Gauss1Options())


def _gauss_2(rows, veil):
    """Without the random basis that follows bottom."""
    units = Units(samples.rows(rows), veil, veil.ledger.budget)
    if units.d > 1:
        bounds = buy_bounds(units, Declared())
        test = replace(units.budget, epsilon_aside=0.3, delta_aside=1e-4)
        _buy_projector(replace(units, budget=test), 1, bounds, psd=False)


def _power(rows, veil):
    units = Units(samples.rows(rows), veil, veil.ledger.budget)
    DP_POWER.run(units, 1, PowerOptions(rounds=2, start=np.eye(units.d)[:, :1]))


def _variances(rows, veil):
    units = Units(samples.rows(rows), veil, veil.ledger.budget)
    buy_variances(units, np.eye(units.d)[:1], guess=np.array([0.5]), n_hat=3.0, mu=0.1)


def _scores(rows, veil):
    units = Units(samples.rows(rows), veil, veil.ledger.budget)
    edges = np.array([-2.0, 0.0, 2.0])
    axes = np.eye(units.d)[:, [0, -1]]
    picture = ScoreGrid(axes=axes, origin=np.zeros(units.d), edges=(edges, edges))
    score_histogram(units.vectors(), picture, mu=0.1, veil=units.veil)


def _standard(rows, veil):
    """A frame, a mean and scales."""
    units = Units(samples.rows(rows), veil, veil.ledger.budget)
    standardise(units, Standard(buy_mean=True, private=np.arange(units.d)), n_hat=30.0, mu=0.2)


def _standard_of_some(rows, veil):
    """Scales of every other column; the first has bounds, the last a declared scale."""
    units = Units(samples.rows(rows), veil, veil.ledger.budget)
    scale, bounds = np.ones(units.d), ColumnBounds.none(units.d)
    scale[-1], bounds.low[0], bounds.high[0] = 2.0, -0.5, 0.5
    standard = Standard(buy_mean=True, private=np.arange(0, units.d, 2), scale=scale, bounds=bounds)
    standardise(with_declared(units, standard), standard, n_hat=3.0, mu=0.2)


def _standard_around_0(rows, veil):
    units = Units(people_one_by_one(rows), veil, veil.ledger.budget)
    standardise(units, Standard(private=np.arange(units.d)), n_hat=3.0, mu=0.2)


def _signed_counts(population, veil):
    column_counts(population, 2.0 ** np.arange(-3, 4), mu=0.1, veil=veil, signed=True)


def columns_of(form, *, squared=False):
    """All columns, each a population of its own, over rows in the form that is given."""

    def make(rows):
        with np.errstate(all="ignore"):
            population = SampledPopulation(form(rows), MeanRows())
            return ColumnPopulation(population, np.arange(rows.shape[1]), squared=squared)

    return make


def people_one_by_one(rows):
    """People of one row each, in the order of the rows: neighbours of rows are neighbours of people."""
    return samples.factors(list(rows[:, None])) if len(rows) else samples.people(rows, np.arange(0))


def people_of_two_rows(rows):
    """People of two rows each, one of them good, in the order of the rows."""
    if not len(rows):
        return people_one_by_one(rows)
    return samples.factors([np.stack([row, np.ones_like(row)]) for row in rows])


def grouped(form):
    """The same with two groups of columns."""

    def make(rows):
        groups = ColumnGroup("first", slice(0, 1)), ColumnGroup("all", slice(None))
        return replace(form(rows), groups=groups)

    return make


def sparse_shifted(rows):
    shift = np.linspace(-1, 1, rows.shape[1]).astype(np.float32).astype(float)
    return samples.rows(sparse.csr_array(rows)).shifted(shift)


def _column_counts(population, veil):
    column_counts(population, 2.0 ** np.arange(-3, 4), mu=0.1, veil=veil)


def _column_sums(population, veil):
    column_sums(population, np.linspace(0.5, 1.0, population.columns.size), mu=0.1, veil=veil)


def squares(form):
    """The mean squares of all columns but the last, if there are more, weighted and cut."""

    def make(rows):
        columns = np.arange(max(1, rows.shape[1] - 1))
        return SampledPopulation(form(rows), Squares(columns, np.linspace(0.5, 2.0, columns.size), 1.5))

    return make


def as_they_are(rows):
    return rows


MECHANISMS = {
    "count": (vectors, _count),
    "good and bad units": (vectors, _census),
    "count within a radius": (vectors, _count_within),
    "rows left out": (people_of_two_rows, _left_out),
    "rows and values left out": (grouped(people_of_two_rows), _left_out),
    "values left out of sparse rows": (grouped(sparse_shifted), _left_out),
    "radius": (vectors, _radius),
    "curve of norms": (vectors, _norm_curve),
    "curve of norms of row blocks": (row_blocks, _norm_curve),
    "clipped sum of vectors": (vectors, _clipped_sum),
    "clipped sum of blocks": (blocks, _clipped_sum),
    "clipped sum of symmetric matrices": (symmetric, _clipped_sum),
    "clipped mean of vectors": (vectors, _clipped_mean),
    "clipped mean of blocks": (blocks, _clipped_mean),
    "clipped mean of symmetric matrices": (symmetric, _clipped_mean),
    "clipped mean of row blocks": (row_blocks, _clipped_mean),
    "clipped mean of sparse row blocks": (sparse_row_blocks, _clipped_mean),
    "clipped mean of float32 row blocks": (single_row_blocks, _clipped_mean),
    "clipped sum of row matrices": (row_matrices, _clipped_sum),
    "clipped mean of sparse rows": (row_vectors, _clipped_mean),
    "propose-test-release": (symmetric, _spectral_gap),
    "truncated sum of vectors": (vectors, _truncated_sum),
    "truncated sum of row blocks": (row_blocks, _truncated_sum),
    "variances": (as_they_are, _variances),
    "score histogram": (as_they_are, _scores),
    "column counts": (columns_of(samples.rows), _column_counts),
    "column counts of float32 rows": (columns_of(lambda rows: samples.rows(rows.astype("f4"))), _column_counts),
    "column counts of sparse squares": (columns_of(sparse_shifted, squared=True), _column_counts),
    "column counts of people": (columns_of(people_one_by_one, squared=True), _column_counts),
    "column sums": (columns_of(samples.rows), _column_sums),
    "column sums of sparse rows": (columns_of(sparse_shifted), _column_sums),
    "column sums of people": (columns_of(people_one_by_one), _column_sums),
    "clipped sum of squares": (squares(samples.rows), _clipped_sum),
    "clipped sum of squares of people": (squares(people_one_by_one), _clipped_sum),
    "frame, mean and scales": (as_they_are, _standard),
    "frame, mean and some scales": (as_they_are, _standard_of_some),
    "frame and scales around 0": (as_they_are, _standard_around_0),
    "signed column counts": (columns_of(samples.rows), _signed_counts),
    "signed column counts of sparse rows": (columns_of(sparse_shifted), _signed_counts),
    "signed column counts of people": (columns_of(people_one_by_one), _signed_counts),
    "dp-gauss-1": (as_they_are, _gauss_1),
    "dp-gauss-2": (as_they_are, _gauss_2),
    "dp-power": (as_they_are, _power),
}
