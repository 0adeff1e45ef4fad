"""Turns that this server runs: what they are answered with, asked for again, or refused."""

import httpx
import pytest

from api.body import REQUEST_LIMIT
from tests.api.batches import problem
from tests.api.chats import ASYNC, Chat, agent, eventually, last_text, told, user
from tests.api.serving import ON_ONE_DATABASE


def test_a_turn_is_answered_with_what_was_said_and_where_the_session_stands(chat: Chat) -> None:
    answer = chat.say("Hello")

    turn = told(answer)
    assert (turn["status"], turn["path"], turn["reason"]) == ("completed", "cold", "no-seat")
    assert turn["history_from"] == "log"
    assert [message["role"] for message in turn["messages"]] == ["user", "assistant"]
    assert last_text(turn) == 'Message 1: you said "Hello".'
    assert (turn["gates"], turn["stop_reason"]) == ([], "end_turn")
    assert turn["usage"]["output_tokens"] > 0
    assert turn["timings"].keys() >= {"total", "first_output", "harness_start", "replay"}
    assert turn["head"] == chat.read()["head"]
    assert turn["readiness"]["ready"] is True
    assert answer.headers["turnlog-path"] == "cold"
    assert answer.headers["turnlog-ready"] == "?1"
    assert answer.headers["turnlog-history-version"] == str(turn["head"]["history_version"])


@ON_ONE_DATABASE
def test_the_session_remembers_what_its_client_leaves_out(chat: Chat) -> None:
    chat.said("remember a=1")

    turn = chat.said("what is a?")

    assert (turn["path"], last_text(turn)) == ("warm", "a is 1.")


def test_an_answer_at_once_names_the_turn_that_goes_on(chat: Chat) -> None:
    answer = chat.say("delay: 50 Hello", ASYNC)

    assert (answer.status_code, answer.headers["preference-applied"]) == (202, "respond-async")
    assert answer.json()["status"] == "running"
    ended = chat.ended(answer.json()["turn_id"])
    assert (ended["status"], ended["path"]) == ("completed", "cold")


def test_a_key_begins_one_turn(chat: Chat) -> None:
    first = chat.say("Hello", {"Idempotency-Key": "k"})
    again = chat.say("Hello", {"Idempotency-Key": "k"})
    other = chat.say("Another", {"Idempotency-Key": "k"})

    assert told(again)["turn_id"] == told(first)["turn_id"]
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert problem(other)[:2] == (422, "idempotency-key-reused")
    assert len(chat.events("turn-started")) == 1


def test_a_message_id_begins_one_turn(chat: Chat) -> None:
    said = {"messages": [user("Hello", message_id="m1")]}

    first, again = chat.post(said), chat.post(said)
    other = chat.post({"messages": [user("Another", message_id="m1")]})

    assert told(again)["turn_id"] == told(first)["turn_id"]
    assert again.headers["idempotent-replayed"] == "true"
    assert problem(other)[:2] == (409, "message-exists")
    assert len(chat.events("turn-started")) == 1


def test_whoever_asks_again_meanwhile_waits_for_the_same_turn(chat: Chat) -> None:
    body = {"messages": [user("delay: 100 Hello", message_id="m1")]}
    begun = chat.post(body, ASYNC).json()["turn_id"]

    again = chat.post(body)

    assert (told(again)["turn_id"], told(again)["status"]) == (begun, "completed")


@ON_ONE_DATABASE
def test_the_same_words_twice_are_two_turns(chat: Chat) -> None:
    assert chat.said("Hello")["turn_id"] != chat.said("Hello")["turn_id"]


@ON_ONE_DATABASE
@pytest.mark.parametrize(
    ("body", "at"),
    [
        ({}, "/messages"),
        ({"messages": []}, "/messages"),
        ({"messages": [user("  ")]}, "/messages/0"),
        ({"messages": [agent("Hi")]}, "/messages/0"),
        ({"messages": [user("a"), user("b")]}, "/messages/1"),
        ({"messages": [{"role": "nobody", "content": "a"}]}, "/messages/0/role"),
        ({"messages": [{"role": "system", "content": "Be kind."}]}, "/messages/0"),
        ({"messages": [user("a")], "on_busy": "wait"}, "/on_busy"),
        ({"messages": [user("a")], "format": "smoke"}, "/format"),
        ({"messages": [user("a")], "extra": 1}, "/extra"),
        ({"messages": [user("a", message_id="a\nb")]}, "/messages/0/message_id"),
        ({"answers": [{"gate": "g", "verdict": "maybe"}]}, "/answers/0/verdict"),
        ({"answers": [{"verdict": "approved"}]}, "/answers/0/gate"),
    ],
)
def test_what_is_no_request_for_a_turn_is_refused_with_its_place(
    chat: Chat, body: dict[str, object], at: str
) -> None:
    answer = chat.post(body)

    assert problem(answer) == (422, "invalid-value", [at])
    assert [each["type"] for each in chat.events()] == ["session-opened"]


def test_a_session_has_to_be_there(client: httpx.Client) -> None:
    body = {"messages": [user("Hello")]}

    assert problem(client.post("/sessions/none/turns", json=body))[:2] == (404, "no-such-session")


def test_a_closed_session_begins_no_turn(chat: Chat) -> None:
    chat.said("Hello")
    chat.client.patch(chat.path, json={"archived": True})
    archived = chat.say("More")
    chat.client.delete(chat.path)

    assert problem(archived)[:2] == (409, "session-archived")
    assert problem(chat.say("More"))[:2] == (404, "no-such-session")


@ON_ONE_DATABASE
def test_a_harness_has_to_be_defined(chat: Chat) -> None:
    asked = chat.say("Hello", config={"harness": "nobody"})
    chat.client.patch(chat.path, json={"config": {"harness": "nobody"}})
    kept = chat.say("Hello")

    assert problem(asked) == (422, "no-such-harness", ["/config/harness"])
    assert problem(kept) == (422, "no-such-harness", [])
    assert chat.events("turn-started") == []


@ON_ONE_DATABASE
@pytest.mark.parametrize("workspace", ["/nowhere/at/all", "/" + 5_000 * "a", "/a\0b"])
def test_the_workspace_has_to_exist(chat: Chat, workspace: str) -> None:
    answer = chat.say("Hello", config={"workspace": workspace})

    assert problem(answer)[:2] == (409, "workspace-missing")
    assert answer.json()["action"] == "give-up"
    assert chat.events("turn-started", "session-configured") == []


@ON_ONE_DATABASE
@pytest.mark.parametrize(
    ("form", "messages"),
    [
        ("turnlog", [user("Hello")]),
        ("openai", [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]),
        ("anthropic", [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]),
        ("ui", [{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Hello"}]}]),
    ],
)
def test_messages_come_in_any_form_that_a_comparison_reads(
    chat: Chat, form: str, messages: list[object]
) -> None:
    turn = told(chat.post({"messages": messages, "format": form}))

    assert last_text(turn) == 'Message 1: you said "Hello".'
    assert chat.texts()[0] == "Hello"


@ON_ONE_DATABASE
def test_eight_megabytes_are_taken_and_more_are_not(chat: Chat) -> None:
    room = REQUEST_LIMIT - 200

    turn = chat.said("Hello\n" + "x" * room)
    too_much = chat.say("x" * REQUEST_LIMIT)

    assert turn["status"] == "completed"
    assert problem(too_much)[:2] == (413, "body-too-large")


@ON_ONE_DATABASE
def test_what_configures_is_kept_for_harnesses_to_come(chat: Chat) -> None:
    body = {"messages": [{"role": "system", "content": "Be kind."}, user("Hello")]}

    first, again = told(chat.post(body)), told(chat.post(body))

    assert chat.read()["config"] == {"instructions": [{"role": "system", "text": "Be kind."}]}
    assert (first["path"], again["path"]) == ("cold", "warm")
    assert len(chat.events("session-configured")) == 1
    assert chat.said("And now?")["path"] == "warm"


@ON_ONE_DATABASE
def test_instructions_stay_until_others_are_given(chat: Chat) -> None:
    kind = {"role": "system", "content": "Be kind."}
    told(chat.post({"messages": [kind, user("Hello")]}))

    chat.said("More", config={"mode": "slow"})
    kept = chat.read()["config"]
    chat.said("More", config={"mode": "slow", "instructions": []})

    assert kept == {"mode": "slow", "instructions": [{"role": "system", "text": "Be kind."}]}
    assert chat.read()["config"] == {"mode": "slow", "instructions": []}


@ON_ONE_DATABASE
def test_a_client_that_goes_away_stops_nothing(chat: Chat) -> None:
    with pytest.raises(httpx.ReadTimeout):
        chat.client.post(
            f"{chat.path}/turns", json={"messages": [user("delay: 200 Hello")]}, timeout=0.1
        )

    (started,) = chat.events("turn-started")
    assert chat.ended(started["data"]["turn_id"])["status"] == "completed"
    assert eventually(chat.seat, lambda seat: seat is not None)
