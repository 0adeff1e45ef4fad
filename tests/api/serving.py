"""A real server on a loopback port of the system's choice, as tests start and stop it."""

import socket
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread
from time import monotonic

import httpx
import pytest

from api.serving import Server
from infrastructure.composition import Turnlog, open_turnlog
from infrastructure.settings import load
from tests.api.mortal import MortalHarnesses
from tests.databases import DatabaseKind

PATIENCE_S = 60.0
ON_ONE_DATABASE = pytest.mark.parametrize("database_kind", ["sqlite"])
"""Marks what is settled without a statement that differs between the databases."""


@dataclass(frozen=True, slots=True)
class Served:
    """A server that runs in a thread of this process, and its log."""

    url: str
    kind: DatabaseKind
    database_url: str
    log: Turnlog
    server: Server
    thread: Thread
    harnesses: MortalHarnesses

    def client(self, project_id: str) -> httpx.Client:
        """Return a client of one project; to be closed."""
        return self.browser(f"/v1/projects/{project_id}")

    def browser(self, base: str = "") -> httpx.Client:
        """Return a client of everything below `base`; to be closed."""
        # Without trust stores to read, a client is made in no time.
        return httpx.Client(base_url=f"{self.url}{base}", timeout=PATIENCE_S, verify=False)  # noqa: S501

    def ask_to_stop(self) -> None:
        """Do what the server does at the first SIGTERM."""
        self.server.should_exit = True

    def stop(self) -> None:
        """Stop, and wait until everything is let go of."""
        self.ask_to_stop()
        self.thread.join(PATIENCE_S)
        assert not self.thread.is_alive(), "the server did not stop"
        self.log.close()


def open_log(database_url: str, **settings: str) -> Turnlog:
    """Open a test database for serving; `settings` are variables without their prefix."""
    return open_turnlog(
        load(
            {
                "TURNLOG_DATABASE_URL": database_url,
                "TURNLOG_ALLOW_UNSAFE_DURABILITY": "true",
                "TURNLOG_ALLOW_UNVERIFIED_TURNS": "true",
                "TURNLOG_POOL_MEMORY_BUDGET": "off",  # what else the machine does is no matter
                **{f"TURNLOG_{name.upper()}": value for name, value in settings.items()},
            }
        )
    )


@contextmanager
def served(
    kind: DatabaseKind,
    database_url: str,
    harnesses: MortalHarnesses | None = None,
    *,
    processes: bool = False,
    **settings: str,
) -> Generator[Served]:
    """Serve a database until the end of the block; its harnesses are no processes by default."""
    log = open_log(database_url, **settings)
    harnesses = harnesses or MortalHarnesses()
    # With its protocol named, so that asyncio turns off delays that only real networks need.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    port = listener.getsockname()[1]
    run_by = None if processes else harnesses
    server = Server(log, host="127.0.0.1", port=port, harnesses=run_by)
    thread = Thread(target=server.run, kwargs={"sockets": [listener]}, name="server")
    thread.start()
    url = f"http://127.0.0.1:{port}"
    running = Served(url, kind, database_url, log, server, thread, harnesses)
    try:
        _wait_until_it_answers(running)
        yield running
    finally:
        running.stop()


def _wait_until_it_answers(running: Served) -> None:
    deadline = monotonic() + PATIENCE_S
    with running.browser() as browser:
        while browser.get("/healthz").status_code != 200:
            assert monotonic() < deadline, "the server does not answer"
