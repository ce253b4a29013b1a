"""Private histograms of scores: rows, grid and budget; the noise is added by the mechanism."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from eigenveil._typing import FloatArray
from eigenveil.algorithms.open_units import open_units, unit_of
from eigenveil.engines.engine_choice import read_engine
from eigenveil.errors import InvalidInputError
from eigenveil.estimators.inputs import check_as_made, layout_to_score, source_to_score, unit_column
from eigenveil.estimators.scores.projection import axes_of, whitening_of
from eigenveil.estimators.scores.score_map import ScoreMap
from eigenveil.mechanisms.score_histogram import ScoreGrid, score_histogram
from eigenveil.operators import PeopleOperator, RowsOperator, is_operator, made_of_rows
from eigenveil.operators.rescaled import dense
from eigenveil.privacy import Ledger, Purpose, Relation, Unit
from eigenveil.sources import Block, Source, open_source
from eigenveil.sources.clusters.collection import ClusterCollection
from eigenveil.sources.columns import name_of
from eigenveil.sources.files.any_files import has_paths
from eigenveil.sources.guard import is_missing
from eigenveil.sources.kinds import Kind
from eigenveil.sources.labels import label_text, label_texts, number_text, open_labelled
from eigenveil.sources.memory import in_memory
from eigenveil.sources.people.in_memory import HEAD, whole_below
from eigenveil.sources.wrapped import Wrapped

WIDTH = 3.5
"""Half width of a histogram, in released standard deviations."""


@dataclass(frozen=True, kw_only=True)
class Ask:
    """Arguments of `private_scores`, except rows and budget."""

    components: tuple[int, int]
    bins: Any
    bounds: Any
    groups: Any
    labels: Any

    def grid(self, model: Any) -> ScoreGrid:
        """Return axes and grid, from released and declared values only."""
        k = int(model.n_components_)
        pair = self.components
        whole = len(pair) == 2 and all(isinstance(one, int | np.integer) and 1 <= one <= k for one in pair)
        if not whole or pair[0] == pair[1]:
            raise InvalidInputError(
                f"components must be two different numbers from 1 to {k}, got {pair!r}.",
                hint="A histogram has two axes, so the model needs at least two components.",
            )
        chosen = [number - 1 for number in pair]
        spans = _default_spans(model, chosen) if self.bounds is None else _given_spans(self.bounds)
        edges = [np.linspace(*span, count + 1) for span, count in zip(spans, _two_counts(self.bins), strict=True)]
        axes = np.ascontiguousarray((axes_of(model) / np.reshape(whitening_of(model), (-1, 1)))[chosen].T)
        groups = None if self.groups is None else len(_checked_labels(self.labels))
        return ScoreGrid(axes=axes, origin=model.mean_, edges=edges, groups=groups)


def release_scores(
    model: Any,
    X: Any,
    ask: Ask,
    *,
    units: Any,
    relation: Relation | str | None,
    epsilon: float,
    delta: float,
    ledger: Ledger | None,
    random_state: int | None,
) -> ScoreMap:
    """Buy a histogram of scores; see `DPPCA.private_scores`."""
    if ask.groups is None and ask.labels is not None:
        raise InvalidInputError("labels name the groups, but no groups were given.")
    grid = ask.grid(model)
    asked = model.relation if ledger is None else ledger.relation
    operator, named_here = _of_known_people(model, _operator(model, X, units, ask))
    opened = open_units(
        operator,
        epsilon=epsilon,
        delta=delta,
        relation=asked if relation is None else relation,
        ledger=ledger,
        random_state=random_state,
        engine=read_engine(model.engine),
    )
    _write_what_is_public(opened.veil.ledger, model, ask)
    if named_here:
        note = f"declared by the caller, who gave ids without a name: those of {model.ledger_.unit}"
        opened.veil.ledger.declare("people of the map", note=note, purpose=Purpose.SCORES)
    what = f"histogram of scores, components {ask.components[0]} and {ask.components[1]}"
    sums = score_histogram(opened.vectors(), grid, mu=opened.budget.mu, veil=opened.veil, what=what)
    return ScoreMap(
        counts=sums.inside,
        outside=sums.outside,
        edges=(grid.edges[0], grid.edges[1]),
        components=ask.components,
        labels=None if ask.groups is None else tuple(ask.labels),
        noise=sums.noise,
        ledger=opened.veil.ledger,
    )


def _write_what_is_public(ledger: Ledger, model: Any, ask: Ask) -> None:
    if ledger is not model.ledger_:
        what = "the model whose components are the axes"
        ledger.declare(what, note="its cost is in its own ledger", purpose=Purpose.MODEL)
    if ask.bounds is not None:
        ledger.declare("bounds of the score map", note="declared by the caller", purpose=Purpose.SCORES)
    if ask.groups is not None:
        ledger.declare("the list of groups", note="declared by the caller", purpose=Purpose.SCORES)
    if not model.ledger_.private:
        ledger.mark_not_private(f"the model is not private ({'; '.join(model.ledger_.reasons)})")


def _operator(model: Any, X: Any, units: Any, ask: Ask) -> RowsOperator | PeopleOperator:
    if is_operator(X) and made_of_rows(X):
        return _as_made(model, X, alone=units is None and ask.groups is None)
    units = unit_column(model) if units is None else units
    if ask.groups is None:
        source = source_to_score(model, X, units)
    elif isinstance(ask.groups, str) and has_paths(X):
        source = _labelled_files(model, X, units, ask.groups, _checked_labels(ask.labels))
    else:
        in_memory.check_order(X, ask.groups, "groups")
        codes = _codes(ask.groups, _checked_labels(ask.labels))
        source = _labelled(model, X, units, codes)
    return RowsOperator(source) if units is None else PeopleOperator(source, by=name_of(units))


def _of_known_people(
    model: Any, operator: RowsOperator | PeopleOperator
) -> tuple[RowsOperator | PeopleOperator, bool]:
    """Return the operator, and whether its ids have no name, so that they count as those of the model's people.

    Rows are refused if the model is about people: one person moves a cell by as much as they have rows.
    """
    known, found = model.ledger_.unit, unit_of(operator)
    if known is None or known.kind != "person":
        return operator, False
    if not isinstance(operator, PeopleOperator):
        raise InvalidInputError(
            f"the model is about {known}, but this map would be about {found}; nothing was charged or drawn.",
            hint="Pass units=, the ids of the people in X.",
        )
    unit = Unit.of_ids(operator.by, known=known)
    return replace(operator, by=unit.by), unit != found


def _as_made(model: Any, X: RowsOperator | PeopleOperator, *, alone: bool) -> RowsOperator | PeopleOperator:
    """Check an object made by `eigenveil.samples`."""
    if not alone:
        raise InvalidInputError("units and groups cannot be passed with an object from `eigenveil.samples`.")
    check_as_made(model, X.source)
    return X


def _labelled(model: Any, X: Any, units: Any, codes: FloatArray) -> Source:
    """Append the number of the group to every row, as a last column."""
    source = source_to_score(model, X, units)  # checks columns, also where it is not used any further
    if isinstance(source, ClusterCollection):
        raise InvalidInputError(
            f"groups need rows on this machine, in their order; got {type(X).__name__}.",
            hint="Write the columns and the labels to Parquet files, and name the column of the labels.",
        )
    if units is None:
        _check_number(source, len(codes))
        return LabelledSource(source, codes)
    if not in_memory.accepts(X):
        raise InvalidInputError(
            f"groups of people need rows in memory, got {type(X).__name__}.",
            hint="Load the columns of the model and the ids; or, from files, name the column of the labels.",
        )
    held = in_memory.hold(X, layout=layout_to_score(model, X), units=units)
    if held.n_rows != len(codes):
        raise _unequal()
    rows = np.column_stack([dense(held.between(0, held.n_rows)), codes])
    return open_source(rows, units=held.ids(units))


def _check_number(source: Source, groups: int) -> None:
    """Refuse another number of groups than of rows before anything is charged; this reads all rows once."""
    if not source.rereadable:
        raise InvalidInputError(
            "groups need rows that can be read twice: first they are counted, so that another number of groups is "
            "refused before anything is charged.",
            hint="Pass a list of blocks, an array or files.",
        )
    if sum(block.values.shape[0] for block in source.blocks()) != groups:
        raise _unequal()


def _labelled_files(model: Any, X: Any, units: Any, column: str, labels: Sequence[Hashable]) -> Source:
    """Do the same for files that have a column of labels."""
    layout = layout_to_score(model, X)
    if layout.names is None:
        raise InvalidInputError(
            "the model was fitted to an array, whose columns have no names, so they cannot be found in files.",
            hint="Pass the labels themselves, one per row.",
        )
    return open_labelled(X, layout=layout, units=units, labels_in=column, labels=labels)


@dataclass(frozen=True, repr=False, eq=False)
class LabelledSource(Wrapped):
    """The rows of another source with one more number each, in the order of the rows."""

    codes: FloatArray

    @property
    def n_columns(self) -> int:
        """One more than the source has."""
        return self.source.n_columns + 1

    @property
    def columns(self) -> None:
        """No names: the last column has none."""

    def partitions(self) -> Sequence[LabelledSource]:
        """One: groups are given in the order of all rows."""
        return (self,)

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks with the additional column."""
        start = 0
        for block in self.source.blocks():
            stop = start + block.values.shape[0]
            if stop > len(self.codes):
                raise _unequal()
            yield Block(_wider(block.values, self.codes[start:stop, None]))
            start = stop
        if start != len(self.codes):
            raise _unequal()


def _wider(values: Any, column: FloatArray) -> Any:
    if sparse.issparse(values):
        parts: list[Any] = [values, sparse.csr_array(column)]
        return sparse.csr_array(sparse.hstack(parts))
    return np.ascontiguousarray(np.column_stack([np.asarray(values), column]))


def _unequal() -> InvalidInputError:
    return InvalidInputError(
        "expected one group per row of X, got another number of them.", hint="Nothing was released."
    )


def _checked_labels(labels: Any) -> list[Hashable]:
    if labels is None:
        raise InvalidInputError(
            "groups need labels: the list of all groups, which must be public.",
            hint="Pass labels=[...] from what is known without the data; a group that only the data name would "
            "tell that somebody is in it.",
        )
    listed = list(labels)
    label_texts(listed)
    return listed


def _codes(groups: Any, labels: Sequence[Hashable]) -> FloatArray:
    """The number of every row's group; -1 for a label that is not in the list."""
    kind = getattr(getattr(groups, "dtype", None), "kind", None)
    numbers: dict[str | None, float] = {
        text: float(code) for code, text in enumerate(label_texts(labels, _KINDS.get(kind or "")))
    }
    if isinstance(groups, str) or not hasattr(groups, "__len__"):
        raise InvalidInputError(
            f"groups must hold one label per row, got {type(groups).__name__}.",
            hint="Pass an array, a list or a series; where X is files, the name of a column.",
        )
    plain = _listed(groups, kind)
    limit = whole_below(groups.dtype) if kind == "f" else None
    if limit is not None and any(_lost_digits(float(text), limit) for text in numbers if text):
        raise InvalidInputError(
            "expected exact labels, but groups are floats, and a label is so large that different groups may be "
            "the same float.",
            hint="Pass both as text, or groups as whole numbers that may be missing (pandas: dtype 'Int64').",
        )
    texts = list(map(label_text, plain))
    there = sum(not is_missing(one) for one in plain[:HEAD])
    if there and 2 * sum(text is not None for text in texts[:HEAD]) <= there:
        raise InvalidInputError(
            "expected groups that can be compared with labels: text, numbers, truth values or dates; most of the "
            "first groups are something else.",
            hint="Convert the groups to text: groups=[str(one) for one in groups].",
        )
    of_floats = {number_text(text): code for text, code in reversed(numbers.items()) if text} | numbers

    def code(label: Any, text: str | None) -> float:
        if _lost_digits(label, limit):
            return -1.0
        return (of_floats if isinstance(label, float | np.floating) else numbers).get(text, -1.0)

    return np.fromiter(map(code, plain, texts), dtype=np.float64, count=len(plain))


def _listed(groups: Any, kind: str | None) -> list[Any]:
    """Return groups as a list of Python objects, as far as their library makes them."""
    if hasattr(groups, "to_pylist"):  # arrays of Arrow, in one piece or more
        return list(groups.to_pylist())
    return list(groups.tolist() if hasattr(groups, "tolist") and kind != "M" else groups)


def _lost_digits(label: Any, limit: float | None) -> bool:
    """Return whether a label is a float so large that it may stand for different whole numbers."""
    largest = whole_below(label) if limit is None else limit
    return isinstance(label, float | np.floating) and abs(float(label)) >= largest


_KINDS = {"i": Kind.WHOLE, "u": Kind.WHOLE, "f": Kind.NUMBER, "b": Kind.TRUTH, "M": Kind.DATE}
"""Kind of groups, by the kind of their numpy or pandas type."""


def _default_spans(model: Any, chosen: list[int]) -> list[tuple[float, float]]:
    """Return `WIDTH` released standard deviations on either side of the mean (1 each, after whitening)."""
    need = InvalidInputError(
        "the histogram needs bounds: no positive variance was released along these components.",
        hint="Pass public bounds=((low, high), (low, high)); never take them from the data.",
    )
    variances = vars(model).get("explained_variance_")
    if variances is None:
        raise need
    half = WIDTH * np.sqrt(variances[chosen]) / np.broadcast_to(whitening_of(model), variances.shape)[chosen]
    if not (np.all(np.isfinite(half)) and np.all(half > 0)):
        raise need
    return [(-float(one), float(one)) for one in half]


def _given_spans(bounds: Any) -> list[tuple[float, float]]:
    array = np.asarray(bounds, dtype=np.float64) if np.shape(bounds) == (2, 2) else np.zeros((0, 2))
    if array.shape != (2, 2) or not np.all(np.isfinite(array)) or not np.all(array[:, 0] < array[:, 1]):
        raise InvalidInputError("bounds must be ((low, high), (low, high)), two pairs of finite numbers.")
    return [(float(low), float(high)) for low, high in array]


def _two_counts(bins: Any) -> tuple[int, int]:
    pair = tuple(bins) if isinstance(bins, Sequence) and not isinstance(bins, str) else (bins, bins)
    whole = all(isinstance(one, int | np.integer) and not isinstance(one, bool) and one >= 1 for one in pair)
    if len(pair) != 2 or not whole:
        raise InvalidInputError(f"bins must be a whole number of at least 1, or two of them, got {bins!r}.")
    return int(pair[0]), int(pair[1])
