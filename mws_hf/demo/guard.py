"""The requests that the page's server answers: its own page's alone. ASGI middleware that stands before Gradio.

A page on one's own machine can be asked by any web page that the browser shows (a form posted to 127.0.0.1, a name that
resolves to it). So a request must name this server as its Host, come from the page itself or from no page (Origin),
post only to the addresses that the page posts to, and be small. Files are never taken.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

LOCAL = ("127.0.0.1", "localhost", "::1")
"""Names of this machine that no other server can have."""
EVERYWHERE = ("0.0.0.0", "::", "")
"""What a server listens on that answers on every address of the machine."""
MOST_BYTES = 8_000_000
"""Bytes of a request; a text of two million characters is at most as long."""
_POSTED = ("/queue/join", "/cancel", "/reset")
_POLICY = (
    b"default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; "
    b"object-src 'none'; base-uri 'self'; form-action 'self'"
)
_UNFRAMED = b"; frame-ancestors 'self'"


class Guard:
    """A filter that refuses requests the page itself never makes, and tells the browser to ask no other server.

    Args:
        app: the ASGI application behind it.
        host: the address served on. The server answers to this address and the names of this machine, and to any name
            where it was asked to listen everywhere (a Space, whose page is also shown inside another).
    """

    def __init__(self, app: Any, host: str) -> None:
        everywhere = host in EVERYWHERE
        self._app = app
        self._hosts = None if everywhere else {*LOCAL, host.lower()}
        self._header = (b"content-security-policy", _POLICY if everywhere else _POLICY + _UNFRAMED)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request in the form of ASGI."""

        async def guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), self._header]}
            await send(message)

        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] != "http":
            await self._app(scope, receive, send)
        elif refused := refusal(scope, self._hosts):
            await _refuse(send, *refused)
        else:
            await self._app(scope, receive, guarded)


def refusal(scope: Any, hosts: Collection[str] | None) -> tuple[int, str] | None:
    """Give the reason why a request is not answered, as an HTTP status and a sentence; None where it is answered.

    Args:
        scope: ASGI's scope of an HTTP request.
        hosts: names to answer to; None for any.

    >>> scope = {"method": "GET", "path": "/", "headers": [(b"host", b"evil.example:7860")]}
    >>> refusal(scope, LOCAL)
    (403, 'this page is served to its own machine alone')
    """
    headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
    host, origin = headers.get(b"host", "").lower(), headers.get(b"origin")
    own = {host} if hosts is not None else {host, headers.get(b"x-forwarded-host", host).lower()}  # behind a proxy
    if hosts is not None and _name(host) not in hosts:
        return 403, "this page is served to its own machine alone"
    if origin is not None and _place(origin) not in own:
        return 403, "another web page may not use this one"
    if scope["method"] not in ("GET", "HEAD"):
        posted = scope["method"] == "POST" and scope["path"].rstrip("/").endswith(_POSTED)
        if not posted or not headers.get(b"content-type", "").startswith("application/json"):
            return 403, "the page takes text that is typed into it, and no files"
        length = headers.get(b"content-length", "")  # the server lets no more through
        if not length.isdecimal() or len(length) > 9 or int(length) > MOST_BYTES:
            return 413, f"the page takes at most {MOST_BYTES:,} bytes at once"
    return None


def _name(host: str) -> str:
    """Return the name in a Host header, without its port; "" for none."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _place(origin: str) -> str:
    """Return the host and port of an Origin header; "" where it is no address."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


async def _refuse(send: Any, status: int, why: str) -> None:
    body = why.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    headers.append((b"connection", b"close"))  # what was sent is not read
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
