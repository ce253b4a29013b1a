"""The units' own vectors in the order of the data, for the paper's primitives that look at them one by one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from eigenveil._typing import FloatArray
from eigenveil.engines.population import ExplicitPopulation
from eigenveil.errors import InvalidInputError
from eigenveil.kernels.fixed_point import padded_width, squared_norms
from eigenveil.mechanisms.veil import Veil
from eigenveil.privacy.relation import Relation


def gradients(population: ExplicitPopulation) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """All tensors as rows (slots, size), and which are good; bad ones (not finite, norm overflows) are 0."""
    size = int(np.prod(population.shape))
    blocks, good = [np.zeros((0, size))], [np.zeros(0, dtype=np.bool_)]
    for block in population.tensors():
        padded = np.zeros((len(block), padded_width(size)))
        padded[:, :size] = block.reshape(len(block), size)
        good.append(np.isfinite(squared_norms(padded)))  # a function of each row alone, to the bit
        blocks.append(np.where(good[-1][:, None], padded[:, :size], 0.0))
    return np.concatenate(blocks), np.concatenate(good)


def need_fixed_places(veil: Veil, name: str, *, fixed_places: bool) -> None:
    """Raise unless neighbours have the same number of units, each in a place of its own."""
    if veil.relation is not Relation.REPLACE:
        raise InvalidInputError(
            f"{name} is proven for relation='replace' only, got {veil.relation.value!r}: it works on places in "
            "the data and on their number, and a removed unit moves all that follow it.",
            hint="Pass relation='replace', or mean_estimator='tracked', which is proven for both.",
        )
    if not fixed_places:
        raise InvalidInputError(
            f"{name} works on places in the data, but people found by their ids come in the order of the ids: one "
            "person with another id would move others.",
            hint="Use mean_estimator='tracked', or pass one array per person to eigenveil.samples.factors.",
        )


def check_tau(tau: float) -> float:
    """Return `tau`, the probability with which a clip may fail, if it lies in (0, 1)."""
    if not 0 < tau < 1:
        raise InvalidInputError(f"tau must lie strictly between 0 and 1, got {tau!r}.")
    return float(tau)
