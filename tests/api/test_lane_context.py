"""A model is told where its conversation happens, once, and it is no part of what was said."""

from dataclasses import replace

from tests.api.batches import Json
from tests.api.chats import Chat

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


def test_a_harness_of_no_lane_is_told_of_none(chat: Chat) -> None:
    chat.said("Hello")

    assert told(chat) == [None]


def test_there_is_no_context_of_a_lane_that_is_not_there(chat: Chat) -> None:
    answer = chat.client.get(f"/lanes/{'0' * 32}/context")

    assert (answer.status_code, answer.json()["code"]) == (404, "no-such-lane")
