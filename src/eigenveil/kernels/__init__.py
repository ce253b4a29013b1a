"""Inner loops over units: products, norms, clipping and rounding, each unit separately."""

from eigenveil.kernels.clips import (
    Clip,
    RowSurveyor,
    SparseRowSurveyor,
    SparseVarianceSurveyor,
    Surveyor,
    TensorSurveyor,
)
from eigenveil.kernels.columns import Columns, Rescaled
from eigenveil.kernels.damped import DampedNormSurveyor
from eigenveil.kernels.entries import EntryCounts, EntrySums
from eigenveil.kernels.fixed_point import exact_sum, symmetric_part, to_single
from eigenveil.kernels.gram import GramSurveyor
from eigenveil.kernels.loops import (
    compiled,
    outer_means,
    projected_out,
    row_product,
    squared_row_norms,
    with_rest,
)
from eigenveil.kernels.people import (
    MeanMatrixSurveyor,
    MeanProductSurveyor,
    MeanRowSurveyor,
    MeanVarianceSurveyor,
    People,
)
from eigenveil.kernels.sparse_row_loop import SparseSpread, sums_by
from eigenveil.kernels.vectors import RowVectorSurveyor, VarianceSurveyor, spread

__all__ = [
    "Clip",
    "Columns",
    "DampedNormSurveyor",
    "EntryCounts",
    "EntrySums",
    "GramSurveyor",
    "MeanMatrixSurveyor",
    "MeanProductSurveyor",
    "MeanRowSurveyor",
    "MeanVarianceSurveyor",
    "People",
    "Rescaled",
    "RowSurveyor",
    "RowVectorSurveyor",
    "SparseRowSurveyor",
    "SparseSpread",
    "SparseVarianceSurveyor",
    "Surveyor",
    "TensorSurveyor",
    "VarianceSurveyor",
    "compiled",
    "exact_sum",
    "outer_means",
    "projected_out",
    "row_product",
    "spread",
    "squared_row_norms",
    "sums_by",
    "symmetric_part",
    "to_single",
    "with_rest",
]
