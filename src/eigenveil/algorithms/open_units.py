"""Open a user's data as units under a veil, with the same checks for every algorithm."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypedDict, TypeVar

from eigenveil.algorithms.release_warnings import warn_if_not_compiled
from eigenveil.engines import DaskEngine, Engine, LocalEngine
from eigenveil.engines.engine_choice import engine_for
from eigenveil.errors import BudgetExceededError, InvalidInputError
from eigenveil.mechanisms import SeededBytes, Veil
from eigenveil.operators import Operator, as_operator
from eigenveil.privacy import Budget, Ledger, Purpose, Relation, Unit
from eigenveil.sources import Layout
from eigenveil.sources.first_units import check_first_units
from eigenveil.units import Units


class RunArguments(TypedDict, total=False):
    """Arguments of every run in addition to epsilon and delta.

    Parameters
    ----------
    relation : {"add-remove", "replace"}
        Neighbouring relation.
    ledger : Ledger, optional
        Ledger to charge, which several runs may share. A run that does not fit into its budget is refused at once,
        and so is one about another unit (rows, or other people) than the runs before it.
        None: a new ledger.
    random_state : int, optional
        Seed, for tests and teaching. The ledger is then marked "not private".
    engine : Engine, optional
        Engine that computes the sums.
    """

    relation: Relation | str
    ledger: Ledger | None
    random_state: int | None
    engine: Engine | None


FaceT = TypeVar("FaceT", bound=Callable[..., Any])


def public_face(function: FaceT) -> FaceT:
    """Add `RunArguments` to the signature of a public function that takes them as **arguments."""
    signature = inspect.signature(function)
    own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    shared = inspect.signature(open_units).parameters
    more = [shared[name] for name in RunArguments.__annotations__]
    function.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
    return function


def refuse_unknown(function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Raise a TypeError for `function` if an argument is not in `RunArguments`."""
    unknown = [name for name in arguments if name not in RunArguments.__annotations__]
    if unknown:
        known = ", ".join(inspect.signature(function).parameters)
        raise TypeError(
            f"{function.__name__}() got an unexpected keyword argument {unknown[0]!r}; it takes {known}."
        )


def open_units(
    data: Any,
    *,
    epsilon: float,
    delta: float,
    relation: Relation | str = Relation.ADD_REMOVE,
    ledger: Ledger | None = None,
    random_state: int | None = None,
    engine: Engine | None = None,
    aside: tuple[float, float] = (0.0, 0.0),
) -> Units:
    """Return units under a veil, with a privacy budget of (epsilon, delta).

    Parameters
    ----------
    data : anything that holds rows, or the result of an `eigenveil.samples` function
        Units.
    epsilon, delta : float
        Privacy budget of the run.
    relation, ledger, random_state, engine
        See `RunArguments`.
    aside : (float, float)
        Part of (epsilon, delta) for releases without Gaussian noise.
    """
    warn_if_not_compiled()
    relation = Relation(relation)
    budget = Budget.from_epsilon_delta(epsilon, delta, epsilon_aside=aside[0], delta_aside=aside[1])
    if ledger is None:
        ledger = Ledger(budget, relation=relation)
    elif ledger.relation is not relation:
        raise InvalidInputError(
            f"the ledger has the relation {ledger.relation.value}, but this run has {relation.value}.",
            hint="Pass the relation of the ledger, or use another ledger.",
        )
    if not ledger.can_afford(budget):
        epsilon_left, delta_left = ledger.remaining_aside
        raise BudgetExceededError(
            f"this run asks for mu = {budget.mu:g} and ({budget.epsilon_aside:g}, {budget.delta_aside:g}), but "
            f"the ledger has mu = {ledger.remaining_mu:g} and ({epsilon_left:g}, {delta_left:g}) left.",
            hint="Nothing was drawn. Ask for less, or start a ledger with a larger budget.",
        )
    operator = as_operator(data)
    ledger.check_unit(unit_of(operator))
    engine = engine_for(operator, engine)
    if isinstance(engine, LocalEngine | DaskEngine):
        operator = engine.keeping(operator)
    source = getattr(operator, "source", None)
    if isinstance(engine, LocalEngine) and source is not None:
        check_first_units(source)
    ledger.bind(unit_of(operator))
    declare_layout(ledger, Layout() if source is None else source.layout)
    return Units(
        operator=operator,
        veil=Veil(ledger, source=None if random_state is None else SeededBytes(random_state)),
        budget=budget,
        engine=engine,
        stated=(epsilon, delta),
    )


def unit_of(operator: Operator) -> Unit:
    """Return what a unit of these data is, as the ledger records it."""
    if operator.single_rows:
        return Unit("row")
    return Unit("person", by=getattr(operator, "by", None)) if operator.has_rows else Unit("matrix")


def declare_layout(ledger: Ledger, layout: Layout) -> None:
    """Record in the ledger what the caller has declared about columns: encodings, and values for missing ones."""
    for what, how in layout.declared():
        ledger.declare(what, note=f"declared by the caller: {how}", purpose=Purpose.COLUMNS)


def check_k(k: int, d: int) -> int:
    """Return `k` if it is a whole number from 1 to d; raise otherwise."""
    if not isinstance(k, int) or isinstance(k, bool) or not 1 <= k <= d:
        raise InvalidInputError(
            f"expected a whole number of components from 1 to {d} (the number of columns), got {k!r}.",
            hint="A share of variance is not accepted: the number of components that it needs is itself private. "
            "After a fit, pca.components_for(0.9) computes that number from the variances that were bought.",
        )
    return k
