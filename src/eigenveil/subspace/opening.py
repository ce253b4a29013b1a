"""From what a user hands in to units under a veil: the same checks for every algorithm."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypedDict, TypeVar

from eigenveil.engines import DaskEngine, Engine, LocalEngine
from eigenveil.engines.choosing import engine_for
from eigenveil.errors import BudgetExceededError, InvalidInputError
from eigenveil.mechanisms import SeededBytes, Veil
from eigenveil.operators import as_operator
from eigenveil.privacy import Budget, Ledger, Purpose, Relation
from eigenveil.sources import Layout
from eigenveil.units import Units


class RunArguments(TypedDict, total=False):
    """Arguments that every run takes beside epsilon and delta.

    Parameters
    ----------
    relation : {"add-remove", "replace"}
        Neighbouring relation.
    ledger : Ledger, optional
        One to charge that other runs charge too; refused at once if this run does not fit.
    random_state : int, optional
        A seed, for tests and teaching: the ledger then says "not private".
    engine : Engine, optional
        What computes the sums.
    """

    relation: Relation | str
    ledger: Ledger | None
    random_state: int | None
    engine: Engine | None


FaceT = TypeVar("FaceT", bound=Callable[..., Any])


def public_face(function: FaceT) -> FaceT:
    """Show `RunArguments` in the signature of a public function that takes them as **arguments."""
    signature = inspect.signature(function)
    own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    shared = inspect.signature(open_units).parameters
    more = [shared[name] for name in RunArguments.__annotations__]
    function.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
    return function


def refuse_unknown(function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that are not among those of `RunArguments`, in the name of the public function."""
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
    """Units under a veil that together may cost (epsilon, delta).

    Parameters
    ----------
    data : anything that holds rows, or what `eigenveil.samples` makes
        The units.
    epsilon, delta : float
        What this run may cost.
    relation, ledger, random_state, engine
        See `RunArguments`.
    aside : (float, float)
        The part of (epsilon, delta) that is for releases without Gaussian noise.
    """
    relation = Relation(relation)
    budget = Budget.from_epsilon_delta(epsilon, delta, epsilon_aside=aside[0], delta_aside=aside[1])
    if ledger is None:
        ledger = Ledger(budget, relation=relation)
    elif ledger.relation is not relation:
        raise InvalidInputError(
            f"the ledger counts under {ledger.relation.value}, this run asks for {relation.value}.",
            hint="Pass the relation of the ledger, or a ledger of its own.",
        )
    _refuse_overspending(ledger, budget)
    operator = as_operator(data)
    engine = engine_for(operator, engine)
    source = getattr(operator, "source", None)
    declare_layout(ledger, Layout() if source is None else source.layout)
    return Units(
        operator=engine.keeping(operator) if isinstance(engine, LocalEngine | DaskEngine) else operator,
        veil=Veil(ledger, source=None if random_state is None else SeededBytes(random_state)),
        budget=budget,
        engine=engine,
        stated=(epsilon, delta),
    )


def declare_layout(ledger: Ledger, layout: Layout) -> None:
    """Write in the ledger what the caller has declared of columns: encodings, and what is filled in."""
    for what, how in layout.declared():
        ledger.declare(what, note=f"declared by the caller: {how}", purpose=Purpose.COLUMNS)


def check_k(k: int, d: int) -> int:
    """Return `k` if it is a whole number from 1 to d, else explain."""
    if not isinstance(k, int) or isinstance(k, bool) or not 1 <= k <= d:
        raise InvalidInputError(
            f"expected a whole number of components from 1 to {d} (the number of columns), got {k!r}.",
            hint="A share of variance cannot be asked for: how many components it takes is itself private. After "
            "a fit, pca.components_for(0.9) says it from the variances that were paid for.",
        )
    return k


def _refuse_overspending(ledger: Ledger, budget: Budget) -> None:
    slack = 1 + 1e-10
    epsilon, delta = ledger.remaining_aside
    fits = (
        budget.mu <= ledger.remaining_mu * slack
        and budget.epsilon_aside <= epsilon * slack
        and budget.delta_aside <= delta * slack
    )
    if not fits:
        raise BudgetExceededError(
            f"this run asks for mu = {budget.mu:g} and ({budget.epsilon_aside:g}, {budget.delta_aside:g}), but "
            f"the ledger has mu = {ledger.remaining_mu:g} and ({epsilon:g}, {delta:g}) left.",
            hint="Nothing was drawn. Ask for less, or start a ledger with a larger budget.",
        )
