"""Models on disk: numbers in safetensors, the rest in JSON; nothing in them is ever run."""

from eigenveil.persistence.keeping import load, save

__all__ = ["load", "save"]
