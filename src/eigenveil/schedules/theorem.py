"""Step size for which the utility of Oja's algorithm is proved: alpha / (gap (offset + t)).

It is from thm-utility-non-private-Ojas-with-P, and is used again, with the constants of the noisy updates, in the
proofs of thm-utility-moddp-pca and thm-utility-dp-ojas (where alpha is called h). The offset is called beta in the
first theorem and xi in the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from eigenveil._checks import not_negative, positive
from eigenveil.errors import InvalidInputError
from eigenveil.schedules.checks import sample_count, step_number


@dataclass(frozen=True, kw_only=True)
class TheoremSchedule:
    """Step sizes alpha / (gap (offset + t)).

    Parameters
    ----------
    gap : float
        lambda_1 - lambda_2 of P S P, the matrix whose top eigenvector is estimated.
    offset : float
        Offset that keeps the first steps small (`theorem_offset`).
    alpha : float
        Factor above 1/2; the proofs use c log n (`theorem_alpha`).

    Notes
    -----
    The paper uses the gap of S, lambda_1 - lambda_2, in one proof, and the gap of P S P in the theorem itself. The
    theorem is proved for the gap of P S P. For the first component the two are the same.

    Examples
    --------
    >>> eta = TheoremSchedule(gap=2.0, offset=9.0, alpha=1.0)
    >>> eta(1), eta(41)
    (0.05, 0.01)
    """

    gap: float
    offset: float
    alpha: float

    def __post_init__(self) -> None:
        positive(gap=self.gap, alpha=self.alpha)
        not_negative(offset=self.offset)
        if self.alpha <= 0.5:
            raise InvalidInputError(f"alpha must exceed 1/2, got {self.alpha!r}.", hint="Use theorem_alpha(n).")

    def __call__(self, t: int) -> float:
        """Return the size of step t."""
        step_number(t)
        return self.alpha / (self.gap * (self.offset + t))


def theorem_alpha(n: int, *, c: float = 1.0) -> float:
    """Return alpha = c log n of the proofs (natural logarithm), but always above 1/2.

    Examples
    --------
    >>> round(theorem_alpha(1000), 3)
    6.908
    """
    sample_count(n)
    positive(c=c)
    return max(c * math.log(n), 0.501)


def theorem_offset(
    *, gap: float, lambda_1: float, spread: float, variance: float, alpha: float, failure: float = 0.01
) -> float:
    """Return the offset of the theorem.

    20 max(spread alpha / gap, (variance + lambda_1^2) alpha^2 / (gap^2 log(1 + failure / 100))).

    Parameters
    ----------
    gap, lambda_1 : float
        Gap and largest eigenvalue of P S P.
    spread, variance : float
        Absolute norm(A - S) and norm(E[(A - S)(A - S)^T]) of the update matrices of Oja's algorithm:
        lambda_1 M and lambda_1^2 V, or those of a noisy update.
    alpha, failure : float
        Parameters of the theorem, which holds with probability 1 - `failure`. It needs more steps than the offset.

    Notes
    -----
    The offset is large: with failure = 0.01 the second term is 200,000 (kappa alpha)^2 even without variance. For
    DP-Ojas the paper prints (variance + lambda_1)^2, which mixes units; the theorem has variance + lambda_1^2.

    Examples
    --------
    >>> round(theorem_offset(gap=1.0, lambda_1=1.0, spread=1.0, variance=0.0, alpha=1.0, failure=0.5))
    4010
    """
    positive(gap=gap, lambda_1=lambda_1, alpha=alpha)
    not_negative(spread=spread, variance=variance)
    if not 0 < failure < 1:
        raise InvalidInputError(f"failure must lie strictly between 0 and 1, got {failure!r}.")
    random = (variance + lambda_1**2) * alpha**2 / (gap**2 * math.log1p(failure / 100))
    return 20 * max(spread * alpha / gap, random)


def theorem_schedule(
    n: int,
    *,
    lambda_1: float,
    lambda_2: float,
    spread: float,
    variance: float,
    failure: float = 0.01,
    c: float = 1.0,
) -> TheoremSchedule:
    """Return the schedule with the proofs' alpha for n samples, and the corresponding offset.

    Examples
    --------
    >>> eta = theorem_schedule(10**6, lambda_1=2.0, lambda_2=1.0, spread=1.0, variance=0.1)
    >>> eta(1) > eta(2) > 0
    True
    """
    positive(lambda_1=lambda_1)
    not_negative(lambda_2=lambda_2)
    if lambda_1 <= lambda_2:
        raise InvalidInputError(f"lambda_1 must exceed lambda_2, got {lambda_1!r} and {lambda_2!r}.")
    gap, alpha = lambda_1 - lambda_2, theorem_alpha(n, c=c)
    offset = theorem_offset(
        gap=gap, lambda_1=lambda_1, spread=spread, variance=variance, alpha=alpha, failure=failure
    )
    return TheoremSchedule(gap=gap, offset=offset, alpha=alpha)
