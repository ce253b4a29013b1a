"""Open the data that are passed to `fit` and `transform`; plain arrays go through scikit-learn's checks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from eigenveil.engines import DaskEngine
from eigenveil.engines.engine_choice import read_engine
from eigenveil.errors import InvalidInputError
from eigenveil.operators import Operator, PeopleOperator, RowsOperator, is_operator
from eigenveil.privacy import Unit
from eigenveil.sources import Layout, Source, open_with
from eigenveil.sources.clusters import dask_collections
from eigenveil.sources.columns import is_index, name_of
from eigenveil.sources.files.any_files import has_paths
from eigenveil.sources.guard import attempt
from eigenveil.sources.memory import in_memory
from eigenveil.sources.memory.arrays import filled, from_lists, numbers_of
from eigenveil.sources.memory.sparse import to_csr

_CHECKS = {"accept_sparse": "csr", "ensure_all_finite": False, "ensure_min_samples": 0}
"""Invalid rows are excluded silently, and no rows raise no error: the presence of a row is what is protected."""


def open_operator(estimator: Any, X: Any, units: Any, layout: Layout) -> Operator:
    """Return the units of `fit`, and store names and number of columns on the estimator."""
    if is_operator(X):
        if units is not None:
            raise InvalidInputError(
                "units cannot be passed together with an object from `eigenveil.samples`, which has its own units."
            )
        if layout != Layout():
            raise InvalidInputError(
                "columns, encode and fill cannot be passed together with an object from `eigenveil.samples`.",
                hint="Pass them to eigenveil.samples.rows or eigenveil.samples.people.",
            )
        source = getattr(X, "source", None)
        note_columns(estimator, X.d, None if source is None else source.columns)
        estimator.layout_ = layout if source is None else source.layout
        return X
    source = _opened(estimator, X, units, layout)
    return RowsOperator.over(source) if units is None else PeopleOperator.over(source, by=name_of(units))


def open_block(estimator: Any, X: Any, units: Any, layout: Layout, *, first: bool) -> tuple[Any, Source | None]:
    """Return the rows of `partial_fit` for a stream, after scikit-learn's checks where they apply.

    If they were opened for that, the source comes with them: what can be read only once must not be opened twice.
    """
    if first:
        estimator.layout_ = layout
    if not layout.chooses and (_is_array(X) or _is_frame(X)):
        return _checked(estimator, X, units, reset=first), None
    X = numeric(X) if _is_array(X) else X
    if not first:
        return X, None
    source = open_with(X, layout, units)
    note_columns(estimator, source.n_columns, source.columns)
    estimator.layout_ = source.layout if layout.chooses else layout
    return X, source


def rows_to_transform(estimator: Any, X: Any) -> Iterator[Any]:
    """Yield the rows of `transform` in blocks of floats, dense or sparse, after checking the columns."""
    source = source_to_score(estimator, X, None)
    values = (block.values for block in source.blocks())
    return (rows if sparse.issparse(rows) else np.asarray(rows) for rows in values)


def source_to_score(estimator: Any, X: Any, units: Any) -> Source:
    """Open rows or people with the columns of the model; the unit column of `fit` may be among them."""
    layout = layout_to_score(estimator, X)
    same = isinstance(units, str) and units == unit_column(estimator)
    if _is_array(X) and layout.columns is None:
        return open_with(_checked(estimator, X, units, reset=False), layout, units)
    if _is_frame(X) and not estimator.layout_.chooses and (layout.columns is None or same):
        return open_with(_checked(estimator, X, units, reset=False), estimator.layout_, units)
    source = open_with(numeric(X) if _is_array(X) else X, layout, units)
    _same_columns(estimator, source)
    return source


def layout_to_score(estimator: Any, X: Any) -> Layout:
    """Return the layout by which X is read: that of the data of `fit`.

    Columns are found by name if they were chosen at fit, if either data are files, or if the unit column of `fit`
    may be among them. Otherwise X must have exactly the columns of the fit.
    """
    layout: Layout = estimator.layout_
    if _is_array(X):
        if layout.encode:
            raise InvalidInputError(
                "the model encodes columns that it finds by their names, but X is an array, which has none.",
                hint="Pass a data frame, an Arrow table, or a Parquet or CSV file.",
            )
        return layout if layout.names is None else layout.without_names()
    names = vars(estimator).get("feature_names_in_")
    by_name = layout.columns is None and names is not None
    return layout.choosing(names) if by_name and (unit_column(estimator) or has_paths(X)) else layout


def unit_column(estimator: Any) -> str | None:
    """Return the name of the ids of a fitted model of people, if they have one."""
    unit: Unit | None = estimator.ledger_.unit
    return None if unit is None else unit.by


def _opened(estimator: Any, X: Any, units: Any, layout: Layout) -> Source:
    estimator.layout_ = layout
    if units is not None and has_paths(X) and isinstance(read_engine(estimator.engine), DaskEngine):
        X = dask_collections.read_parquet(X)
    if not layout.chooses and (_is_array(X) or _is_frame(X)):
        return open_with(_checked(estimator, X, units, reset=True), layout, units)
    source = open_with(numeric(X) if _is_array(X) else X, layout, units)
    note_columns(estimator, source.n_columns, source.columns)
    if layout.chooses or has_paths(X):
        estimator.layout_ = source.layout
    if not source.rereadable:
        raise InvalidInputError(
            f"a {type(X).__name__} can be read only once, but fit reads the data several times.",
            hint="Pass a list of blocks or an array, or a path to Parquet files; or use partial_fit.",
        )
    return source


def _checked(estimator: Any, X: Any, units: Any, *, reset: bool) -> Any:
    """Return a frame unchanged, or a checked array; store (`reset`) or compare names and number of columns."""
    if _is_frame(X):
        frame, unit = nw.from_native(X), name_of(units)
        others = [name for name in frame.columns if is_index(str(name)) or str(name) == unit]
        validate_data(
            estimator, frame.drop(others).to_native() if others else X, reset=reset, skip_check_array=True
        )
        return X
    return validate_data(estimator, numeric(X), reset=reset, **_CHECKS)


def numeric(X: Any) -> Any:
    """Return a numeric matrix. Messages of scikit-learn would quote values, so objects are converted here."""
    ready = isinstance(X, np.ndarray) or sparse.issparse(X)
    array = X if ready else _matrix_of(X)
    if array.dtype.kind == "c":
        raise InvalidInputError(f"Complex data not supported: expected real numbers, got dtype {array.dtype}.")
    if array.ndim != 2:
        raise InvalidInputError(
            f"Expected 2D array, got {array.ndim}D array of shape {array.shape} instead.",
            hint="Reshape your data: reshape(-1, 1) for one column, reshape(1, -1) for one row.",
        )
    if array.dtype.kind not in "fiubO":
        raise InvalidInputError(
            f"expected an array of numbers, got dtype {array.dtype}.",
            hint="Convert to float64; encode text, dates and categories as numbers, or choose other columns.",
        )
    if sparse.issparse(array):
        return to_csr(array)  # before scikit-learn converts it: neither it nor scipy checks the indices
    return numbers_of(array) if array.dtype.kind == "O" else filled(array)


def _matrix_of(X: Any) -> Any:
    if isinstance(X, list | tuple) and len(X):
        return from_lists(X)
    failure = InvalidInputError(
        f"expected rows of numbers of one length, got a {type(X).__name__} that does not make a matrix.",
        hint="Fill missing numbers with nan so that all rows have the same length.",
    )
    return attempt(lambda: np.asarray(X), failure, ValueError)


def note_columns(estimator: Any, width: int, names: tuple[str, ...] | None) -> None:
    """Store number and names of the columns on the estimator; delete names of an earlier fit."""
    estimator.n_features_in_ = width
    if names is not None:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    elif "feature_names_in_" in vars(estimator):
        del estimator.feature_names_in_


def _same_columns(estimator: Any, source: Source) -> None:
    known = vars(estimator).get("feature_names_in_")
    if source.n_columns != estimator.n_features_in_:
        raise InvalidInputError(
            f"X has {source.n_columns} features, but DPPCA is expecting {estimator.n_features_in_} as input."
        )
    if known is not None and source.columns is not None and tuple(known) != source.columns:
        raise InvalidInputError("the columns differ from those at fit in names or order.")


def check_as_made(estimator: Any, source: Source) -> None:
    """Refuse the source of an object from `eigenveil.samples` unless it reads the columns of the fit as at fit."""
    _same_columns(estimator, source)
    ours, theirs = estimator.layout_, source.layout
    differ = [] if ours.encode == theirs.encode else ["encode"]
    every = list(range(source.n_columns))
    if theirs.names is not None:
        names = list(map(str, theirs.columns or ()))
        ours = ours if ours.columns is not None else ours.by_names(names, units=None)
    else:
        ours = ours.without_names() if ours.names is not None else ours
        ours = ours.by_positions(len(every)) if ours.columns is None else ours
        differ += [] if (ours.positions or every) == (theirs.positions or every) else ["columns"]
    differ += [] if ours.fill == theirs.fill else ["fill"]
    if differ:
        raise InvalidInputError(
            f"X was made with other {' and '.join(differ)} than those of the fit.",
            hint="Pass the rows themselves, which are read as at fit, or give eigenveil.samples the same "
            "columns, encode and fill.",
        )


def _is_frame(X: Any) -> bool:
    """Return whether every supported scikit-learn can read the column names; old ones cannot for polars."""
    return bool(nw.dependencies.is_pandas_dataframe(X))


def _is_array(X: Any) -> bool:
    """Return whether X is an array, a sparse matrix, a list of rows, or convertible by `__array__`."""
    if isinstance(X, np.ndarray) or sparse.issparse(X):
        return True
    if isinstance(X, list | tuple):
        return in_memory.accepts(X) or not len(X)
    if in_memory.accepts(X) or dask_collections.accepts(X):
        return False
    return hasattr(X, "__array__") and not isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame)
