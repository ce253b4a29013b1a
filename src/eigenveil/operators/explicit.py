"""Base class of operators that form explicit tensors, a few units at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError
from eigenveil.kernels import Clip, Surveyor, TensorSurveyor
from eigenveil.operators.operator import Operator, formed_pieces
from eigenveil.operators.tensors import Tensor
from eigenveil.sources import Block


class ExplicitOperator:
    """Mixin that forms tensors from `products`, `variances` and `vectors`, for small pieces of a block."""

    def surveyor(self, tensor: Tensor, centre: FloatArray, clips: Sequence[Clip]) -> Surveyor:  # noqa: ARG002
        """Return the surveyor of explicit tensors."""
        return TensorSurveyor(centre, clips)

    def pieces(self: Operator, tensor: Tensor, block: Block) -> Iterator[tuple[FloatArray, slice]]:
        """Yield explicit tensors."""
        return formed_pieces(self, tensor, block)


def no_rows() -> InvalidInputError:
    """Return the error for units that have no rows."""
    return InvalidInputError(
        "units given as matrices have no rows, so they have no mean to subtract.",
        hint="Use center=False, or pass in rows or people.",
    )
