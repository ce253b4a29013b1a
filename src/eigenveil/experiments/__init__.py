"""Reproduction of the paper's figures: one short file per figure, one runner, one writer, and no algorithms.

Every fit is seeded, so that figures can be reproduced to the last digit. Seeds are for experiments only: anyone
who knows the seed can subtract the noise, so the ledger of every fit is marked as not private. The data are
synthetic, so nobody is harmed.
"""

from eigenveil._extras import matplotlib  # noqa: F401  # if missing, the error names the extra
from eigenveil.experiments.figure import Figure
from eigenveil.experiments.figures import FIGURES
from eigenveil.experiments.methods import METHODS, Method
from eigenveil.experiments.reproduce import Run, redraw, reproduce, write_claims
from eigenveil.experiments.setting import Setting

__all__ = ["FIGURES", "METHODS", "Figure", "Method", "Run", "Setting", "redraw", "reproduce", "write_claims"]
