"""A summary takes longer than a lease lasts, and is stopped from any server of the database."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from threading import Thread

import httpx  # noqa: TC002 - as elsewhere
import pytest

from tests.api.batches import problem
from tests.api.chats import Chat, chat_at, eventually, opened, user
from tests.api.serving import served
from tests.api.summing_up import SLOW, ask, begun, rests, talked, untouched
from tests.databases import DatabaseKind, Databases


@pytest.fixture
def url(databases: Databases) -> Iterator[str]:
    """A database of the test's own."""
    made = databases.ready()
    yield made
    databases.drop(made)


@contextmanager
def serving(kind: DatabaseKind, url: str) -> Generator[Chat]:
    """Serve a database, and talk in its session `s`; its leases are as short as they may be."""
    with (
        served(kind, url, harness_lease_s="2", pool_shutdown_s="1") as running,
        running.client("default") as client,
    ):
        yield chat_at(running, client)


def lease_until(chat: Chat) -> str:
    """Return until when the compaction that runs has the session."""
    refused = ask(chat)
    assert problem(refused)[:2] == (409, "compacting")
    until: str = refused.json()["lease_until"]
    return until


def is_summed_up(chat: Chat) -> bool:
    """Tell whether a compaction runs, without asking for anything."""
    body = {"owner": "runner-1", "messages": [user("Hello")], "dry_run": True}
    answer = chat.client.post(f"{chat.path}/dispatch", json=body)
    return answer.status_code == 409 and problem(answer)[1] == "compacting"


def test_its_lease_is_renewed_while_it_lasts(database_kind: DatabaseKind, url: str) -> None:
    with serving(database_kind, url) as chat:
        talked(opened(chat), 2)
        running = begun(chat)
        first = lease_until(chat)

        eventually(lambda: lease_until(chat), lambda until: until > first)

        assert ask(chat).json()["compaction_id"] == running
        rests(chat)


def test_it_is_stopped_from_another_server(database_kind: DatabaseKind, url: str) -> None:
    with serving(database_kind, url) as chat, serving(database_kind, url) as elsewhere:
        talked(opened(chat), 2)
        answers: list[httpx.Response] = []
        waiting = Thread(target=lambda: answers.append(ask(chat, instructions=SLOW)))
        waiting.start()
        eventually(lambda: is_summed_up(elsewhere), bool)

        stopped = elsewhere.client.post(f"{elsewhere.path}/interrupt", json={})

        assert (stopped.status_code, stopped.json()) == (202, {"delivered": True})
        waiting.join()
        (answer,) = answers
        assert problem(answer)[:2] == (409, "compaction-interrupted")
        assert untouched(elsewhere)
        assert elsewhere.said("Hello")["status"] == "completed"
        rests(chat)


def test_new_text_at_another_server_takes_its_place_if_that_is_asked_for(
    database_kind: DatabaseKind, url: str
) -> None:
    with serving(database_kind, url) as chat, serving(database_kind, url) as elsewhere:
        talked(opened(chat), 2)
        begun(chat)

        assert problem(elsewhere.say("Hello"))[:2] == (409, "compacting")
        answer = elsewhere.say("Hello", on_busy="interrupt")

        assert (answer.status_code, answer.json()["status"]) == (200, "completed"), answer.text
        assert untouched(elsewhere)
        rests(chat)
