"""What does a piece of work cost a database, as the database sees it?

On SQLite every statement that is executed is traced. On PostgreSQL a relay reads along what goes
over the wire: a statement is a command that the server completed, a round trip is a message after
which a client waits (Sync, Flush, or a simple query), unless all that it waits for is a statement
prepared for later. What ends or begins a transaction is no statement, and a commit is one that has
something to make durable.
"""

import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Thread
from typing import Any, NamedTuple

from sqlalchemy import event, make_url
from sqlalchemy.pool import Pool

from tests.databases import DatabaseKind
from tests.infrastructure.cut_connection import hang_up, receive

LENGTH = 4
SIMPLE_QUERY = b"Q"
AWAITS = b"SH"  # Sync, and Flush of a pipeline that goes on
PREPARES = b"PC"  # Parse, and Close of one that is not needed any more
COMPLETED = b"C"
CONTROL = ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE")
READS = ("SELECT", "SHOW", "SET", "PRAGMA", "WITH", "FETCH")


class Cost(NamedTuple):
    """What was executed; `trips` is 0 where there is no wire."""

    statements: int = 0
    trips: int = 0
    commits: int = 0


class Budget(NamedTuple):
    """Statements on each database; round trips to PostgreSQL; commits, alike on both."""

    sqlite: int
    postgresql: int
    trips: int
    commits: int

    def of(self, kind: DatabaseKind) -> Cost:
        """Return it as one database has it."""
        if kind == "sqlite":
            return Cost(self.sqlite, 0, self.commits)
        return Cost(self.postgresql, self.trips, self.commits)


@dataclass(slots=True)
class Meter:
    """Counts from `reset` on, whichever connections are used."""

    cost: Cost
    _lock: Lock

    def reset(self) -> None:
        """Begin anew."""
        with self._lock:
            self.cost = Cost()

    def add(self, statements: int = 0, trips: int = 0, commits: int = 0) -> None:
        """Count further."""
        with self._lock:
            before = self.cost
            self.cost = Cost(
                before.statements + statements, before.trips + trips, before.commits + commits
            )


class Transactions:
    """Tells the statements of one connection from what begins and ends its transactions."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._wrote = False

    def executed(self, command: str) -> None:
        """Count one command, of which the first word is enough."""
        word = command.split(None, 1)[0].upper() if command.strip() else ""
        if word not in CONTROL:
            self._meter.add(statements=1)
            self._wrote |= word not in READS
            return
        if word == "COMMIT":
            self._meter.add(commits=self._wrote)
        if word not in {"SAVEPOINT", "RELEASE"}:
            self._wrote = False


@contextmanager
def metered(url: str, directory: Path) -> Generator[tuple[str, Meter]]:
    """Give a URL that leads to the same database, and what is executed there through it."""
    meter = Meter(Cost(), Lock())
    if make_url(url).get_backend_name() == "sqlite":
        with _traced(meter):
            yield url, meter
        return
    with _relayed(url, directory, meter) as relayed:
        yield relayed, meter


@contextmanager
def _traced(meter: Meter) -> Generator[None]:
    def connected(connection: Any, _: object) -> None:  # noqa: ANN401 - the driver's own
        transactions = Transactions(meter)

        def executed(statement: str) -> None:
            if not statement.startswith("--"):  # what a trigger does
                transactions.executed(statement)

        connection.set_trace_callback(executed)

    event.listen(Pool, "connect", connected)
    try:
        yield
    finally:
        event.remove(Pool, "connect", connected)


@contextmanager
def _relayed(url: str, directory: Path, meter: Meter) -> Generator[str]:
    server = make_url(url)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(directory / ".s.PGSQL.5432"))
        listener.listen()

        def accept() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                host = server.host or str(server.query.get("host", "localhost"))
                upstream = _connect(host, server.port or 5432)
                for relay in (_up, _down):
                    Thread(target=relay, args=(client, upstream, meter), daemon=True).start()

        Thread(target=accept, daemon=True).start()
        over = server.set(host=None, port=None, query={"host": str(directory), "port": "5432"})
        yield over.render_as_string(hide_password=False)
        listener.shutdown(socket.SHUT_RDWR)


def _connect(host: str, port: int) -> socket.socket:
    if not host.startswith("/"):
        return socket.create_connection((host, port))
    upstream = socket.socket(socket.AF_UNIX)
    upstream.connect(f"{host}/.s.PGSQL.{port}")
    return upstream


def _up(client: socket.socket, upstream: socket.socket, meter: Meter) -> None:
    messages = _Messages(b"\x00")  # the first one, which asks for the connection, has no type
    works = False
    with suppress(OSError):
        while data := receive(client):
            for type_, _ in messages.take(data):
                if type_ in AWAITS:
                    meter.add(trips=works)
                    works = False
                else:
                    meter.add(trips=type_ == SIMPLE_QUERY)
                    works |= type_ not in PREPARES
            upstream.sendall(data)
    hang_up(client, upstream)


def _down(client: socket.socket, upstream: socket.socket, meter: Meter) -> None:
    messages = _Messages()
    transactions = Transactions(meter)
    with suppress(OSError):
        while data := receive(upstream):
            for type_, body in messages.take(data):
                if type_ in COMPLETED:
                    transactions.executed(body.decode("ascii").rstrip("\x00"))
            client.sendall(data)
    hang_up(client, upstream)


class _Messages:
    """Takes a stream of the PostgreSQL protocol apart."""

    def __init__(self, before: bytes = b"") -> None:
        self._rest = bytearray(before)

    def take(self, data: bytes) -> Generator[tuple[bytes, bytes]]:
        """Yield the type and the body of each message that is complete by now."""
        self._rest += data
        while len(self._rest) > LENGTH:
            end = 1 + int.from_bytes(self._rest[1 : 1 + LENGTH])
            if len(self._rest) < end:
                return
            yield bytes(self._rest[:1]), bytes(self._rest[1 + LENGTH : end])
            del self._rest[:end]
