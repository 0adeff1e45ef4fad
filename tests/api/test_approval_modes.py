"""Approval modes: which questions need no person, who decided, and from when on a change holds."""

import pytest

from tests.api.batches import Json, problem
from tests.api.chats import ADD, GAVE, Chat, chat_at, eventually, last_text, opened
from tests.api.serving import ON_ONE_DATABASE, Served, served
from tests.databases import DatabaseKind, Databases

READ = 'ask: read_note {"name":"groceries"}'
FAIL = 'ask: fail {"reason":"x"}'


def set_mode(chat: Chat, mode: str) -> None:
    answer = chat.client.patch(chat.path, json={"approval_mode": mode})
    assert (answer.status_code, answer.json()["approval_mode"]) == (200, mode)


def in_mode(chat: Chat, mode: str) -> Chat:
    set_mode(chat, mode)
    return chat


def gates(chat: Chat) -> list[Json]:
    items: list[Json] = chat.read("/approvals", status="all")["items"]
    return items


def gate_events(chat: Chat) -> list[str]:
    return [each["type"] for each in chat.events() if each["type"].startswith("gate-")]


@ON_ONE_DATABASE
def test_where_everything_is_asked_a_person_decides(chat: Chat) -> None:
    (gate,) = chat.asked()

    assert problem(chat.decide("nothing"))[:2] == (404, "no-such-gate")
    assert last_text(chat.answer(gate).json()) == GAVE
    (found,) = gates(chat)
    assert (found["status"], found["decision"]["decided_by"]) == ("allowed", "person")


@pytest.mark.parametrize(
    ("mode", "text", "verdict", "status", "made"),
    [
        ("allow-all", ADD, "approved", "allowed", 1),
        ("deny-all", ADD, "denied", "denied-by-policy", 0),
        ("read-only", READ, "approved", "allowed", 1),
        ("deny-all", READ, "denied", "denied-by-policy", 0),
    ],
)
def test_what_a_mode_decides_needs_no_person_and_is_on_record(
    chat: Chat, mode: str, text: str, verdict: str, status: str, made: int
) -> None:
    turn = in_mode(chat, mode).said(text)

    assert (turn["status"], turn["gates"]) == ("completed", [])
    assert len(chat.made()) == made
    (gate,) = gates(chat)
    decision = gate["decision"]
    assert (gate["status"], decision["verdict"], decision["decided_by"]) == (
        status,
        verdict,
        "policy",
    )
    assert decision["message"] == f"by approval mode {mode}"
    assert gate_events(chat) == ["gate-opened", "gate-decided", "gate-consumed"]
    versions = [each["version"] for each in chat.events() if each["type"].startswith("gate-")]
    assert versions == [*range(versions[0], versions[0] + 3)]
    assert chat.read("/approvals")["items"] == []
    audit = chat.read("/audit", limit=200)["items"]
    assert any(f"was {verdict} by policy" in each["what"] for each in audit)


@ON_ONE_DATABASE
@pytest.mark.parametrize("text", [ADD, FAIL])
def test_what_is_no_reading_is_left_to_a_person(chat: Chat, text: str) -> None:
    turn = in_mode(chat, "read-only").said(text)

    assert turn["status"] == "paused"
    assert gate_events(chat) == ["gate-opened"]


@ON_ONE_DATABASE
@pytest.mark.parametrize("mode", ["allow-all", "read-only", "always-ask"])
def test_a_question_is_answered_by_a_person_whatever_may_be_done(chat: Chat, mode: str) -> None:
    (gate,) = in_mode(chat, mode).asked("question: Your name?")

    assert last_text(chat.answer(gate, "answered", answer="Ada").json()) == 'You answered "Ada".'


@ON_ONE_DATABASE
def test_where_nobody_is_to_be_asked_a_question_is_declined(chat: Chat) -> None:
    turn = in_mode(chat, "deny-all").said("question: Your name?")

    assert last_text(turn) == "You did not want to answer."


@ON_ONE_DATABASE
def test_a_change_in_the_middle_of_a_turn_holds_for_its_next_question(chat: Chat) -> None:
    (first,) = chat.asked(f"{ADD}\n{READ}")
    set_mode(chat, "deny-all")
    assert [gate["gate_id"] for gate in chat.read("/approvals")["items"]] == [first]

    turn = chat.answer(first).json()

    assert turn["status"] == "completed"
    decided = {
        gate["tool"]: (gate["status"], gate["decision"]["decided_by"]) for gate in gates(chat)
    }
    assert decided == {
        "add": ("allowed", "person"),
        "read_note": ("denied-by-policy", "policy"),
    }
    set_mode(chat, "always-ask")
    assert chat.said(ADD)["status"] == "paused"


@ON_ONE_DATABASE
def test_the_settings_mode_holds_where_a_session_has_none(
    databases: Databases, database_kind: DatabaseKind
) -> None:
    url = databases.ready()
    with (
        served(database_kind, url, approval_mode="allow-all") as running,
        running.client("default") as client,
    ):
        chat = opened(chat_at(running, client))
        assert last_text(chat.said(ADD)) == GAVE
        assert chat.read()["approval_mode"] is None
        set_mode(chat, "always-ask")
        assert chat.said(ADD)["status"] == "paused"
    databases.drop(url)


def test_a_session_can_begin_with_a_mode(server: Served, chat: Chat) -> None:
    other = opened(
        Chat(client=chat.client, session_id="allowed", harnesses=server.harnesses),
        approval_mode="allow-all",
    )

    assert last_text(other.said(ADD)) == GAVE
    assert chat.said(ADD)["status"] == "paused"
    bad = chat.client.patch(chat.path, json={"approval_mode": "sometimes"})
    assert problem(bad)[0] == 422


@ON_ONE_DATABASE
def test_a_turn_that_was_answered_by_a_mode_is_warm_for_the_next(chat: Chat) -> None:
    in_mode(chat, "allow-all").said(ADD)

    turn = chat.said("Hello")

    assert turn["path"] == "warm"
    eventually(lambda: chat.read("/readiness")["ready"], bool)
