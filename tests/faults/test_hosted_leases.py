"""A server keeps the turn that it runs, however long it takes, as long as it is heard of."""

import signal
from threading import Event

from tests.faults.hosting import Served, Servers, assert_sound, eventually, is_alive

LEASE_S = 2
LOOK_S = 5
"""How often a server looks for leases that ended."""


def held_up(server: Served, seconds: float) -> None:
    """Stop a process for so long, and let it go on."""
    server.signal(signal.SIGSTOP)
    Event().wait(seconds)
    server.signal(signal.SIGCONT)


def test_a_call_that_takes_longer_than_the_lease_is_made_once(servers: Servers) -> None:
    a, b = (servers.start(harness_lease_s=LEASE_S) for _ in range(2))
    a.open()

    turn = a.said('tool: wait {"ms":9000}')

    assert turn["status"] == "completed"
    assert list(servers.calls().values()) == [1]
    assert "turn-interrupted" not in b.types()
    assert_sound(servers, a)


def test_a_server_that_was_held_up_loses_its_turn_and_writes_nothing_more(
    servers: Servers,
) -> None:
    a, b = (servers.start(harness_lease_s=LEASE_S) for _ in range(2))
    a.open()
    silent = a.begun("tool: wait {}")
    a.open("speaking")
    speaking = a.begun("delay: 3000 Hear me", "speaking")
    eventually(lambda: "tool-call-requested" in a.types())
    agents = a.agents()

    a.signal(signal.SIGSTOP)
    try:
        lost = b.over(silent, within=LEASE_S + 2 * LOOK_S + 20)
        also = b.over(speaking, "speaking", within=2 * LOOK_S + 20)
        next_one = b.said("Hello")
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
