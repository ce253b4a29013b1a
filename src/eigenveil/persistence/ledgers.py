"""Conversion of a ledger to JSON values and back."""

from __future__ import annotations

import json
from typing import Any

from eigenveil.errors import InvalidInputError
from eigenveil.persistence.strict_json import DamagedFileError
from eigenveil.privacy import Ledger


def pack_ledger(ledger: Ledger) -> Any:
    """Convert a ledger to JSON values."""
    return json.loads(ledger.to_json())


def unpack_ledger(plain: Any) -> Ledger:
    """Restore a ledger. The result is a copy, because the original may still be charged.

    Examples
    --------
    >>> from eigenveil.privacy import Budget
    >>> ledger = Ledger(Budget.from_mu(1.0))
    >>> entry = ledger.charge_gaussian("count", mu=0.5, sensitivity=1.0, scale=2.0)
    >>> again = unpack_ledger(pack_ledger(ledger))
    >>> again.mu, again.to_json() == ledger.to_json(), again.is_copy
    (0.5, True, True)
    """
    try:
        return Ledger.from_json(json.dumps(plain))
    except InvalidInputError as error:
        raise DamagedFileError(f"the ledger of the model is not valid: {error.fact}") from None
