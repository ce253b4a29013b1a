"""Relation, budget and ledger: what privacy costs and what was spent. Knows nothing of data."""

from eigenveil.privacy.budget import Budget, split_mu
from eigenveil.privacy.entries import Entry, Parallel, Partition, Purpose
from eigenveil.privacy.ledger import Ledger
from eigenveil.privacy.relation import Relation

__all__ = ["Budget", "Entry", "Ledger", "Parallel", "Partition", "Purpose", "Relation", "split_mu"]
