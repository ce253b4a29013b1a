"""Entry point. Answers ``--version`` and ``--help`` before importing anything slow."""

from __future__ import annotations

import sys

NO_COMMAND = 2
"""Exit code if no command is given; the same as for other usage errors."""


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
