"""What is a HEAD request? A GET whose answer is left out, once its headers are known."""

from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Heads:
    """Answers HEAD wherever GET is answered."""

    def __init__(self, app: ASGIApp) -> None:
        self._app: Final = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; a HEAD as a GET whose client leaves after the headers."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        started = False

        async def leaving() -> Message:
            return {"type": "http.disconnect"} if started else await receive()

        async def headers_only(message: Message) -> None:
            nonlocal started
            if message["type"] != "http.response.start":
                return
            await send(message)
            await send({"type": "http.response.body", "body": b""})
            started = True

        await self._app({**scope, "method": "GET"}, leaving, headers_only)
