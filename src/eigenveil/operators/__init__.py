"""Products A_i W for every form of unit, without forming A_i where possible. This layer has no privacy logic."""

from eigenveil.operators import samples
from eigenveil.operators.entries import Entries, column_entries
from eigenveil.operators.from_rows import ColumnGroup
from eigenveil.operators.kinds import as_operator, is_operator, made_of_rows
from eigenveil.operators.matrices import MatricesOperator
from eigenveil.operators.operator import Operator
from eigenveil.operators.people import PeopleOperator
from eigenveil.operators.rows import RowsOperator
from eigenveil.operators.spiked import SpikedOperator
from eigenveil.operators.tensors import Matrices, MeanRows, Products, Squares, Tensor, Variances

__all__ = [
    "ColumnGroup",
    "Entries",
    "Matrices",
    "MatricesOperator",
    "MeanRows",
    "Operator",
    "PeopleOperator",
    "Products",
    "RowsOperator",
    "SpikedOperator",
    "Squares",
    "Tensor",
    "Variances",
    "as_operator",
    "column_entries",
    "is_operator",
    "made_of_rows",
    "samples",
]
