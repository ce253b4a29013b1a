"""Audit of privacy: empirical lower bounds on epsilon, from attacks with a canary.

Examples
--------
>>> from eigenveil import audit
>>> result = audit.run("dp-gauss-1", relations="add-remove", epsilons=4.0, trials=40)
>>> len(result.findings)
1
"""

from eigenveil.audit.bounds import ErrorCounts, epsilon_bound, mu_bound, mu_lower_bound
from eigenveil.audit.cases import Case
from eigenveil.audit.measuring import run
from eigenveil.audit.result import AuditFinding, AuditResult

__all__ = [
    "AuditFinding",
    "AuditResult",
    "Case",
    "ErrorCounts",
    "epsilon_bound",
    "mu_bound",
    "mu_lower_bound",
    "run",
]
