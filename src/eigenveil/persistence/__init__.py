"""Save and load models: arrays in safetensors, everything else in JSON. Loading never executes code."""

from eigenveil.persistence.models import load, save

__all__ = ["load", "save"]
