"""What algorithms see of the data: units under a veil, with a budget."""

from eigenveil.units.units import Units
from eigenveil.units.view import PrivateUnits

__all__ = ["PrivateUnits", "Units"]
