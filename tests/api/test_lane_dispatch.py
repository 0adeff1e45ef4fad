"""A gateway with a runner of its own finds the session and begins its turn by one request."""

import httpx
import pytest

from tests.api.batches import Json, append, batch, event, said
from tests.api.lane_chats import TOPIC, Gateway
from tests.api.serving import Served


@pytest.fixture
def group(server: Served, client: httpx.Client) -> Gateway:
    """A topic of a group, which its members share."""
    return Gateway(client, server.harnesses, TOPIC)


def begin(turn_id: str, sequence: int = 1, producer: str = "runner-1") -> Json:
    """Return what begins a turn of a runner."""
    return {
        "owner": producer,
        "begin": {
            "turn_id": turn_id,
            "producer": {"id": producer, "epoch": 1, "sequence": sequence},
        },
    }


def dispatch(group: Gateway, text: str, message_id: str, **more: object) -> httpx.Response:
    """Bring a message."""
    return group.post({"text": text, "message_id": message_id, **more}, to="/lanes/dispatch")


def test_a_runner_gets_the_session_and_its_turn_by_one_request(group: Gateway) -> None:
    answer = dispatch(group, "Hello", "1", **begin("t1"), reply_to="0", include="history")

    told = answer.json()
    assert (answer.status_code, told["decision"], told["path"]) == (201, "cold", "cold")
    assert (told["lane_reason"], told["created"], told["reply_to"]) == ("created", True, "0")
    chat = group.chat()
    assert told["session_id"] == chat.session_id
    (started,) = [each["data"] for each in chat.events("turn-started")]
    assert (started["lane_id"], started["reply_to"]) == (told["lane_id"], "0")
    assert started["messages"][0]["content"] == "[Alice] Hello"
    same = dispatch(group, "Hello", "1", **begin("t1"), reply_to="0", include="history")
    assert (same.status_code, same.headers["idempotent-replayed"]) == (201, "true")
    assert same.json()["turn"]["turn_id"] == "t1"


def test_the_same_message_begins_no_second_turn_wherever_it_is_brought(group: Gateway) -> None:
    first = dispatch(group, "Hello", "1", **begin("t1")).json()
    other = dispatch(group, "Hello", "1", **begin("t2", producer="runner-2"))
    assert (other.status_code, other.json()["decision"]) == (200, "started")
    assert (other.json()["turn"]["turn_id"], other.json()["next_sequence"]) == ("t1", 1)
    waits = dispatch(group, "And?", "2", **begin("t3", producer="runner-2"), on_busy="queue")
    again = dispatch(group, "And?", "2", **begin("t4", producer="runner-3"), on_busy="queue")
    assert (waits.status_code, again.status_code) == (202, 202)
    assert waits.json()["queue_id"] == again.json()["queue_id"]
    ends = [said("t1", "Hi."), event("turn-completed", turn_id="t1")]
    session_id = first["session_id"]
    body = batch(2, *ends, producer="runner-1") | {"fence": first["fence"]}
    assert append(group.client, session_id, body).status_code == 201

    group.resolved(force_new=True)
    moved = dispatch(group, "Hello", "1", **begin("t5", 2, producer="runner-2"))

    assert (moved.status_code, moved.json()["session_id"]) == (200, session_id)
    assert moved.json()["turn"]["turn_id"] == "t1"
    words = dispatch(group, "Bye", "1", **begin("t6", 2, producer="runner-2"))
    assert (words.status_code, words.json()["code"]) == (409, "message-exists")
    assert group.chat().events("turn-started") == []


def test_what_is_only_asked_opens_nothing(group: Gateway) -> None:
    asked = {"owner": "runner-1", "dry_run": True}
    unknown = dispatch(group, "Hello", "1", **asked)
    assert (unknown.status_code, unknown.json()["code"]) == (404, "no-such-lane")
    assert group.client.get("/lanes").json()["items"] == []

    lane = group.resolved()["lane_id"]
    known = group.client.post(f"/lanes/{lane}/dispatch", json={"text": "Hello", **asked})

    assert (known.status_code, known.json()["decision"]) == (200, "cold")
    assert group.chat().events("turn-started") == []
