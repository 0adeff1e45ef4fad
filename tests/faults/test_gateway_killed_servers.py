"""A gateway whose server is killed again and again: each message is there once, in its place.

Like real ones it delivers what was not acknowledged again, and sometimes what was: as long as it
takes, to whichever server there is. Some of what people type begins a new session.
"""

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event

import httpx

from infrastructure.rebuilding import rebuild
from infrastructure.verification import verify_all
from tests.api.batches import Json, events_of
from tests.faults.hosting import ASYNC, Servers, eventually
from tests.infrastructure.writing import opened

CHATS = 3
KILLS = 3
MESSAGES = 8
RESET_AT = (3, 6)
AGAIN = (2, 5)
"""Of these an acknowledgement is lost on its way."""
CODES = {200, 202}


@dataclass
class Gateway:
    """What knows which server there is now."""

    now: httpx.Client
    pause: Event = field(default_factory=Event)

    def deliver(self, path: str, body: Json) -> Json:
        """Deliver until it is acknowledged."""
        while True:
            try:
                answer = self.now.post(path, json=body, headers=ASYNC)
            except httpx.TransportError:
                self.pause.wait(0.05)
                continue
            if answer.status_code in CODES:
                found: Json = answer.json()
                return found
            assert answer.status_code == 503, answer.text
            self.pause.wait(0.05)


def chat_of(name: str) -> Json:
    return {"platform": "telegram", "chat_type": "group", "chat_id": name, "user_id": "u"}


def talk(gateway: Gateway, name: str) -> str:
    """Say everything in one chat, in order; return its lane."""
    lane = ""
    for number in range(1, MESSAGES + 1):
        body = {
            "source": chat_of(name) | {"message_id": f"m{number}"},
            "text": f"{name} {number}",
            "on_busy": "queue",
        }
        said = gateway.deliver("/lanes/messages", body)
        lane = said["lane_id"]
        if number in AGAIN:
            assert gateway.deliver("/lanes/messages", body)["session_id"] == said["session_id"]
        if number in RESET_AT:
            reset = {"message_id": f"r{number}"}
            told = [gateway.deliver(f"/lanes/{lane}/reset", reset) for _ in range(2)]
            assert told[0]["session_id"] == told[1]["session_id"]
    return lane


def test_a_gateway_of_killed_servers_loses_nothing_and_says_nothing_twice(
    servers: Servers, database_url: str
) -> None:
    server = servers.start()
    gateway = Gateway(server.http)
    chosen = random.Random(11)  # noqa: S311 - when it is killed
    with ThreadPoolExecutor(CHATS) as threads:
        names = [f"-{number}" for number in range(CHATS)]
        talks = [threads.submit(talk, gateway, name) for name in names]
        for _ in range(KILLS):
            gateway.pause.wait(chosen.uniform(0.2, 0.8))
            server.kill()
            server = servers.start()
            gateway.now = server.http
        lanes = [each.result() for each in talks]

    for name, lane in zip(names, lanes, strict=True):
        bound = server.http.get(f"/lanes/{lane}/sessions").json()["items"]
        sessions = [each["session_id"] for each in reversed(bound)]
        assert len(sessions) == 1 + len(RESET_AT)
        assert [each["current"] for each in bound].count(True) == 1
        eventually(lambda: server.http.get(f"/lanes/{lane}/queue").json()["items"] == [])  # noqa: B023
        said: list[str] = []
        recalled = Counter[str]()
        for session_id in sessions:
            for each in events_of(server.http, session_id):
                if each["type"] == "turn-started":
                    said += [m["content"] for m in each["data"]["messages"]]
                recalled[each["type"]] += 1
        assert len(said) == len(set(said)), "nothing is said twice"
        in_order = [f"{name} {number}" for number in range(1, MESSAGES + 1)]
        assert said == [text for text in in_order if text in said]
        lost = len(in_order) - len(said)
        assert lost == recalled["input-recalled"], "what is not said was taken back by a reset"
    with opened(database_url) as store:
        assert all(each.ok for each in verify_all(store.database))
        assert rebuild(store.database, store.runner, check_only=True).differences == ()
