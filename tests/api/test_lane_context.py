"""A model is told where its conversation happens, once, and it is no part of what was said."""

from dataclasses import replace

from domain.events.lane import LaneSwitched
from infrastructure import tables as t
from infrastructure.command_handler import Caller
from infrastructure.lanes.lookup import find_lane
from infrastructure.runner import Attempt
from tests.api.batches import Json
from tests.api.chats import Chat
from tests.api.serving import Served

SOURCE: Json = {
    "platform": "telegram",
    "chat_type": "group",
    "chat_id": "-1001",
    "chat_name": "Garden Club",
    "thread_id": "7",
    "user_id": "42",
    "user_name": "Alice",
}


def lane(chat: Chat, **more: object) -> tuple[Json, Chat]:
    """Return the lane of a message, and the conversation that it has there."""
    answer = chat.client.post("/lanes/resolve", json={"source": {**SOURCE, **more}})
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found, replace(chat, session_id=found["session_id"])


def context(chat: Chat, lane_id: str) -> Json:
    """Return what a model is told of a lane."""
    answer = chat.client.get(f"/lanes/{lane_id}/context")
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def told(chat: Chat) -> list[str | None]:
    """Return what each harness of a conversation was told when it started."""
    return [words for session_id, words in chat.harnesses.told if session_id == chat.session_id]


def test_a_harness_is_told_once_where_it_is_and_nobody_said_so(chat: Chat) -> None:
    found, there = lane(chat)
    before = context(chat, found["lane_id"])

    there.said("Hello")
    lane(chat, user_id="43", user_name="Bob", message_id="m2")
    warm = there.said("More")
    there.kill()
    there.said("Again")

    assert context(chat, found["lane_id"]) == before
    assert warm["path"] == "warm"
    assert told(there) == [before["prompt"]] * 2
    assert not any("Garden Club" in text for text in there.texts())
    assert "Garden Club" not in str(there.known())


def test_a_program_reads_what_a_model_is_told(chat: Chat) -> None:
    found, there = lane(chat)

    read = context(chat, found["lane_id"])

    assert {name: read[name] for name in ("lane_id", "session_id", "redacted", "shared")} == {
        "lane_id": found["lane_id"],
        "session_id": there.session_id,
        "redacted": False,
        "shared": True,
    }
    assert read["prompt"].startswith(
        '# Where this conversation happens\n- Platform: "telegram"\n- Chat: group "Garden Club"\n'
    )
    assert read["facts"]["lane_key"] == found["lane_key"]
    assert read["facts"]["session_id"] == there.session_id
    assert "person" not in read["facts"]


def test_a_project_has_ids_hidden_and_names_where_output_goes(chat: Chat) -> None:
    homes = {"telegram": {"chat_id": "99"}, "slack": {"chat_id": "C1", "name": "ops"}}
    policies = {"lanes": {"redact_ids": True, "home_channels": homes}}
    assert chat.client.patch("/settings", json=policies).status_code == 200

    found, there = lane(chat, chat_name=None, chat_type="dm", thread_id=None)
    read = context(chat, found["lane_id"])
    there.said("Hello")

    assert read["redacted"]
    assert "1001" not in read["prompt"]
    assert [name for home in read["facts"]["home_channels"] for name in home] == [
        "platform", "name", "platform", "id",
    ]  # fmt: skip
    assert read["facts"]["person"] == {"name": "Alice"}
    assert told(there) == [read["prompt"]]
    assert found["lane_key"] == "agent:main:telegram:dm:-1001"


def test_ids_are_hidden_if_nobody_can_read_what_a_project_wants(
    server: Served, chat: Chat, project: str
) -> None:
    def spoil(attempt: Attempt) -> None:
        unreadable = {"name": "settings", "version": 1, "value": b'{"lanes":5}'}
        row = {"project_id": project, "changed_at": 0, "actor": None, **unreadable}
        attempt.connection.execute(t.project_settings.insert().values(row))

    known = lane(chat)[0]["lane_id"]
    server.log.runner.submit(spoil).result()

    assert context(chat, known)["redacted"]


def test_a_harness_of_a_session_of_two_lanes_is_told_of_none_unless_its_turn_came_by_one(
    server: Served, chat: Chat, project: str
) -> None:
    _, there = lane(chat)
    other, left = lane(chat, chat_type="dm")

    def switch(attempt: Attempt) -> None:
        found = find_lane(attempt.connection, project, other["lane_id"])
        switched = LaneSwitched(session_id=there.session_id, previous_session_id=left.session_id)
        place = (project, other["lane_id"])
        server.log.lanes.append(attempt, place, found, [switched], Caller(actor="test"))

    server.log.runner.submit(switch).result()
    there.said("Hello")

    assert told(there) == [None]


def test_a_harness_of_no_lane_is_told_of_none(chat: Chat) -> None:
    chat.said("Hello")

    assert told(chat) == [None]


def test_there_is_no_context_of_a_lane_that_is_not_there(chat: Chat) -> None:
    answer = chat.client.get(f"/lanes/{'0' * 32}/context")

    assert (answer.status_code, answer.json()["code"]) == (404, "no-such-lane")
