"""Hints about a fit before anything is spent, from names, declared bounds and parameters. No value is read.

Names are compared with common words for quantities and their units (`_KINDS`). Two kinds are enough for a hint: it
costs nothing, and a fit is never refused or changed by it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from eigenveil.algorithms.frame import MOST_COUNTS, ColumnBounds
from eigenveil.algorithms.standard import Standard

_WORDS = {
    "time": "age year years yr yrs month months week weeks day days hour hours minute minutes duration",
    "money": "income salary wage wages price prices cost costs revenue sales budget usd eur gbp dollars euros",
    "weight": "weight mass kg lb lbs grams",
    "length": "height length width depth distance elevation altitude cm mm km inch inches feet ft miles",
    "area": "area sqft sqm acres hectares km2 m2",
    "temperature": "temp temperature celsius fahrenheit",
    "pressure": "pressure mmhg hpa kpa sbp dbp systolic diastolic",
    "speed": "speed velocity mph kmh kph",
    "frequency": "pulse bpm hz khz",
    "concentration": "glucose cholesterol creatinine hdl ldl triglycerides mgdl mmol ppm",
    "share": "percent percentage pct",
    "number": "count counts population",
    "coordinate": "latitude longitude lat lon lng",
}
_KINDS = {word: kind for kind, words in _WORDS.items() for word in words.split()}
_PARTS = re.compile(r"[A-Z]?[a-z]+2?|[A-Z]+")
APART = 10.0
"""Factor between the widths of bounds from which columns look like different units."""
_SHOWN = 3
_FEW = 60.0
"""With fewer units than this multiple of the noise on a count of the frame, columns are hard to find, and bounds
help: columns that are far from 0 for their spread, such as a year, more than others."""


def before_spending(standard: Standard, d: int, *, scaled: bool, mu: float) -> tuple[str, ...]:
    """Return hints about a fit, as sentences.

    Parameters
    ----------
    standard : Standard
        How rows are centred and scaled: names, declared bounds, and what is bought.
    d : int
        Number of columns.
    scaled : bool
        Whether any column is scaled, by declared or bought numbers.
    mu : float
        Gaussian budget of the fit.

    Examples
    --------
    >>> standard = Standard(names=["age", "income_usd", "note"], buy_mean=True)
    >>> for hint in before_spending(standard, 3, scaled=False, mu=0.24):
    ...     print(hint)
    Columns look like different units by their names: 'age' (time), 'income_usd' (money). Without ...
    No bounds are declared. With fewer than about 1,200 units they would help to find the columns; with ...
    """
    hints = []
    if not scaled and (why := different_units(standard.names, standard.bounds)):
        hints.append(
            f"Columns look like different units by their {why}. Without scales, the largest numbers decide about "
            'the components: consider scale="private".'
        )
    bought = np.arange(d) if standard.buy_mean else standard.private
    bounds = ColumnBounds.none(d) if standard.bounds is None else standard.bounds
    unbounded = np.isinf(bounds.high - bounds.low)[bought]
    if unbounded.any():
        few = _rounded(_FEW * math.sqrt(bought.size / MOST_COUNTS) / mu)
        which = "No bounds are declared" if unbounded.all() else "Some columns have no bounds"
        hints.append(
            f"{which}. With fewer than about {few} units they would help to find the columns; with more they gain "
            "little."
        )
    return tuple(hints)


def different_units(names: Sequence[str] | None, bounds: ColumnBounds | None) -> str | None:
    """Return why columns look like different units, or None if they do not."""
    if bounds is not None:
        width = bounds.high - bounds.low
        finite = np.flatnonzero(np.isfinite(width))
        if finite.size and width[finite].max() > APART * width[finite].min():
            most, least = finite[width[finite].argmax()], finite[width[finite].argmin()]
            wide, narrow = ((f"column {j}" if names is None else repr(names[j])) for j in (int(most), int(least)))
            return f"bounds: {wide} may vary {width[most] / width[least]:,.0f} times as much as {narrow}"
    found: dict[str, str] = {}
    for name in names or ():
        kind = kind_of(name)
        if kind is not None:
            found.setdefault(kind, name)
    shown = [f"{name!r} ({kind})" for kind, name in found.items()][:_SHOWN]
    return f"names: {', '.join(shown)}" if len(found) > 1 else None


def kind_of(name: str) -> str | None:
    """Return the kind of quantity that a name states by its last such word, or None.

    Examples
    --------
    >>> kind_of("age_years"), kind_of("bodyWeight"), kind_of("lab_a"), kind_of("Average")
    ('time', 'weight', None, None)
    """
    kinds = [_KINDS[word] for word in map(str.lower, _PARTS.findall(name)) if word in _KINDS]
    return kinds[-1] if kinds else None


def _rounded(number: float) -> str:
    """Format a number to two digits.

    Examples
    --------
    >>> _rounded(1342.6)
    '1,300'
    """
    return f"{float(f'{number:.2g}'):,.0f}"
