"""Save and load models: arrays in safetensors, everything else in JSON. Loading never executes code."""

from eigenveil.persistence.keeping import load, save

__all__ = ["load", "save"]
