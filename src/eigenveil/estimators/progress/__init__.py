"""Progress of a fit: one step per ledger entry. It never contains values of the data."""

from eigenveil.estimators.progress.reporter import CallbackSupportMixin, Reporter, with_callbacks
from eigenveil.estimators.progress.step import Progress
from eigenveil.estimators.progress.watch import Lines, Watch, count_rows

__all__ = ["CallbackSupportMixin", "Lines", "Progress", "Reporter", "Watch", "count_rows", "with_callbacks"]
