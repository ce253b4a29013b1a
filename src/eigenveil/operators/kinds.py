"""Tests for kinds of operators, by their attributes and not by their class."""

from __future__ import annotations

from typing import Any, TypeGuard

from eigenveil.operators import samples
from eigenveil.operators.operator import Operator
from eigenveil.operators.people import PeopleOperator
from eigenveil.operators.rows import RowsOperator


def is_operator(data: Any) -> TypeGuard[Operator]:
    """Return whether `data` is an operator: made by `samples`, or an object with the same methods."""
    return all(hasattr(data, name) for name in ("d", "partitions", "products", "surveyor"))


def as_operator(data: Any) -> Operator:
    """Return `data` if it is an operator, else the operator with one unit per row of `data`."""
    return data if is_operator(data) else samples.rows(data)


def made_of_rows(operator: Operator) -> TypeGuard[RowsOperator | PeopleOperator]:
    """Return whether units have rows, from which a mean can be subtracted; matrices have none."""
    return operator.has_rows
