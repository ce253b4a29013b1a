"""Inner loops over units: products, norms, clipping and rounding, one unit at a time."""

from eigenveil.kernels.clips import Clip, RowSurveyor, SparseRowSurveyor, Surveyor, TensorSurveyor
from eigenveil.kernels.columns import Columns
from eigenveil.kernels.fixed_point import exact_sum, symmetric_part, to_single
from eigenveil.kernels.gram import GramSurveyor
from eigenveil.kernels.loops import compiled, outer_means, row_product, squared_row_norms

__all__ = [
    "Clip",
    "Columns",
    "GramSurveyor",
    "RowSurveyor",
    "SparseRowSurveyor",
    "Surveyor",
    "TensorSurveyor",
    "compiled",
    "exact_sum",
    "outer_means",
    "row_product",
    "squared_row_norms",
    "symmetric_part",
    "to_single",
]
