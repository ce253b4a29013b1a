"""Surveys of people with dense rows equal those of their explicit tensors, to the bit, in blocks of any size."""

import itertools

import numpy as np
import pytest

from eigenveil.engines import Coins, LocalEngine, PoissonPlan, SampledPopulation
from eigenveil.kernels import Clip, MeanVarianceSurveyor, TensorSurveyor
from eigenveil.operators import Matrices, MeanRows, Products, Variances, samples
from eigenveil.operators.operator import formed_pieces
from eigenveil.sources import source as source_room

D = 9
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(300, D)) * RNG.lognormal(size=(300, 1))
ROWS[[5, 77, 78, 200], [0, 3, 3, 8]] = [np.nan, np.inf, 1e200, -1e154]
ROWS[120:125] = 1e-170
IDS = np.sort(RNG.integers(0, 40, 300))
U = np.linalg.qr(RNG.normal(size=(D, 4)))[0]
TENSORS = {
    "products": Products(U[:, :3]),
    "matrices": Matrices(),
    "mean rows": MeanRows(),
    "variances": Variances(U),
    "rest": Variances(U, slice(4, None)),
    "every other": Variances(U, slice(None, None, 2)),
}
EDGES = 2.0 ** (np.arange(-40, 60) / 4)
CLIPS = [Clip(1.5, -24), Clip(6.0, -22)]


def operators():
    shifted = samples.people(ROWS, IDS).shifted(np.linspace(-1, 1, D))
    return {"plain": samples.people(ROWS, IDS), "shifted": shifted, "projected": shifted.projected(U[:, :2])}


def centre_of(tensor):
    centre = np.random.default_rng(1).normal(size=tensor.shape(D))
    return centre + centre.T if tensor.symmetric else centre


@pytest.mark.parametrize("which", operators())
@pytest.mark.parametrize("name", TENSORS)
def test_people_are_surveyed_as_explicit_tensors_to_the_bit(name, which):
    operator, tensor = operators()[which], TENSORS[name]
    tensor = tensor.checked(D)
    surveyor = operator.surveyor(tensor, centre_of(tensor), CLIPS)
    explicit = TensorSurveyor(centre_of(tensor), CLIPS)
    for block in operator.source.blocks():
        norms = [surveyor.add(piece) for piece, _ in operator.pieces(tensor, block)]
        others = [explicit.add(piece) for piece, _ in formed_pieces(operator, tensor, block)]
        assert np.concatenate(norms).tobytes() == np.concatenate(others).tobytes()
    for one, other in zip(surveyor.sums(), explicit.sums(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", TENSORS)
def test_answers_do_not_depend_on_blocks_threads_or_the_order_of_rows_in_memory(name, monkeypatch):
    tensor, plan = TENSORS[name], PoissonPlan(0.6, 2, Coins(b"k" * 32))
    places = np.argsort(np.random.default_rng(2).random(300))
    for person in np.unique(IDS):  # scattered, but every person's rows in order
        where = np.flatnonzero(IDS[places] == person)
        places[where] = np.sort(places[where])
    shift = np.linspace(-1, 1, D)
    forms = [samples.people(x, ids).shifted(shift) for x, ids in ((ROWS, IDS), (ROWS[places], IDS[places]))]
    answers = []
    for bytes_per_block in (100, 5_000, 1 << 20):
        monkeypatch.setattr(source_room, "BLOCK_BYTES", bytes_per_block)
        for form, threads in itertools.product(forms, (1, 3)):
            population = SampledPopulation(form, tensor, plan=plan, engine=LocalEngine(threads))
            counts, sums = population.survey(centre_of(tensor), EDGES, CLIPS)
            answers.append([a.tobytes() for a in (counts, *sums)])
    assert all(answer == answers[0] for answer in answers)


def test_variances_that_are_not_consecutive_are_formed():
    operator = operators()["plain"]
    assert isinstance(operator.surveyor(TENSORS["every other"], np.zeros(3), CLIPS), TensorSurveyor)
    assert isinstance(operator.surveyor(TENSORS["rest"], np.zeros(1), CLIPS), MeanVarianceSurveyor)


def test_rows_in_the_order_of_ids_are_not_copied():
    """Other rows are sorted by person, with the same result."""
    ids = np.repeat([3, 5, 9], [2, 1, 4])
    rows = np.arange(14.0).reshape(7, 2)
    order = np.array([2, 0, 3, 1, 4, 5, 6])  # a person's rows keep their order
    (block,), (gathered,) = (
        samples.people(x, i).source.blocks() for x, i in ((rows, ids), (rows[order], ids[order]))
    )
    assert np.shares_memory(block.values, rows)
    assert not np.shares_memory(gathered.values, rows)
    np.testing.assert_array_equal(block.values, gathered.values)
    np.testing.assert_array_equal(block.offsets, gathered.offsets)
    missing = samples.people(rows, np.array([3.0, 3.0, np.nan, 9.0, 9.0, 9.0, 9.0]))
    (block,) = missing.source.blocks()
    np.testing.assert_array_equal(block.values, rows[[0, 1, 3, 4, 5, 6]])
