"""What operators share that form a unit's tensor for a few units at a time and then measure it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError
from eigenveil.kernels import Clip, Surveyor, TensorSurveyor
from eigenveil.operators.operator import Operator, formed_pieces
from eigenveil.operators.tensors import Tensor
from eigenveil.sources import Block


class ExplicitOperator:
    """Tensors from `products`, `variances` and `vectors`, over pieces of a block small enough to be formed."""

    def surveyor(self, tensor: Tensor, centre: FloatArray, clips: Sequence[Clip]) -> Surveyor:  # noqa: ARG002
        """Of explicit tensors."""
        return TensorSurveyor(centre, clips)

    def pieces(self: Operator, tensor: Tensor, block: Block) -> Iterator[tuple[FloatArray, slice]]:
        """Explicit tensors."""
        return formed_pieces(self, tensor, block)


def no_rows() -> InvalidInputError:
    """The error of units that have no rows."""
    return InvalidInputError(
        "units given as matrices have no rows, so they have no mean to take off.",
        hint="Use center=False, or give rows or people.",
    )
