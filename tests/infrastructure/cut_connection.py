"""A wire to PostgreSQL that breaks at the worst moment: after the commit, before its answer."""

import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

from sqlalchemy import URL, make_url

COMMITTED = b"COMMIT\x00"  # how the server says that a commit is done
CHUNK = 65536


@dataclass
class Wire:
    """Relays connections to the server; `cut_after_commit` arms the next commit."""

    server: URL
    listener: socket.socket
    armed: Event = field(default_factory=Event)
    was_cut: Event = field(default_factory=Event)

    def cut_after_commit(self) -> None:
        """Lose the answer of the next commit, and the connection with it."""
        self.armed.set()

    def accept(self) -> None:
        """Relay connections until the listener is closed."""
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = self._connect()
            for relay in (self._up, self._down):
                Thread(target=relay, args=(client, server), daemon=True).start()

    def _connect(self) -> socket.socket:
        host = self.server.host or str(self.server.query.get("host", "localhost"))
        port = self.server.port or 5432
        if not host.startswith("/"):
            return socket.create_connection((host, port))
        server = socket.socket(socket.AF_UNIX)
        server.connect(f"{host}/.s.PGSQL.{port}")
        return server

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := receive(client):
                server.sendall(data)
        hang_up(client, server)

    def _down(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := receive(server):
                if self.armed.is_set() and COMMITTED in data:
                    self.armed.clear()
                    self.was_cut.set()
                    break
                client.sendall(data)
        hang_up(client, server)


def receive(end: socket.socket) -> bytes:
    """Return what came, or nothing once the connection is gone."""
    try:
        return end.recv(CHUNK)
    except OSError:
        return b""


def hang_up(*ends: socket.socket) -> None:
    """Close connections, whoever closed them before."""
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


@contextmanager
def wire_to(url: str, directory: Path) -> Generator[tuple[str, Wire]]:
    """Give a URL that leads to the same database over a wire that can be cut."""
    server = make_url(url)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(directory / ".s.PGSQL.5432"))
        listener.listen()
        wire = Wire(server, listener)
        Thread(target=wire.accept, daemon=True).start()
        over = server.set(host=None, port=None, query={"host": str(directory), "port": "5432"})
        yield over.render_as_string(hide_password=False), wire
        listener.shutdown(socket.SHUT_RDWR)
