"""How is the application served over HTTP, and how does it stop?

Streams end and what comes is refused at once, while what came before is still answered; what runs
may end until the grace is over. Then nobody is listened to any more, and the harnesses are let go.
What the server refuses by itself is a problem document too.
"""

import os
from socket import socket
from typing import Final, NoReturn

import h11
from uvicorn import Config
from uvicorn import Server as Uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from api.app import create_app
from api.problems import MEDIA_TYPE, ProblemError
from infrastructure.composition import Turnlog
from infrastructure.harness.port import Harnesses
from infrastructure.harness.reaping import kill_marked
from infrastructure.hosting.attending_places import HOST
from infrastructure.hosting.hosts import Hosting

HEADERS_LIMIT: Final = 64 * 1024
GRACE_S: Final = 10
FORCED: Final = 1
"""How a process ends that was told a second time to stop."""


class Server(Uvicorn):
    """Serves one log until it is told to stop; then streams end, and what runs is finished."""

    def __init__(
        self, log: Turnlog, *, host: str, port: int, harnesses: Harnesses | None = None
    ) -> None:
        """Take what is served; `harnesses` run turns in place of those of the settings."""
        self._log: Final = log
        self._app: Final = create_app(log, harnesses)
        config = Config(
            self._app,
            host=host,
            port=port,
            http=Protocol,
            ws="none",
            log_config=None,
            access_log=False,  # a query can hold words of a title
            server_header=False,
            timeout_graceful_shutdown=GRACE_S,
            h11_max_incomplete_event_size=HEADERS_LIMIT,
        )
        super().__init__(config)

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Have streams end, wait for the turns that run as long as was set, then let all go."""
        self._log.stop()
        hosting = self._app.state.hosting
        if isinstance(hosting, Hosting):
            await hosting.launching.drain()
        await super().shutdown(sockets=sockets)

    def abandon(self) -> NoReturn:
        """End the process at once, as if it were killed, and its harnesses with it.

        What is committed stays; the next server ends the turns that ran.
        """
        hosting = self._app.state.hosting
        if isinstance(hosting, Hosting):
            kill_marked(hosting.owner.removeprefix(HOST))
        os._exit(FORCED)


class Protocol(H11Protocol):
    """Uvicorn's HTTP/1.1, which tells what is no HTTP as a problem."""

    def send_400_response(self, msg: str) -> None:
        """Answer a request that could not be read, and hang up."""
        _ = msg
        problem = ProblemError("malformed-request", "the request is no HTTP that can be read")
        events: list[h11.Event] = [
            h11.Response(
                status_code=problem.type.status,
                headers=[("content-type", MEDIA_TYPE), ("connection", "close")],
                reason="Bad Request",
            ),
            h11.Data(data=problem.body()),
            h11.EndOfMessage(),
        ]
        for event in events:
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
