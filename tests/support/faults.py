"""Privacy mistakes that an audit must find. Each is planted by patching the library while a test runs."""

from __future__ import annotations

import numpy as np

from eigenveil.algorithms import counting, standard
from eigenveil.engines import plans
from eigenveil.mechanisms import Noisy, NoisyMean
from eigenveil.mechanisms.noise.veil import Grant
from eigenveil.mechanisms.radius import PaidSearch
from eigenveil.privacy import Relation


def noise_too_small(patch, thinner):
    """All noise is smaller by a factor."""
    honest = Grant.release

    def release(grant, steps, *, weight=1.0):
        return honest(grant, steps, weight=weight / thinner)

    patch.setattr(Grant, "release", release)


def radius_for_free(patch):
    """Radius searches look at exact counts."""

    def first_enough(_, within, *, target):
        return int(np.argmax(within[:-1] >= target)) if target <= within[-2] else within.size - 2

    patch.setattr(PaidSearch, "first_enough", first_enough)


def number_for_free(patch):
    """The number of units is exact, though the ledger says otherwise."""
    patch.setattr(counting, "noisy_count", lambda counted, *, mu, **_: Noisy(float(counted.slots()), 1 / mu))


def centre_from_the_data(patch):
    """The subtracted mean is that of the data."""

    def exact_mean(units, frame, *, mu, **_):
        population = frame.applied(units).vectors()
        total = np.ldexp(population.clipped_sum(np.zeros(population.shape), 1e8, -20).astype(float), -20)
        return NoisyMean(total / population.slots(), 0.0, 1.0, 1.0, 1.0, 0.0), mu / 5

    patch.setattr(standard, "buy_mean", exact_mean)


def parts_overlap(patch):
    """Every unit is in every part, which the ledger charges as one."""
    patch.setattr(plans.Part, "skip", lambda *_: None)


def replace_as_add_remove(patch):
    """The factor 2 of replace is forgotten."""
    patch.setattr(Relation, "distance_between_sums", lambda _, reach: reach)


def noise_used_again(patch):
    """All releases of a fit use the same normal numbers."""
    rng = np.random.default_rng()

    def release(grant, steps, *, weight=1.0):
        normals = vars(grant._veil).setdefault("normals", rng.standard_normal(1000))
        noise = np.rint(grant._steps(weight) * normals[: steps.size]).astype(np.int64).reshape(steps.shape)
        return np.ldexp((noise + steps).astype(float), grant.exponent)

    patch.setattr(Grant, "release", release)
