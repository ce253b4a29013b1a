"""The paper's figures again: one thin file each, one runner, one writer. No algorithm lives here.

Every fit is seeded, so that a figure can be made again to the last digit. Seeds are for experiments only: whoever
knows one can take the noise off, and the ledger of every fit here says so. The data are synthetic, so nobody is
harmed.
"""

from eigenveil.experiments.figure import Figure
from eigenveil.experiments.figures import FIGURES
from eigenveil.experiments.methods import METHODS, Method
from eigenveil.experiments.reproduce import Run, reproduce, write_claims
from eigenveil.experiments.setting import Setting

__all__ = ["FIGURES", "METHODS", "Figure", "Method", "Run", "Setting", "reproduce", "write_claims"]
