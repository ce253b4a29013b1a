"""Implementation of ``eigenveil app``: a local web page to plan and run a fit."""

from __future__ import annotations

from eigenveil.cli.console import say
from eigenveil.errors import MissingExtraError


def run(
    *,
    data: str | None,
    port: int,
    browser: bool,
) -> None:
    """Run ``eigenveil app``."""
    try:
        from eigenveil.app.server import serve  # noqa: PLC0415  # needs an optional extra
    except ModuleNotFoundError as missing:
        raise MissingExtraError(
            f"`eigenveil app` needs {missing.name}, which is not installed.", hint="pip install 'eigenveil[app]'"
        ) from missing
    serve(data, port=port, browser=browser, say=say)
