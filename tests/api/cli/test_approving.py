"""`approvals`: on the database, and through a server."""

from pathlib import Path

import pytest

from tests.api.chats import Chat, chat_at, eventually, opened
from tests.api.cli.command import Turnlog, on_sqlite
from tests.api.serving import Served
from tests.infrastructure.writing import opened as store_of
from tests.infrastructure.writing import propose, turn

ASKED = propose("gate-opened", b'{"gate_id":"g1","turn_id":"t1","kind":"permission","tool":"bash"}')


@pytest.fixture
def waits(database_url: str, tmp_path: Path) -> Turnlog:
    """A session of a runner, in which a permission is asked for."""
    with store_of(database_url) as store:
        store.append([turn("t1")[0], ASKED], "s")
    return Turnlog(home=tmp_path, database_url=database_url)


def test_what_waits_is_listed_shown_and_decided(waits: Turnlog) -> None:
    (listed,) = waits.well("approvals", "--session", "s", "--json").documents
    gate = listed["gate_id"]
    assert f"{gate}  open  permission  bash  session s" in waits.well("approvals").text

    done = waits.well("approvals", gate, "--deny", "--message", "not today")

    assert done.text == "denied: the turn's own runner is told\n"
    assert "not today" in waits.well("approvals", gate).text
    assert waits.well("approvals").text == "nothing waits for an answer\n"
    again = waits.well("approvals", gate, "--deny", "--message", "not today", "--json").document
    assert again["decision"]["verdict"] == "denied"
    other = waits.run("approvals", gate, "--approve", "--json")
    assert (other.code, "gate-already-decided" in other.errors) == (1, True)


@on_sqlite
@pytest.mark.parametrize(
    "arguments", [["--approve"], ["g", "--approve", "--deny"], ["g", "--message", "why"]]
)
def test_a_decision_has_one_gate_and_one_verdict(waits: Turnlog, arguments: list[str]) -> None:
    assert waits.run("approvals", *arguments).code == 2


@on_sqlite
def test_a_gate_has_to_be_there(waits: Turnlog) -> None:
    refused = waits.run("approvals", "nope", "--approve", "--json")

    assert (refused.code, "no-such-gate" in refused.errors) == (1, True)


def asking(running: Served, project: str) -> tuple[Chat, str]:
    """Return a conversation of which a turn waits, and for what."""
    chat = opened(chat_at(running, running.client(project), f"chat-{project}"))
    return chat, chat.asked()[0]


def test_a_server_is_asked_to(sqlite_server: Served, tmp_path: Path, project: str) -> None:
    chat, gate = asking(sqlite_server, project)
    at = ("--project", project, "--url", sqlite_server.url)
    user = Turnlog(home=tmp_path)
    assert gate in user.well("approvals", *at).text

    assert user.well("approvals", gate, "--approve", *at).text == "approved: the turn goes on\n"

    eventually(lambda: len(chat.made()), lambda made: made == 1)
    chat.client.close()


def test_what_is_decided_beside_a_server_is_gone_on_with_there(
    sqlite_server: Served, tmp_path: Path, project: str
) -> None:
    chat, gate = asking(sqlite_server, project)
    user = Turnlog(home=tmp_path, database_url=sqlite_server.database_url)

    done = user.well("approvals", gate, "--approve", "--project", project, "--json").document

    assert done["continuation"]["status"] == "pending"
    eventually(lambda: len(chat.made()), lambda made: made == 1)
    assert len(chat.events("harness-started")) == 1
    chat.client.close()
