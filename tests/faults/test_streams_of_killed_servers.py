"""A stream whose server is killed goes on at another server, without a gap and without a copy."""

import os
import signal
from contextlib import suppress

import httpx

from tests.api.batches import append, batch, event
from tests.api.streams import Frame, frames, until_synced
from tests.faults.forked import Forked, client_of

STREAMS = ("/sessions/s/events/stream", "/events/stream")
BATCHES = 8
EVENTS = 5


def write(client: httpx.Client, number: int) -> None:
    notes = [event("data-recorded", kind="k", data=[number, n]) for n in range(EVENTS)]
    assert append(client, "s", batch(number, *notes)).status_code == 201


def told_until_the_end(response: httpx.Response) -> list[Frame]:
    """Return the events that came whole before the server was gone."""
    found: list[Frame] = []
    with suppress(httpx.HTTPError):
        for frame in frames(response.iter_bytes()):
            found += [frame] if frame.name == "event" else []
    return found


def test_a_killed_servers_streams_go_on_elsewhere(processes: Forked) -> None:
    pid, port = processes.start("serve")
    _, other = processes.start("serve")
    with client_of(port) as killed, client_of(other) as client:
        for number in range(1, BATCHES // 2 + 1):
            write(client, number)
        with (
            killed.stream("GET", STREAMS[0]) as one,
            client_of(port) as second,
            second.stream("GET", STREAMS[1]) as two,
        ):
            for number in range(BATCHES // 2 + 1, BATCHES):
                write(client, number)
            os.kill(pid, signal.SIGKILL)
            told = dict(zip(STREAMS, map(told_until_the_end, (one, two)), strict=True))
        write(client, BATCHES)
        for path, found in told.items():
            last = {"Last-Event-ID": str(found[-1].id)} if found else {}
            with client.stream("GET", path, headers=last) as response:
                found += [each for each in until_synced(frames(response.iter_bytes())) if each.name]
            versions = [frame.json["version"] for frame in found]
            assert versions == list(range(1, BATCHES * EVENTS + 2)), path
