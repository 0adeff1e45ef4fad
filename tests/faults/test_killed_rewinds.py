"""A rewind is there with the turn that it came with, or neither is, whoever is killed when."""

import os
import signal
from random import Random
from threading import Event, Thread

import httpx

from infrastructure.rebuilding import rebuild
from tests.api.batches import append, batch, events_of, started, turn
from tests.faults.forked import Forked, client_of
from tests.infrastructure.writing import opened

KILLS = 8
LATEST_S = 0.05


def edit_until_killed(port: int, sequence: int, promised: list[int]) -> None:
    """Take the last turn's place again and again; note what was answered, by its number."""
    with client_of(port) as client:
        while True:
            rewind = {"turns": 1, "interrupt": True}
            body = batch(sequence, started(f"t{sequence}"), rewind=rewind)
            try:
                answer = append(client, "s", body)
            except httpx.HTTPError:
                return
            assert answer.status_code == 201, answer.text
            promised.append(sequence)
            sequence += 1


def test_a_rewind_and_its_turn_are_all_or_nothing(processes: Forked, database_url: str) -> None:
    random = Random(20261130)  # noqa: S311 - instants, no secrets
    promised: list[int] = []
    pid, port = processes.start("serve")
    with client_of(port) as client:
        assert append(client, "s", batch(1, *turn("t1"))).status_code == 201
    following = 2
    for _ in range(KILLS):
        before = len(promised)
        writing = Thread(target=edit_until_killed, args=(port, following, promised))
        writing.start()
        while len(promised) == before:
            Event().wait(0.002)
        Event().wait(random.random() * LATEST_S)
        os.kill(pid, signal.SIGKILL)
        writing.join(30)
        assert not writing.is_alive()
        pid, port = processes.start("serve")
        with client_of(port) as client:
            found = events_of(client, "s")
            session = client.get("/sessions/s").json()
        types = [item["type"] for item in found[4:]]
        edits = types.count("turn-started")
        assert types == [
            *("history-rewound", "turn-started"),
            *("turn-interrupted", "history-rewound", "turn-started") * (edits - 1),
        ]
        begun = [item["data"]["turn_id"] for item in found if item["type"] == "turn-started"]
        assert begun == [f"t{number}" for number in range(1, edits + 2)]
        assert max(promised) <= edits + 1 <= max(promised) + 1
        assert (session["turns"], session["messages"]) == (1, 1)
        following = edits + 2
    assert promised == sorted(set(promised))
    with opened(database_url) as store:
        check = rebuild(store.database, store.runner, "default", "s", check_only=True)
    assert check.differences == ()
