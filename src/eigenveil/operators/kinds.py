"""Which operator is meant: by what it can do, not by its class."""

from __future__ import annotations

from typing import Any, TypeGuard

from eigenveil.operators import samples
from eigenveil.operators.operator import Operator
from eigenveil.operators.people import PeopleOperator
from eigenveil.operators.rows import RowsOperator


def is_operator(data: Any) -> TypeGuard[Operator]:
    """Whether `samples` made this, or something that can do the same."""
    return all(hasattr(data, name) for name in ("d", "partitions", "products", "surveyor"))


def as_operator(data: Any) -> Operator:
    """What `samples` made, or one unit per row of anything else."""
    return data if is_operator(data) else samples.rows(data)


def made_of_rows(operator: Operator) -> TypeGuard[RowsOperator | PeopleOperator]:
    """Whether units have rows of which a mean can be subtracted; matrices have none."""
    return operator.has_rows
