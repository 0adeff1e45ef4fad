"""A server of hosted turns is killed at any moment, again and again: what was taken is kept, once.

Each round a client sends new inputs and answers, until the server is gone in the middle of it; the
next server goes on. What was not answered is asked again, as a client would, under the same id.
"""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Timer

import httpx
import pytest

from tests.conftest import NewDatabase
from tests.databases import DatabaseKind
from tests.faults.hosting import (
    ENDS,
    Forking,
    Served,
    Servers,
    assert_sound,
    eventually,
    quiet,
    servers_of,
)

LONGEST_S = 1.8
WAITING = 3
SCRIPT = (
    "remember a={n}",
    'tool: add {{"a":{n},"b":1}}',
    'ask: echo {{"n":{n}}}',
    "stream: 20",
    "delay: 80 Number {n}",
    'ask: echo {{"n":{n}}}; echo {{"again":{n}}}',
)


@dataclass
class Client:
    """Somebody who talks, and answers whatever is asked, until the line is cut."""

    server: Served
    chance: Random
    said: dict[str, str] = field(default_factory=dict[str, str])
    taken: set[str] = field(default_factory=set[str])
    decided: set[str] = field(default_factory=set[str])

    def talk(self) -> None:
        """Send inputs and answers until nobody answers any more."""
        while True:
            waiting = [message_id for message_id in self.said if message_id not in self.taken]
            for message_id in waiting:
                self.send(message_id)
            self.answer()
            if self.pending() < WAITING:
                number = len(self.said)
                self.said[f"m{number}"] = self.chance.choice(SCRIPT).format(n=number)

    def pending(self) -> int:
        """Return how many inputs have no turn that is over."""
        types = Counter(self.server.types())
        return len(self.said) - sum(types[name] for name in ENDS)

    def send(self, message_id: str) -> None:
        """Send an input, to be queued if need be, until it is taken."""
        async_ = {"Prefer": "respond-async"}
        more = {"on_busy": "queue", "on_gate": "queue"}
        answer = self.server.say(
            self.said[message_id], headers=async_, message_id=message_id, **more
        )
        if answer.status_code in {200, 202}:
            self.taken.add(message_id)
        else:
            assert answer.status_code == 503, answer.text

    def answer(self) -> None:
        """Approve what waits."""
        listed = self.server.http.get("/approvals", params={"status": "open"}).json()
        for gate in listed["items"]:
            answer = self.server.decide(gate["gate_id"])
            if answer.status_code == 202:
                self.decided.add(gate["gate_id"])
            else:
                assert answer.status_code in {409, 410, 503}, answer.text


@pytest.mark.parametrize(("kind", "kills"), [("sqlite", 15), ("postgresql", 5)])
def test_what_was_taken_is_kept_and_done_once(
    forking_process: Forking,
    new_database: NewDatabase,
    tmp_path: Path,
    kind: DatabaseKind,
    kills: int,
) -> None:
    chance = Random(4711)  # noqa: S311 - it is to be the same each time
    with servers_of(forking_process, tmp_path, new_database(kind)) as servers:
        server = servers.start()
        server.open()
        client = Client(server, chance)
        for _ in range(kills):
            timer = Timer(chance.random() * LONGEST_S, server.kill)
            timer.start()
            with pytest.raises(httpx.TransportError):
                client.talk()
            timer.join()
            server = client.server = servers.start()
        finish(client)
        check(servers, client)


def finish(client: Client) -> None:
    """Send what was not taken, and answer what waits, until nothing is left."""

    def is_done() -> bool:
        for message_id in sorted(client.said.keys() - client.taken):
            client.send(message_id)
        client.answer()
        return client.said.keys() == client.taken and client.pending() == 0

    eventually(is_done, within=60)
    quiet(client.server)


def check(servers: Servers, client: Client) -> None:
    """Assert that each input is there once, and no call was made twice."""
    server = client.server
    facts = server.events()
    said = Counter(
        message["message_id"]
        for fact in facts
        if fact["type"] == "turn-started"
        for message in fact["data"]["messages"]
    )
    assert said == Counter(client.said.keys())
    decided = Counter(each["data"]["gate_id"] for each in facts if each["type"] == "gate-decided")
    assert set(decided.values()) <= {1}
    assert client.decided <= set(decided)
    used = Counter(each["data"]["gate_id"] for each in facts if each["type"] == "gate-consumed")
    assert set(used.values()) <= {1}
    made = servers.calls()
    assert {call for call, times in made.items() if times > 1} == set()
    assert_sound(servers, server)
    assert server.process()["busy"] == 0
    assert server.http.post("/sessions/s/interrupt", json={}).status_code == 204
