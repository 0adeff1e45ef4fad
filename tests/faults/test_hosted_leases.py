"""A server keeps the turn that it runs, however long it takes, as long as it is heard of."""

import signal
import sqlite3
from contextlib import closing
from threading import Event
from time import monotonic

from sqlalchemy import create_engine, make_url, text
from sqlalchemy.exc import OperationalError

from tests.faults.forked import LOOK_S
from tests.faults.hosting import Served, Servers, assert_sound, eventually, is_alive

LEASE_S = 2
SPEAKS_MS = 5_000
"""Long enough to stop a server before it; it is not stopped for less."""
LONGER_S = 4
"""A server whose machine is busy with other things may come late, by less than that."""


def stop_between_commits(servers: Servers, server: Served) -> None:
    """Stop a process while it holds no lock of the database, which nobody else could take then."""
    server.stop()
    while not is_free(servers.database_url):
        server.signal(signal.SIGCONT)
        Event().wait(0.01)
        server.stop()


def is_free(url: str) -> bool:
    """Tell whether leases can be written."""
    made = make_url(url)
    if made.get_backend_name() == "sqlite":
        with closing(sqlite3.connect(str(made.database), timeout=0.5)) as held:
            try:
                held.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return False
            return True
    engine = create_engine(made)
    try:
        with engine.begin() as connection:
            connection.execute(text("SELECT 1 FROM heads, runs FOR UPDATE NOWAIT"))
    except OperationalError:
        return False
    finally:
        engine.dispose()
    return True


def held_up(server: Served, seconds: float) -> None:
    """Stop a process for so long, and let it go on."""
    server.stop()
    Event().wait(seconds)
    server.signal(signal.SIGCONT)


def test_a_call_that_takes_longer_than_the_lease_is_made_once(servers: Servers) -> None:
    a, b = (servers.start(harness_lease_s=LONGER_S) for _ in range(2))
    a.open()

    turn = a.said('tool: wait {"ms":7000}')

    assert turn["status"] == "completed"
    assert list(servers.calls().values()) == [1]
    assert "turn-interrupted" not in b.types()
    assert_sound(servers, a)


def test_a_server_that_was_held_up_loses_its_turn_and_writes_nothing_more(
    servers: Servers,
) -> None:
    a, b = (servers.start(harness_lease_s=LEASE_S) for _ in range(2))
    a.open()
    a.open("speaking")
    silent = a.begun("tool: wait {}")
    eventually(lambda: "tool-call-requested" in a.types())
    # Last: it is to speak while a is stopped.
    speaking = a.begun(f"delay: {SPEAKS_MS} Hear me", "speaking")
    spoken = monotonic() + SPEAKS_MS / 1000 + LOOK_S
    agents = eventually(a.agents, lambda found: len(found) == 2)

    stop_between_commits(servers, a)
    try:
        lost = b.over(silent)
        also = b.over(speaking, "speaking")
        next_one = b.said("Hello")
        eventually(lambda: monotonic() > spoken)
    finally:
        a.signal(signal.SIGCONT)

    assert (lost["status"], lost["reason"]) == ("interrupted", "owner-lost")
    assert also["reason"] == "owner-lost"
    assert next_one["status"] == "completed"
    assert next_one["path"] in {"cold", "evicted"}
    eventually(lambda: [pid for pid in agents if is_alive(pid)], lambda left: not left)
    eventually(a.process, lambda told: told["busy"] == 0)
    assert a.said("Hello")["status"] == "completed"
    assert not [text for text in a.texts("speaking") if "Message" in text]
    assert_sound(servers, a, "s", "speaking")


def test_a_server_that_is_alone_goes_on_after_it_was_held_up(servers: Servers) -> None:
    server = servers.start(harness_lease_s=LEASE_S)
    server.open()
    turn_id = server.begun('tool: wait {"ms":2000}')
    eventually(lambda: "tool-call-requested" in server.types())

    held_up(server, LEASE_S + 2 * LOOK_S + 1)

    assert server.over(turn_id)["status"] == "completed"
    assert_sound(servers, server)
