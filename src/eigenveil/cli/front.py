"""Entry point. Answers ``--version`` and ``--help`` before importing anything slow."""

from __future__ import annotations

import sys

from eigenveil.errors import MissingExtraError

FAILED, NO_COMMAND = 1, 2
"""Exit codes if the extra `cli` is not installed, and if no command is given (as for other usage errors)."""


def main() -> None:
    """Run the command line."""
    if sys.argv[1:2] == ["--version"]:
        import eigenveil

        sys.stdout.write(f"eigenveil {eigenveil.__version__}\n")
        return
    try:
        _answer(sys.argv[1:])
    except MissingExtraError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(FAILED)


def _answer(words: list[str]) -> None:
    from eigenveil._extras import rich  # noqa: F401

    if not words or words[0] in ("-h", "--help"):
        from eigenveil.cli.overview import show_overview

        show_overview()
        if not words:
            sys.exit(NO_COMMAND)
    else:
        from eigenveil._extras import typer  # noqa: F401
        from eigenveil.cli.app import run

        run()
