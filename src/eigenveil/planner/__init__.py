"""Planner: the accuracy to expect before any data are read, computed from public numbers."""

from eigenveil.planner.guess import PRESETS
from eigenveil.planner.plan import EPSILONS, plan
from eigenveil.planner.result import Expected, Plan, explain

__all__ = ["EPSILONS", "PRESETS", "Expected", "Plan", "explain", "plan"]
