"""The command `eigenveil`: private components from files, without Python. A thin shell over the other rooms."""

from eigenveil.cli.front import main

__all__ = ["main"]
