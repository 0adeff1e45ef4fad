"""A hosted turn as it comes: what it does, piece by piece, and then the turn."""

from collections.abc import Generator
from contextlib import contextmanager

import httpx
import pytest

from api import following
from tests.api.batches import Json, problem
from tests.api.chats import Chat, eventually, last_text, user
from tests.api.serving import ON_ONE_DATABASE
from tests.api.streams import Frame, frames

STREAM = {"Accept": "text/event-stream"}


@contextmanager
def streamed(
    chat: Chat, body: Json, **headers: str
) -> Generator[tuple[httpx.Response, list[Frame]]]:
    """Ask for a turn as a stream, and give all of its frames."""
    with chat.client.stream(
        "POST", f"{chat.path}/turns", json=body, headers=STREAM | headers
    ) as response:
        assert response.status_code == 200, response.read()
        yield response, list(frames(response.iter_bytes()))


def test_it_says_that_it_runs_then_each_piece_then_the_turn(chat: Chat) -> None:
    with streamed(chat, {"messages": [user("stream: 3")]}) as (response, told):
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-store"

    first, *pieces, last = told
    assert (first.name, first.json["status"], first.json["path"]) == ("state", "running", "cold")
    assert {piece.name for piece in pieces} == {"delta"}
    said = "".join(piece.json["text"] for piece in pieces if "text" in piece.json)
    assert (last.name, last.json["status"]) == ("done", "completed")
    assert last.json["turn_id"] == first.json["turn_id"]
    assert last_text(last.json) == said


@ON_ONE_DATABASE
def test_calls_and_questions_are_told_as_they_come(chat: Chat) -> None:
    with streamed(chat, {"messages": [user('ask: add {"a":1,"b":2}')]}) as (_, told):
        pass

    assert told[-1].json["status"] == "paused"
    (gate,) = told[-1].json["gates"]
    assert any(gate["gate_id"] in frame.data for frame in told if frame.name == "delta")

    with streamed(chat, {"answers": [{"gate": gate["gate_id"], "verdict": "approved"}]}) as (
        _,
        rest,
    ):
        pass
    assert (rest[0].name, rest[0].json["turn_id"]) == ("state", told[0].json["turn_id"])
    assert last_text(rest[-1].json) == 'add gave {"sum":3}.'


@ON_ONE_DATABASE
def test_a_turn_that_came_before_is_told_at_once(chat: Chat) -> None:
    body = {"messages": [user("Hello", message_id="m1")]}
    first = chat.post(body).json()

    with streamed(chat, body) as (response, told):
        assert response.headers["idempotent-replayed"] == "true"

    assert [frame.name for frame in told] == ["done"]
    assert told[0].json["turn_id"] == first["turn_id"]


@ON_ONE_DATABASE
def test_a_quiet_turn_shows_that_it_lives(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "HEARTBEAT_S", 0.1)

    with streamed(chat, {"messages": [user("delay: 500 Hello")]}) as (_, told):
        assert any(frame.comment == "still here" for frame in told)


@ON_ONE_DATABASE
def test_who_hangs_up_stops_nothing(chat: Chat) -> None:
    body = {"messages": [user("delay: 100 Hello")]}
    with chat.client.stream("POST", f"{chat.path}/turns", json=body, headers=STREAM) as response:
        state = next(frames(response.iter_bytes()))

    ended = chat.ended(state.json["turn_id"])

    assert ended["status"] == "completed"
    assert chat.texts() == ["delay: 100 Hello", 'Message 1: you said "Hello".']
    assert eventually(chat.seat, lambda seat: seat is not None and seat["state"] == "idle")


@ON_ONE_DATABASE
def test_what_is_refused_is_a_problem_and_no_stream(chat: Chat) -> None:
    answer = chat.client.post(f"{chat.path}/turns", json={"messages": []}, headers=STREAM)

    assert problem(answer) == (422, "invalid-value", ["/messages"])
