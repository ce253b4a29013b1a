"""One step of a fit, as callbacks receive it."""

from __future__ import annotations

from dataclasses import dataclass

from eigenveil.privacy import Purpose


@dataclass(frozen=True, kw_only=True)
class Progress:
    """One step of a fit.

    Parameters
    ----------
    what : str
        What is being released: the label in the ledger, for people, not for programs.
    purpose : Purpose
        Purpose of the charge.
    step : int
        Number of entries that this fit has written so far, including this one.
    share : float
        Share of the fit's Gaussian budget (of mu^2) that is spent, 0 to 1.
    passes : int
        Number of passes over the data so far; 0 in a stream, which reads every row once.
    """

    what: str
    purpose: Purpose
    step: int
    share: float
    passes: int = 0
