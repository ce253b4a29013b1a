"""Map of scores that ``eigenveil fit --score-map`` buys after the fit, charged to the same ledger."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

from eigenveil.algorithms.registry import find_algorithm, with_variances
from eigenveil.cli.arguments import Groups
from eigenveil.errors import InvalidInputError
from eigenveil.estimators import DPPCA, Progress
from eigenveil.estimators.progress import Watch
from eigenveil.estimators.scores.score_map import ScoreMap
from eigenveil.operators import PeopleOperator, RowsOperator
from eigenveil.privacy import Budget, Entry, Ledger
from eigenveil.sources.labels import open_labelled

NO_MAP = (
    "no map of scores was bought: a released variance is not above 0, so the width of the map cannot be set. "
    "Nothing was charged for it."
)


@dataclass(frozen=True, kw_only=True)
class ScoreMapRequest:
    """Settings of a map of scores, and its privacy budget."""

    epsilon: float
    delta: float
    bins: int
    groups: Groups | None

    @property
    def budget(self) -> Budget:
        """Privacy budget of the map."""
        return Budget.from_epsilon_delta(self.epsilon, self.delta)


def request_score_map(
    model: DPPCA, epsilon: float | None, *, bins: int, groups: Groups | None
) -> ScoreMapRequest | None:
    """Return the request, or None if `epsilon` is None. Raise if the model cannot have a map."""
    if epsilon is None:
        if groups is not None:
            raise InvalidInputError("--score-groups requires a map of scores: give --score-map too.")
        return None
    if model.n_components < 2:
        raise InvalidInputError("a map of scores has two axes, so it needs at least two components: -k 2.")
    if not find_algorithm(model.algorithm).variances:
        raise InvalidInputError(
            f"the width of a map of scores is set by released variances, and {model.algorithm} releases none.",
            hint=f"Use --algorithm with one of {', '.join(with_variances())}.",
        )
    Budget.from_epsilon_delta(epsilon, model.delta)
    return ScoreMapRequest(epsilon=epsilon, delta=model.delta, bins=bins, groups=groups)


def check_groups(groups: Groups, data: Any, operator: RowsOperator | PeopleOperator, units: str | None) -> None:
    """Check against the schema that the column of labels exists. Called before any budget is spent."""
    source = operator.source
    if source.columns is None:
        raise InvalidInputError("--score-groups needs a column name, but columns of arrays have no names.")
    open_labelled(data, layout=source.layout, units=units, labels_in=groups.column, labels=groups.labels)


def score_map_data(request: ScoreMapRequest, data: Any, operator: Any, units: str | None) -> dict[str, Any]:
    """Return the data arguments of `private_scores`: the rows of the fit, or for groups the files with labels."""
    if request.groups is None:
        return {"X": operator}
    return {"X": data, "units": units, "groups": request.groups.column, "labels": list(request.groups.labels)}


def buy_score_map(
    model: DPPCA, request: ScoreMapRequest, rows: dict[str, Any], ledger: Ledger, watch: Watch
) -> ScoreMap | None:
    """Buy the map of components 1 and 2. Return None, free of charge, if a released variance is not above 0."""
    if not all(model.explained_variance_[:2] > 0):
        warnings.warn(NO_MAP, UserWarning, stacklevel=2)
        return None

    def show_charge(entry: Entry) -> None:
        step = 1 if watch.last is None else watch.last.step + 1
        watch(Progress(what=entry.what, purpose=entry.purpose, step=step, share=1.0))

    with ledger.watched(show_charge):
        return model.private_scores(
            **rows,
            epsilon=request.epsilon,
            delta=request.delta,
            bins=request.bins,
            ledger=ledger,
            random_state=None if model.random_state is None else model.random_state + 1,
        )
