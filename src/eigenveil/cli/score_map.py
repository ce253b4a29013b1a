"""The map of scores that ``eigenveil fit --score-map`` buys after the fit, on the same ledger."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

from eigenveil.cli.choosing import Groups
from eigenveil.cli.progress import Watch
from eigenveil.errors import InvalidInputError
from eigenveil.estimators import DPPCA, Progress
from eigenveil.estimators.score_picture import ScoreHistogram
from eigenveil.operators import PeopleOperator, RowsOperator
from eigenveil.privacy import Budget, Entry, Ledger
from eigenveil.sources.labels import open_labelled
from eigenveil.subspace.registry import find_algorithm, with_variances


@dataclass(frozen=True, kw_only=True)
class WantedMap:
    """What map is wanted, and at which price."""

    epsilon: float
    delta: float
    bins: int
    groups: Groups | None

    @property
    def budget(self) -> Budget:
        """Its price."""
        return Budget.from_epsilon_delta(self.epsilon, self.delta)


def want_map(model: DPPCA, epsilon: float | None, *, bins: int, groups: Groups | None) -> WantedMap | None:
    """The map, refused here if the model cannot have one; None if none is wanted."""
    if epsilon is None:
        if groups is not None:
            raise InvalidInputError("--score-groups is for a map of scores: give --score-map too.")
        return None
    if model.n_components < 2:
        raise InvalidInputError("a map of scores has two axes, so it needs two components: -k 2, or more.")
    if not find_algorithm(model.algorithm).variances:
        raise InvalidInputError(
            f"a map of scores is drawn as wide as released variances say, and {model.algorithm} releases none.",
            hint=f"Use --algorithm with one of {', '.join(with_variances())}.",
        )
    Budget.from_epsilon_delta(epsilon, model.delta)
    return WantedMap(epsilon=epsilon, delta=model.delta, bins=bins, groups=groups)


def check_groups(groups: Groups, data: Any, operator: RowsOperator | PeopleOperator, units: str | None) -> None:
    """Find out from the schema, before anything is spent, whether there is such a column of labels."""
    source = operator.source
    if source.columns is None:
        raise InvalidInputError("groups are a column by name, and the columns of arrays have no names.")
    open_labelled(data, layout=source.layout, units=units, labels_in=groups.column, labels=groups.labels)


def rows_to_map(wanted: WantedMap, data: Any, operator: Any, units: str | None) -> dict[str, Any]:
    """What `private_scores` is to read: the rows of the fit; for groups the files again, with their labels."""
    if wanted.groups is None:
        return {"X": operator}
    return {"X": data, "units": units, "groups": wanted.groups.column, "labels": list(wanted.groups.labels)}


def buy_map(
    model: DPPCA, wanted: WantedMap, rows: dict[str, Any], ledger: Ledger, watch: Watch
) -> ScoreHistogram | None:
    """The map of components 1 and 2; none, at no cost, where a released variance is not above 0."""
    if not all(model.explained_variance_[:2] > 0):
        warnings.warn(
            "no map of scores was bought: a released variance is not above 0, so that it is not known how wide "
            "the map must be. Nothing was charged for it.",
            UserWarning,
            stacklevel=2,
        )
        return None

    def told(entry: Entry) -> None:
        step = 1 if watch.last is None else watch.last.step + 1
        watch(Progress(what=entry.what, purpose=entry.purpose, step=step, share=1.0))

    with ledger.watched(told):
        return model.private_scores(
            **rows,
            epsilon=wanted.epsilon,
            delta=wanted.delta,
            bins=wanted.bins,
            ledger=ledger,
            random_state=None if model.random_state is None else model.random_state + 1,
        )
