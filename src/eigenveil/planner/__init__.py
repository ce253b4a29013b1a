"""Planner: the accuracy to expect before any data are read, computed from public numbers."""

from eigenveil.planner.guess import PRESETS
from eigenveil.planner.outlook import outlook
from eigenveil.planner.plan import EPSILONS, plan
from eigenveil.planner.result import Expected, Plan, explain, percent

__all__ = ["EPSILONS", "PRESETS", "Expected", "Plan", "explain", "outlook", "percent", "plan"]
