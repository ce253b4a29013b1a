"""Step sizes, batch sizes and numbers of rounds, as the paper sets them. Spectra are public arguments.

A schedule is a callable t -> step size, t counted from 1. Eigenvalues in a schedule are knowledge about the data:
pass what is public, or what was released from the budget, never what was computed from the data on the side.
"""

from eigenveil.schedules.batches import (
    batch_size_root,
    batch_size_theorem,
    rounds_in,
    rounds_more,
    rounds_theorem,
)
from eigenveil.schedules.experiment import ExperimentSchedule, experiment_schedules
from eigenveil.schedules.harmonic import HarmonicSchedule
from eigenveil.schedules.theorem import TheoremSchedule, theorem_alpha, theorem_offset, theorem_schedule

__all__ = [
    "ExperimentSchedule",
    "HarmonicSchedule",
    "TheoremSchedule",
    "batch_size_root",
    "batch_size_theorem",
    "experiment_schedules",
    "rounds_in",
    "rounds_more",
    "rounds_theorem",
    "theorem_alpha",
    "theorem_offset",
    "theorem_schedule",
]
