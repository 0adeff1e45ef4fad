"""Does a request to this machine come from this machine, or from a page of somebody else's?

Without keys, whoever reaches the loopback address may read and write. A browser reaches it too, on
behalf of any page: by a foreign name that resolves here (the `Host` tells), or by a form or script
of another site (the `Origin` tells). Neither is answered.
"""

from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from api.errors import response
from api.problems import ProblemError

NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class Neighbours:
    """Lets through what was sent to this machine's own names, by pages of its own if by pages."""

    def __init__(self, app: ASGIApp) -> None:
        self._app: Final = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer why not."""
        problem = _strange(Headers(scope=scope)) if scope["type"] == "http" else None
        if problem is None:
            await self._app(scope, receive, send)
        else:
            await response(problem)(scope, receive, send)


def _strange(headers: Headers) -> ProblemError | None:
    if _name(f"//{headers.get('host', '')}") not in NAMES:
        return ProblemError("misdirected-request", "the request names another host than this one")
    origin = headers.get("origin")
    if origin is not None and _name(origin) not in NAMES:
        return ProblemError("foreign-origin", "a page of another site sent this request")
    return None


def _name(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
