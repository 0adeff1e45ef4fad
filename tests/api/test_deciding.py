"""Answers to what waits: by which name, in which form, once; and nothing else moves anything."""

import pytest

from tests.api.batches import Json, append, batch, event, problem, started
from tests.api.chats import ADD, GAVE, Chat, agent, eventually, last_text, told, user
from tests.api.serving import ON_ONE_DATABASE

TWO = 'ask: add {"a":1,"b":2}; echo {"say":"hi"}'


def only(chat: Chat) -> Json:
    """Return the one gate of the session."""
    (gate,) = chat.client.get(f"{chat.path}/approvals", params={"status": "all"}).json()["items"]
    found: Json = gate
    return found


def test_a_gate_says_what_would_be_done(chat: Chat) -> None:
    turn = chat.said(ADD)

    (gate,) = turn["gates"]
    assert turn["status"] == "paused"
    assert (gate["kind"], gate["status"], gate["tool"]) == ("permission", "open", "add")
    assert gate["arguments"] == {"a": 1, "b": 2}
    assert gate["turn_id"] == turn["turn_id"]
    assert gate["tool_call_id"]
    assert gate["permission_id"]
    assert chat.made() == []


@pytest.mark.parametrize("name", ["gate_id", "permission_id", "tool_call_id"])
@pytest.mark.parametrize("where", ["turns", "approvals"])
def test_a_gate_is_answered_by_each_of_its_names(chat: Chat, name: str, where: str) -> None:
    chat.asked()
    gate = only(chat)

    if where == "turns":
        turn = told(chat.answer(gate[name]))
    else:
        decided = chat.decide(gate[name])
        assert decided.status_code == 202
        assert decided.json()["decision"]["gate_id"] == gate["gate_id"]
        assert decided.json()["continuation"] == {"status": "started", "turn_id": gate["turn_id"]}
        turn = chat.ended(gate["turn_id"])

    assert (turn["turn_id"], turn["status"]) == (gate["turn_id"], "completed")
    assert chat.texts()[-1] == GAVE
    assert [made.arguments for made in chat.made()] == [{"a": 1, "b": 2}]


def test_a_gate_is_answered_from_anywhere_in_the_project(chat: Chat) -> None:
    (gate,) = chat.asked()

    decided = chat.client.post(f"/approvals/{gate}", json={"verdict": "approved"})

    assert decided.status_code == 202
    assert decided.json()["decision"]["via"] == "out-of-band"
    chat.ended(only(chat)["turn_id"])
    assert chat.texts()[-1] == GAVE


@ON_ONE_DATABASE
def test_an_alias_is_taken_below_a_session_only(chat: Chat) -> None:
    chat.asked()
    alias = only(chat)["permission_id"]

    answer = chat.client.post(f"/approvals/{alias}", json={"verdict": "approved"})

    assert problem(answer)[:2] == (404, "no-such-gate")
    assert "gate_id" in answer.json()["detail"]


@ON_ONE_DATABASE
def test_an_answer_stands_in_the_last_message_as_a_part(chat: Chat) -> None:
    (gate,) = chat.asked()
    part = {"type": "gate_answer", "gate": gate, "verdict": "approved"}

    turn = told(chat.post({"messages": [{"role": "user", "content": [part]}]}))

    assert last_text(turn) == GAVE
    assert only(chat)["decision"]["via"] == "in-band"


@ON_ONE_DATABASE
def test_an_answer_stands_in_a_result_with_approved(chat: Chat) -> None:
    chat.asked()
    output = {"approved": False, "message": "Not today."}
    part = {
        "type": "tool_result",
        "tool_call_id": only(chat)["tool_call_id"],
        "output": output,
    }

    told(chat.post({"messages": [{"role": "tool", "content": [part]}]}))

    decision = only(chat)["decision"]
    assert (decision["verdict"], decision["message"]) == ("denied", "Not today.")
    assert chat.made() == []


@ON_ONE_DATABASE
def test_an_answer_stands_in_a_part_of_the_ai_sdk(chat: Chat) -> None:
    (gate,) = chat.asked()
    call = {
        "type": "tool-add",
        "toolCallId": only(chat)["tool_call_id"],
        "state": "approval-responded",
        "input": {"a": 1, "b": 2},
        "approval": {"id": gate, "approved": True},
    }
    messages = [
        {"id": "u1", "role": "user", "parts": [{"type": "text", "text": ADD}]},
        {"id": "a1", "role": "assistant", "parts": [{"type": "step-start"}, call]},
    ]

    turn = told(chat.post({"messages": messages}))

    assert (last_text(turn), turn["gates"]) == (GAVE, [])
    assert only(chat)["decision"]["via"] == "in-band"
    assert chat.texts() == [ADD, GAVE]


def test_an_alias_of_two_open_gates_names_none(chat: Chat) -> None:
    asked = [
        event("gate-opened", turn_id="t1", kind="permission", permission_id="p") for _ in range(2)
    ]
    append(chat.client, chat.session_id, batch(1, started("t1"), *asked))

    assert problem(chat.decide("p"))[:2] == (409, "ambiguous-gate")
    assert problem(chat.answer("p"))[:2] == (409, "ambiguous-gate")
    assert [gate["status"] for gate in chat.read("/approvals")["items"]] == ["open", "open"]


@ON_ONE_DATABASE
@pytest.mark.parametrize("where", ["turns", "approvals"])
def test_what_answers_nothing_leaves_the_session_parked(chat: Chat, where: str) -> None:
    (gate,) = chat.asked()
    before = chat.seat()
    head = chat.read()["head"]

    answer = chat.answer("nothing") if where == "turns" else chat.decide("nothing")

    assert problem(answer)[:2] == (404, "no-such-gate")
    assert answer.json()["action"] == "refresh"
    assert chat.seat() == before
    assert chat.read()["head"]["history_version"] == head["history_version"]
    turn = told(chat.answer(gate))
    assert (last_text(turn), len(chat.events("harness-started"))) == (GAVE, 1)
    assert chat.events("harness-evicted") == []


@pytest.mark.parametrize("where", ["turns", "approvals"])
def test_the_same_answer_again_gets_the_same_and_another_the_first(chat: Chat, where: str) -> None:
    (gate,) = chat.asked()
    give = chat.answer if where == "turns" else chat.decide
    first = give(gate)
    turn_id = only(chat)["turn_id"]
    chat.ended(turn_id)

    again, other = give(gate), give(gate, "denied")

    assert again.status_code == first.status_code
    assert again.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    if where == "turns":
        assert again.json() == first.json()
    else:
        assert again.json()["decision"] == first.json()["decision"]
        assert again.json()["continuation"] == {"status": "started", "turn_id": turn_id}
    assert problem(other)[:2] == (409, "gate-already-decided")
    assert other.json()["decision"]["verdict"] == "approved"
    assert other.json()["gate_id"] == gate
    assert len(chat.made()) == 1
    assert chat.said("Hello")["path"] == "warm"


@ON_ONE_DATABASE
def test_denied_with_words_is_told_and_nothing_is_done(chat: Chat) -> None:
    (gate,) = chat.asked()

    turn = told(chat.answer(gate, "denied", message="Not today."))

    assert turn["status"] == "completed"
    assert chat.made() == []
    assert only(chat)["status"] == "denied"
    assert only(chat)["decision"]["message"] == "Not today."
    (result,) = [m for m in chat.transcript() if m["role"] == "tool"]
    assert result["parts"][0]["denied"] is True


@ON_ONE_DATABASE
def test_edited_arguments_reach_the_tool(chat: Chat) -> None:
    (gate,) = chat.asked()

    turn = told(chat.answer(gate, arguments={"a": 40, "b": 2}, on_behalf_of="ann"))

    assert [made.arguments for made in chat.made()] == [{"a": 40, "b": 2}]
    assert last_text(turn) == 'add gave {"sum":42}.'
    decision = only(chat)["decision"]
    assert (decision["arguments"], decision["on_behalf_of"]) == ({"a": 40, "b": 2}, "ann")
    assert only(chat)["arguments"] == {"a": 1, "b": 2}


@ON_ONE_DATABASE
def test_a_question_is_answered_with_words(chat: Chat) -> None:
    (gate,) = chat.asked("question: Your name?")

    assert problem(chat.answer(gate, "approved"))[:2] == (422, "invalid-value")
    assert problem(chat.decide(gate, "approved")) == (422, "invalid-value", ["/verdict"])
    turn = told(chat.answer(gate, "answered", answer="Bo"))

    assert last_text(turn) == 'You answered "Bo".'


@ON_ONE_DATABASE
def test_each_gate_of_a_turn_is_answered_by_itself(chat: Chat) -> None:
    first, second = chat.asked(TWO)
    turn_id = only_turn(chat)

    pending = chat.decide(first)
    assert pending.json()["continuation"] == {"status": "pending", "turn_id": turn_id}
    eventually(chat.made, lambda made: len(made) == 1)
    assert eventually(lambda: chat.turn(turn_id), lambda turn: turn["status"] == "paused")
    assert [gate["gate_id"] for gate in chat.read("/approvals")["items"]] == [second]

    last = chat.decide(second, "denied")
    assert last.json()["continuation"]["status"] == "started"
    assert chat.ended(turn_id)["status"] == "completed"
    assert [made.name for made in chat.made()] == ["add"]


def test_both_gates_are_answered_at_once(chat: Chat) -> None:
    first, second = chat.asked(TWO)
    answers = [{"gate": gate, "verdict": "approved"} for gate in (first, second)]

    turn = told(chat.post({"answers": answers}))

    assert turn["status"] == "completed"
    assert sorted(made.name for made in chat.made()) == ["add", "echo"]


def test_of_answers_that_do_not_all_fit_none_is_taken(chat: Chat) -> None:
    first, second = chat.asked(TWO)
    answers = [{"gate": gate, "verdict": "approved"} for gate in (first, "nothing", second)]

    assert problem(chat.post({"answers": answers}))[:2] == (404, "no-such-gate")
    assert len(chat.read("/approvals")["items"]) == 2
    assert chat.made() == []


def only_turn(chat: Chat) -> str:
    """Return the newest turn."""
    turn_id: str = chat.read("/turns")["items"][0]["turn_id"]
    return turn_id


@ON_ONE_DATABASE
def test_a_decision_is_answered_while_the_tool_runs(chat: Chat) -> None:
    (gate,) = chat.asked("ask: wait {}")

    decided = chat.decide(gate)

    assert decided.status_code == 202
    assert chat.turn(only_turn(chat))["status"] == "running"
    again = chat.decide(gate)
    assert (again.status_code, again.headers["idempotent-replayed"]) == (202, "true")
    chat.client.post(f"{chat.path}/interrupt", json={})


@ON_ONE_DATABASE
def test_words_that_name_no_gate_are_refused(chat: Chat) -> None:
    chat.asked()

    answer = chat.post({"messages": [user(ADD), agent("Well?")]})

    assert problem(answer) == (422, "invalid-value", ["/messages/1"])
