"""The audit itself: attack each algorithm, choose the best attack, and bound what it shows.

1  every attack on a claim runs a third of its trials; on these, the best statistic and threshold are chosen
2  the attack with the best test runs the other trials
3  the errors of the test in these bound mu or epsilon from below
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

from eigenveil.algorithms.registry import ALGORITHMS
from eigenveil.audit.bounds import Bound, ErrorCounts, check_confidence, epsilon_bound, mu_bound, smallest_mu_seen
from eigenveil.audit.cases import Case, attacks_on
from eigenveil.audit.result import AuditFinding, AuditResult
from eigenveil.audit.running import ProgressCallback, Runner
from eigenveil.audit.statistics import Numbers, Test, best_test
from eigenveil.errors import InvalidInputError
from eigenveil.privacy.gaussian import gaussian_epsilon

RELATIONS = ("add-remove", "replace")
LEAST_TRIALS = 40


def run(
    algorithms: Sequence[str] | str | None = None,
    *,
    relations: Sequence[str] | str = RELATIONS,
    epsilons: Sequence[float] | float = (1.0,),
    delta: float = 1e-6,
    trials: int = 1000,
    confidence: float = 0.95,
    cases: Sequence[Case] | None = None,
    workers: int = 1,
    cache: Path | None = None,
    on_progress: ProgressCallback = lambda *_: None,
) -> AuditResult:
    """Attack algorithms with a canary, and bound their epsilon from below.

    Parameters
    ----------
    algorithms : list of str, or str, optional
        Names of algorithms. None: all.
    relations : list of str, or str
        Neighbouring relations.
    epsilons : list of float, or float
        Claimed epsilons.
    delta : float
        Claimed delta.
    trials : int
        Fits with, and fits without the canary. A third of them chooses an attack, the others bound.
    confidence : float
        Probability with which each bound holds. For many bounds, or for gates, choose it close to 1.
    cases : list of Case, optional
        Attacks of your own on one claim, in place of all of the above. The best of them is chosen.
    workers : int
        Number of processes.
    cache : Path, optional
        Folder that keeps what fits released; an interrupted audit resumes from it. A test that was chosen, and its
        bound, follow from what is kept.
    on_progress : callable
        Called with the number of completed fits, the total number, and what was fitted.

    Returns
    -------
    AuditResult
        One finding per algorithm, relation and epsilon.

    Formal guarantees
    -----------------
    If the claim is true, a bound exceeds it with probability at most 1 - confidence, for each finding. A bound
    below the claim proves nothing: it is the best of a few attacks, and a better one may exist.

    Examples
    --------
    >>> found = run("dp-gauss-1", relations="add-remove", epsilons=4.0, trials=40, confidence=1 - 1e-5)
    >>> found.findings[0].measured <= 4.0, found.violations
    (True, ())
    """
    if trials < LEAST_TRIALS:
        raise InvalidInputError(f"trials must be at least {LEAST_TRIALS}, got {trials!r}.")
    check_confidence(confidence)
    claims = [list(cases)] if cases is not None else _claims(algorithms, relations, epsilons, delta)
    for case in (one for claim in claims for one in claim):
        case.check()
    runner = Runner(workers, cache, on_progress)
    third = trials // 3
    chosen = _choose(claims, runner.run([case for claim in claims for case in claim], 0, third))
    decisive = runner.run(chosen, third, trials)
    return AuditResult(tuple(_finding(case, chosen[case], decisive[case], confidence) for case in chosen))


def _claims(
    algorithms: Sequence[str] | str | None,
    relations: Sequence[str] | str,
    epsilons: Sequence[float] | float,
    delta: float,
) -> list[list[Case]]:
    """Return the attacks on every claim."""
    names = [algorithms] if isinstance(algorithms, str) else list(ALGORITHMS if algorithms is None else algorithms)
    between = [relations] if isinstance(relations, str) else relations
    at = [float(epsilons)] if isinstance(epsilons, int | float) else epsilons
    return [attacks_on(name, relation, epsilon, delta) for name in names for relation in between for epsilon in at]


def _choose(claims: list[list[Case]], pilots: dict[Case, tuple[Numbers, Numbers]]) -> dict[Case, Test]:
    """Return the best attack on every claim, and its test."""
    chosen = {}
    for claim in claims:
        tests = {case: best_test(*pilots[case]) for case in claim}
        best = max(tests, key=lambda case: tests[case][1])
        chosen[best] = tests[best][0]
    return chosen


def _finding(case: Case, test: Test, numbers: tuple[Numbers, Numbers], confidence: float) -> AuditFinding:
    errors = test.errors(*numbers)
    gaussian = case.budget.epsilon_aside == 0
    bound: Bound = mu_bound if gaussian else functools.partial(_mixed_bound, case)
    claimed, measured = case.budget.mu if gaussian else case.epsilon, bound(errors, confidence)
    needed = [smallest_mu_seen(bound, claimed, errors.without, confidence, power=power) for power in (0.5, 0.999)]
    return AuditFinding(
        algorithm=case.algorithm,
        relation=case.relation,
        epsilon=case.epsilon,
        delta=case.delta,
        measured=gaussian_epsilon(case.delta, measured) if gaussian else measured,
        confidence=confidence,
        attack=f"{case.attack}, d = {case.d}, k = {case.k}",
        statistic=test.statistic.name,
        trials=errors.without,
        visible=_ratio(needed[0], errors),
        certain=_ratio(needed[1], errors),
    )


def _mixed_bound(case: Case, errors: ErrorCounts, confidence: float) -> float:
    return epsilon_bound(errors, confidence, case.budget_at)


def _ratio(needed: float, errors: ErrorCounts) -> float:
    """Return by which factor noise has to shrink until mu is as large as needed; infinite if nothing was seen."""
    return needed / errors.mu if errors.mu > 0 else float("inf")
