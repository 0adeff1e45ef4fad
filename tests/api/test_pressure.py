"""When memory gets short, harnesses that wait are let go, the one not used for longest first.

Their sessions lose nothing: the next turn of each is cold, on the history that the log has.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest

from infrastructure.harness.memory import MachineMemory
from infrastructure.reading.seats import on_record
from tests.api.batches import Json, started
from tests.api.chats import Chat, chat_at, eventually, last_text, opened
from tests.api.harnesses import OWNER, cold, launched, let_go, told, warm
from tests.api.serving import Served, served
from tests.api.test_metrics import values
from tests.databases import DatabaseKind, Databases

SESSIONS = ("a", "b", "c", "d")


@dataclass(frozen=True)
class Nothing:
    """A machine of which nothing is used."""

    def budget(self) -> int | None:
        return None

    def used(self) -> int | None:
        return 0


@pytest.fixture
def short(databases: Databases, database_kind: DatabaseKind) -> Iterator[Served]:
    """A server that may use 1 MiB, and looks when a harness is started: on SQLite a process."""
    url = databases.ready()
    with served(
        database_kind,
        url,
        processes=database_kind == "sqlite",
        pool_memory_budget="1",
        pool_pressure_every_s="3600",
    ) as running:
        running.log.memory = Nothing()
        yield running
    databases.drop(url)


def seated(client: httpx.Client) -> list[str]:
    """The sessions whose harnesses wait here."""
    return sorted(seat["session_id"] for seat in client.get("/pool").json()["seats"])


def test_those_beyond_the_protected_ones_go_on_record_and_their_next_turns_know_the_history(
    short: Served,
) -> None:
    with short.client("default") as client, short.browser() as browser:
        chats = [opened(chat_at(short, client, name)) for name in SESSIONS]
        for chat in chats:
            chat.said(f"remember name={chat.session_id}")
        again = chats[0].said("Hm?")
        assert (again["path"], seated(client)) == ("warm", [*SESSIONS])
        short.log.memory = MachineMemory()

        # It asks, and so is busy whenever it is looked: else it might count among those that wait.
        opened(chat_at(short, client, "new")).asked()

        memory = eventually(lambda: memory_of(client), lambda found: found["evicted"] == 2)
        assert seated(client) == ["a", "d", "new"]
        assert evictions(chats) == {"b": "pressure", "c": "pressure"}
        found = values(browser.get("/metrics").text)
        assert found['turnlog_seats_evicted_total{reason="pressure"}'] == 2
        assert found["turnlog_pool_pressure_evicted_total"] == 2
        assert memory["used_mb"] > memory["budget_mb"] == 1
        answer = chats[1].said("what is name?")
        assert (answer["path"], last_text(answer)) == ("cold", "name is b.")


def memory_of(client: httpx.Client) -> Json:
    """What came of looking after the memory."""
    found: Json = client.get("/pool").json()["process"]["memory"]
    return found


def evictions(chats: list[Chat]) -> dict[str, str]:
    """Why the sessions' harnesses were let go."""
    return {
        chat.session_id: evicted["data"]["reason"]
        for chat in chats
        for evicted in chat.events("harness-evicted")
    }


def test_a_seat_is_on_record_while_the_log_says_that_its_owner_keeps_it_idle(
    client: httpx.Client, server: Served, project: str
) -> None:
    names = [f"{project}-{number}" for number in range(5)]
    told(client, "a", 1, *cold("t1", names[0]), *warm("t2", names[0]))
    told(client, "b", 1, started("t1"), launched("t1", names[1]))
    told(client, "c", 1, *cold("t1", names[2]), let_go(names[2]))

    found = server.log.read_now(lambda connection: on_record(connection, OWNER))
    others = server.log.read_now(lambda connection: on_record(connection, "runner-2"))

    assert found & {*names} == {names[0]}
    assert not others & {*names}, "they are another's"
