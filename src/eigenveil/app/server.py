"""The local server: bound to 127.0.0.1, with a random port and a random token."""

from __future__ import annotations

import contextlib
import socket
import webbrowser
from collections.abc import Callable
from urllib.parse import urlencode

import uvicorn

from eigenveil.app.files import columns_of
from eigenveil.app.guard import Guard
from eigenveil.app.pages import Pages


def serve(data: str | None, *, port: int, browser: bool, say: Callable[[str], object]) -> None:
    """Serve the page until Ctrl-C.

    Parameters
    ----------
    data : str, optional
        File to begin with.
    port : int
        Port to listen on; 0 for any free port.
    browser : bool
        Whether to open a browser.
    say : callable
        Prints a message.
    """
    start = "/" if data is None else f"/settings?{urlencode({'data': columns_of(data).path})}"
    with socket.create_server(("127.0.0.1", port)) as listening:
        own = f"http://127.0.0.1:{listening.getsockname()[1]}"
        guard = Guard(Pages().application(), port=listening.getsockname()[1], start=start)
        say(f"Open this address in a browser on this machine: {own}/?token={guard.token}")
        say("Stop with Ctrl-C.")
        config = uvicorn.Config(
            guard,
            access_log=False,  # addresses contain paths
            log_level="warning",
            lifespan="off",
            ws="none",
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        if browser:
            webbrowser.open(f"{own}/?token={guard.single_use}")
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])
