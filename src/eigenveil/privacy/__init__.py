"""Neighbouring relations, privacy budgets and the ledger of what was spent. Independent of any data."""

from eigenveil.privacy.budget import Budget, split_mu
from eigenveil.privacy.entries import DisjointParts, Entry, Parallel, Purpose
from eigenveil.privacy.ledger import Ledger
from eigenveil.privacy.relation import Relation
from eigenveil.privacy.unit import Unit

__all__ = ["Budget", "DisjointParts", "Entry", "Ledger", "Parallel", "Purpose", "Relation", "Unit", "split_mu"]
