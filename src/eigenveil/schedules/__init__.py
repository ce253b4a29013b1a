"""Step sizes, batch sizes and numbers of rounds of the paper. Spectra are public arguments.

A schedule is a callable t -> step size, with t starting at 1. The eigenvalues in a schedule are information
about the data. Pass public values, or values that were released and charged to the budget; never values
computed from the data without privacy.
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
