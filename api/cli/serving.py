"""`turnlog serve`: where does the server listen, what can be opened, and how does it end?"""

import ipaddress
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

from api.cli.failures import UNFIT, Failure
from api.cli.opening import opened
from api.cli.output import complain, say, write
from api.serving import Server
from domain.raw_json import dumped
from infrastructure.composition import Turnlog
from infrastructure.database import shown
from infrastructure.settings import load

BACKLOG: Final = 2048
Announce = Callable[[str], None]


def serve(host: str, port: int, *, as_json: bool) -> None:
    """Serve the log that the settings name until told to stop."""
    address = loopback(host)
    with opened(load()) as log, listening(address, port) as listener:
        if log.database.is_read_only():
            complain(f"{shown(log.database.url)} can be read and not written to")

        def announce(url: str) -> None:
            name = shown(log.database.url)
            if as_json:
                write(dumped({"url": url, "database": name}) + b"\n")
            else:
                say(f"turnlog serves {name}")
                say(f"  open  {url}/  (and {url}/docs for the API)")
                say(f"  type  turnlog sessions --url {url}")
                say("  stop  Ctrl-C")

        run(log, listener, announce)


def loopback(host: str) -> str:
    """Return the address to listen at.

    Raises:
        Failure: others could reach it.
    """
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        raise Failure("usage", f"--host {host} is no IP address", UNFIT) from None
    if not address.is_loopback:
        sentence = (
            f"{host} can be reached from elsewhere, and there are no keys yet that would keep "
            "others out; serve on 127.0.0.1"
        )
        raise Failure("not-loopback", sentence, UNFIT)
    return str(address)


@contextmanager
def listening(address: str, port: int) -> Generator[socket.socket]:
    """Give a socket that listens; port 0 is any that is free.

    Raises:
        Failure: the port is taken, or not ours to take.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        listener = socket.create_server((address, port), family=family, backlog=BACKLOG)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        sentence = f"cannot listen at {address} port {port}: {reason}; --port takes another"
        raise Failure("cannot-listen", sentence, UNFIT) from error
    # asyncio does so only where a socket names its protocol, which this one does not. Without it a
    # client that keeps its connection waits some 40 ms for each answer after the first.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with listener:
        yield listener


def run(log: Turnlog, listener: socket.socket, announce: Announce) -> None:
    """Serve at a socket until SIGINT or SIGTERM; what is being written is finished."""
    address, port = listener.getsockname()[:2]
    name = f"[{address}]" if ":" in address else address
    server = _Server(log, host=address, port=port)
    server.when_ready = lambda: announce(f"http://{name}:{port}")
    server.run(sockets=[listener])
    if not server.started:
        raise Failure("cannot-serve", "the server did not start", UNFIT)


class _Server(Server):
    """A server that says when it is ready, and whose end by a signal is a good one."""

    when_ready: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, then say so."""
        await super().startup(sockets=sockets)
        if self.started:
            self.when_ready()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Have signals end the server, and not, as Uvicorn would, then the process too.

        The log is still to be closed.
        """
        wanted = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self._told) for number in wanted}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _told(self, number: int, _: object) -> None:
        if self.should_exit:
            self.abandon()
        self.should_exit = True
        name = signal.Signals(number).name
        complain(f"{name}: finishing what runs; once more ends it at once")
