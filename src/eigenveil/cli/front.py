"""The front desk: what can be answered at once is, before anything that takes its time to import."""

from __future__ import annotations

import sys

NO_COMMAND = 2
"""Exit code, as for other mistakes in usage."""


def main() -> None:
    """Run the command line."""
    match sys.argv[1:]:
        case ["--version", *_]:
            import eigenveil

            sys.stdout.write(f"eigenveil {eigenveil.__version__}\n")
        case ["-h" | "--help", *_]:
            from eigenveil.cli.overview import show_overview

            show_overview()
        case []:
            from eigenveil.cli.overview import show_overview

            show_overview()
            sys.exit(NO_COMMAND)
        case _:
            from eigenveil.cli.app import run

            run()
