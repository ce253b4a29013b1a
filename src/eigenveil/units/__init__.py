"""Units: the view of the data that algorithms get, with a veil and a privacy budget."""

from eigenveil.units.units import Units
from eigenveil.units.view import PrivateUnits

__all__ = ["PrivateUnits", "Units"]
