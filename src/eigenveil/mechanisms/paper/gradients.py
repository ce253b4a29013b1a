"""The vectors of all units in the order of the data, for mechanisms of the paper that process them one by one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from eigenveil._typing import FloatArray
from eigenveil.engines.population import ExplicitPopulation
from eigenveil.errors import InvalidInputError
from eigenveil.kernels.fixed_point import padded_width, squared_norms
from eigenveil.mechanisms.noise.veil import Veil
from eigenveil.privacy.relation import Relation


def gradients(population: ExplicitPopulation) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Return all tensors as rows of shape (slots, size), and which units are valid.

    The rows of invalid units (not finite, or the norm overflows) are 0.
    """
    size = int(np.prod(population.shape))
    blocks, good = [np.zeros((0, size))], [np.zeros(0, dtype=np.bool_)]
    for block in population.tensors():
        padded = np.zeros((len(block), padded_width(size)))
        padded[:, :size] = block.reshape(len(block), size)
        good.append(np.isfinite(squared_norms(padded)))  # bitwise a function of each row alone
        blocks.append(np.where(good[-1][:, None], padded[:, :size], 0.0))
    return np.concatenate(blocks), np.concatenate(good)


def need_fixed_places(veil: Veil, name: str, *, fixed_places: bool) -> None:
    """Raise unless neighbouring datasets have the same number of units, each in a fixed place."""
    if veil.relation is not Relation.REPLACE:
        raise InvalidInputError(
            f"{name} is proven for relation='replace' only, got {veil.relation.value!r}: it uses the positions of "
            "units and their number, and the removal of a unit moves all units after it.",
            hint="Pass relation='replace', or mean_estimator='tracked', which is proven for both relations.",
        )
    if not fixed_places:
        raise InvalidInputError(
            f"{name} uses the positions of units, but people found by their ids are in the order of the ids: one "
            "person with a different id would move others.",
            hint="Use mean_estimator='tracked', or pass one array per person to eigenveil.samples.factors.",
        )


def check_tau(tau: float) -> float:
    """Return `tau`, a failure probability, if it lies strictly between 0 and 1; raise otherwise."""
    if not 0 < tau < 1:
        raise InvalidInputError(f"tau must lie strictly between 0 and 1, got {tau!r}.")
    return float(tau)
