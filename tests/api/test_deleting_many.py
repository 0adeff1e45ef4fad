"""All sessions of a project are deleted together, however each of them stands."""

from typing import cast

from domain.commands import Note, Own
from domain.events import SessionSuspended
from domain.keys import keys
from infrastructure.command_handler import Caller, Target
from tests.api.chats import Chat
from tests.api.serving import Served


def test_suspended_and_archived_sessions_are_deleted_too(
    server: Served, chat: Chat, project: str
) -> None:
    suspended = Note(event=cast("Own", SessionSuspended(reason="restart-loop", count=3)))
    target = Target(project_id=project, session_id=chat.session_id)
    server.log.runner.run(
        lambda attempt: server.log.handler.carry_out(
            attempt, target, [suspended], keys([suspended.event]), caller=Caller()
        )
    )
    chat.client.post("/sessions", json={"session_id": "archived"})
    chat.client.patch("/sessions/archived", json={"archived": True})

    done = chat.client.delete(str(chat.client.base_url).rstrip("/"), params={"confirm": project})

    assert done.json() == {"deleted": 2, "remaining": 0}
    for status in ("suspended", "archived"):
        assert chat.client.get("/sessions", params={"status": status}).json()["items"] == []


def test_sub_agents_that_go_with_their_parent_are_not_counted(chat: Chat) -> None:
    parent = {"session_id": "parent", "config": {"harness": "agent-1"}}
    below = {
        "session_id": "below",
        "config": {"harness": "agent-2"},
        "parent": {"session_id": "parent"},
    }
    for body in (parent, below):
        assert chat.client.post("/sessions", json=body).status_code == 201

    done = chat.client.delete("/sessions", params={"harness": "agent-1"})

    assert done.json() == {"deleted": 1, "remaining": 0}
    assert chat.client.get("/sessions/below").status_code == 404
