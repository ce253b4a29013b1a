"""A ledger as text, as an HTML table and as JSON."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

from eigenveil._printable import printable
from eigenveil.errors import BudgetExceededError, EigenveilError, InvalidInputError
from eigenveil.privacy.budget import Budget
from eigenveil.privacy.entries import Entry, Parallel, sequential_cost
from eigenveil.privacy.ledger_fields import check_ledger
from eigenveil.privacy.relation import Relation
from eigenveil.privacy.unit import Unit

if TYPE_CHECKING:
    from eigenveil.privacy.ledger import Ledger

_SCHEMA = 2
_HEAD = ("what", "cost", "sensitivity", "noise", "releases")


class Content(NamedTuple):
    """The content of a ledger that was read from JSON."""

    budget: Budget
    relation: Relation
    unit: Unit | None
    nodes: list[Entry | Parallel]
    reasons: list[str]


def verdict(ledger: Ledger) -> str:
    """Return one line: the spent budget, the relation, the unit and, if there is no guarantee, the reasons."""
    cost, budget = ledger.cost, ledger.budget
    spent = f"mu = {ledger.mu:.4g} of {budget.mu:.4g}"
    if budget.epsilon_aside or budget.delta_aside:
        spent += f" and ({cost.epsilon:.4g}, {cost.delta:.4g})"
        spent += f" of ({budget.epsilon_aside:.4g}, {budget.delta_aside:.4g})"
    spent += f" spent, {ledger.relation.value}"
    spent += "" if ledger.unit is None else f", one unit: {printable(str(ledger.unit))}"
    return spent if ledger.private else f"NOT PRIVATE: {'; '.join(ledger.reasons)} ({spent})"


def overspending(ledger: Ledger, entry: Entry) -> BudgetExceededError:
    """Return the error for a charge that does not fit."""
    hint = "Nothing was drawn. Ask for less, release fewer results, or start with a larger budget."
    budget, (epsilon, delta) = ledger.budget, ledger.remaining_aside
    if entry.kind == "gaussian":
        left = f"{ledger.remaining_mu:g} of {budget.mu:g} is left."
        return BudgetExceededError(f'"{entry.what}" asks for mu = {entry.mu:g}, but {left}', hint=hint)
    return BudgetExceededError(
        f'"{entry.what}" asks for ({entry.epsilon:g}, {entry.delta:g}), but ({epsilon:g}, {delta:g}) '
        f"of the ({budget.epsilon_aside:g}, {budget.delta_aside:g}) set aside is left.",
        hint=hint + " Releases without Gaussian noise are paid from epsilon_aside and delta_aside.",
    )


def as_text(ledger: Ledger) -> str:
    """Return the verdict and a table with one line per entry."""
    rows = [_HEAD, *_rows(ledger)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEAD))]
    lines = [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join([verdict(ledger), *lines])


def as_html(ledger: Ledger) -> str:
    """Return the verdict and a table with one row per entry, as HTML."""

    def row(cells: tuple[str, ...], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(row(cells, "td") for cells in _rows(ledger))
    return (
        f"<div class='eigenveil-ledger'><p><b>{html.escape(verdict(ledger))}</b></p>"
        f"<table><thead>{row(_HEAD, 'th')}</thead><tbody>{body}</tbody></table></div>"
    )


def as_json(ledger: Ledger) -> str:
    """Return everything in the ledger as JSON."""
    return json.dumps(
        {
            "schema": _SCHEMA,
            "relation": ledger.relation.value,
            "unit": None if ledger.unit is None else ledger.unit.to_plain(),
            "budget": asdict(ledger.budget),
            "private": ledger.private,
            "not_private_because": list(ledger.reasons),
            "entries": [_to_plain(node) for node in ledger.nodes],
        },
        indent=2,
    )


def read_json(text: str) -> Content:
    """Read what `as_json` wrote; raise if it is something else."""
    try:
        plain = json.loads(text, object_pairs_hook=_unique)
        if type(plain["schema"]) is int and plain["schema"] != _SCHEMA:
            raise InvalidInputError(
                f"expected a ledger of schema {_SCHEMA}, got schema {plain['schema']!r}.",
                hint="Read it with the version of eigenveil that wrote it.",
            )
        check_ledger(plain)
        return Content(
            budget=Budget(**plain["budget"]),
            relation=Relation(plain["relation"]),
            unit=None if plain["unit"] is None else Unit(**plain["unit"]),
            nodes=[_from_plain(node) for node in plain["entries"]],
            reasons=list(plain["not_private_because"]),
        )
    except EigenveilError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError) as error:
        raise InvalidInputError(
            "this is not a ledger written by `Ledger.to_json`.",
            hint="The file may be truncated, or it may be a different kind of file.",
        ) from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidInputError("the ledger has a duplicate field.")
    return found


def _rows(ledger: Ledger) -> Iterator[tuple[str, ...]]:
    """Yield the cells of every entry; entries of parallel parts are indented."""
    for depth, entry in (pair for node in ledger.nodes for pair in node.walk()):
        label = "  " * depth + printable(entry.what + (f" ({entry.note})" if entry.note else ""))
        if entry.kind == "gaussian":
            cost = f"mu {entry.mu:.4g}"
        elif entry.kind == "approximate":
            cost = f"({entry.epsilon:.4g}, {entry.delta:.4g})"
        else:
            cost = "declared"
        yield (
            label,
            cost,
            "" if entry.sensitivity is None else f"{entry.sensitivity:.4g}",
            "" if entry.scale is None else f"{entry.scale:.4g}",
            f"{entry.releases}" if entry.releases else "",
        )


def _to_plain(node: Entry | Parallel) -> dict[str, Any]:
    if isinstance(node, Entry):
        return asdict(node)
    plain = {"parallel": node.how, "parts": [[_to_plain(child) for child in part] for part in node.parts]}
    return plain if node.finished is None else {**plain, "finished": node.finished}


def _from_plain(plain: dict[str, Any]) -> Entry | Parallel:
    if "parallel" not in plain:
        return Entry(**plain)
    parts = tuple([_from_plain(child) for child in part] for part in plain["parts"])
    return Parallel(plain["parallel"], parts, [sequential_cost(part) for part in parts], plain.get("finished"))
