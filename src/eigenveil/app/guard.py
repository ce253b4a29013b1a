"""Access control: only the browser that opened the address with the token may use the server.

1. The Host header must be this server's own. A foreign name that is made to point to 127.0.0.1 (DNS rebinding) is
   refused.
2. The first address contains a secret token. It is exchanged for a cookie that scripts cannot read and that
   browsers do not send with requests from other sites. All other requests need the cookie.
3. Requests that change something must come from a page of this server (Origin, or Referer).
4. Pages load nothing but files of this server, run no inline scripts, and are never cached or framed elsewhere.
"""

from __future__ import annotations

import hmac
import secrets
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "style-src-attr 'unsafe-inline'; connect-src 'self'; img-src 'self'; frame-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",  # matplotlib writes style attributes into SVG
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
_SAFE = ("GET", "HEAD")
_ENTRANCE = '<!doctype html><html lang="en"><title>eigenveil</title><link rel="icon" href="/static/icon.svg">'


class Guard:
    """ASGI application that refuses foreign requests to another one.

    Parameters
    ----------
    app : ASGI application
        The application to protect.
    port : int
        Port of this server.
    start : str
        Path and query of the first page.

    Attributes
    ----------
    token : str
        Secret in the address that the user opens.
    single_use : str
        Another secret that works once. The address that is passed to a browser on its command line has this one,
        because other users of the machine can list the command lines of processes.
    """

    def __init__(self, app: ASGIApp, *, port: int, start: str = "/") -> None:
        self._app, self._start = app, start
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._cookie = f"eigenveil-{port}"  # browsers send cookies to all ports of a host
        self._session = secrets.token_urlsafe(32)
        self.token = secrets.token_urlsafe(32)
        self.single_use: str | None = secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._answer(Request(scope)) or self._app
        await answer(scope, receive, send_with_headers)

    def _answer(self, request: Request) -> Response | None:
        """Return a refusal, or the answer to the first address; None if the request may pass."""
        if request.headers.get("host", "") not in self._hosts:
            return _refuse(421, "this server answers to 127.0.0.1 and localhost only.")
        if request.method not in _SAFE and not self._own_page(request):
            return _refuse(403, "the request does not come from a page of this server.")
        if request.url.path == "/" and "token" in request.query_params:
            return self._enter(request.query_params["token"])
        if not _same(request.cookies.get(self._cookie, ""), self._session):
            return _refuse(403, "open the address that `eigenveil app` printed in the terminal.")
        return None

    def _own_page(self, request: Request) -> bool:
        origin = request.headers.get("origin") or _origin(request.headers.get("referer", ""))
        return origin == f"http://{request.headers['host']}"

    def _enter(self, token: str) -> Response:
        """Exchange the token for a cookie, and continue at the first page."""
        if self.single_use is not None and _same(token, self.single_use):
            self.single_use = None
        elif not _same(token, self.token):
            return _refuse(
                403,
                "this token is wrong, or has been used. Open the address that `eigenveil app` printed. If you see "
                "this in the browser that it opened, someone else has used that address: stop the program.",
            )
        # not a redirect: after a link from elsewhere, browsers would follow it without the cookie
        answer = HTMLResponse(_ENTRANCE, headers={"Refresh": f"0; url={self._start}"})
        answer.set_cookie(self._cookie, self._session, httponly=True, samesite="strict")
        return answer


def _same(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode(), secret.encode())


def _origin(address: str) -> str:
    try:
        parts = urlsplit(address)
    except ValueError:  # brackets that are not closed
        return ""
    return f"{parts.scheme}://{parts.netloc}"


def _refuse(status: int, reason: str) -> Response:
    return PlainTextResponse(f"Refused: {reason}\n", status_code=status)
