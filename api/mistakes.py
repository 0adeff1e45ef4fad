"""What happens when a request meets a defect of ours, or its client is gone?

The outermost edge. A defect is logged by its kind and its place, never by its message, which could
hold what was said; the answer names the log's entry.
"""

import logging
from traceback import extract_tb
from typing import Final
from uuid import uuid4

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.errors import response
from api.problems import ProblemError

_LOGGER: Final = logging.getLogger("turnlog")


class Mistakes:
    """Answers what nothing else has answered."""

    def __init__(self, app: ASGIApp) -> None:
        self._app: Final = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; see to it that whatever happens is an answer."""
        started = False

        async def noted(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except ClientDisconnect:
            return
        except Exception as error:  # noqa: BLE001 - the edge of the process
            problem = _logged(error)
            if (
                not started
            ):  # else the server hangs up, and the client sees that something is missing
                await response(problem)(scope, receive, send)


def _logged(error: Exception) -> ProblemError:
    request_id = uuid4().hex
    place = " < ".join(
        f"{frame.filename}:{frame.lineno}" for frame in reversed(extract_tb(error.__traceback__))
    )
    _LOGGER.error("request %s: %s at %s", request_id, type(error).__qualname__, place)
    detail = "the request met a defect of turnlog"
    return ProblemError("internal-error", detail, extra={"request_id": request_id})
