"""New words while something waits for a decision: never an approval by themselves."""

from tests.api.batches import problem
from tests.api.chats import ADD, GAVE, Chat, last_text, told, user


def status_of(chat: Chat, gate: str) -> str:
    """Return where a gate stands."""
    found: str = chat.client.get(f"/approvals/{gate}").json()["status"]
    return found


def test_new_text_is_refused_with_the_gate_that_waits(chat: Chat) -> None:
    (gate,) = chat.asked()
    before = chat.seat()

    answer = chat.say("yes")

    assert problem(answer)[:2] == (409, "gate-open")
    assert (answer.json()["gate_id"], answer.json()["action"]) == (gate, "answer-gate")
    assert (status_of(chat, gate), chat.made()) == ("open", [])
    assert chat.seat() == before


def test_new_text_withdraws_the_question_if_that_is_asked_for(chat: Chat) -> None:
    (gate,) = chat.asked()

    turn = told(chat.say("Something else", on_gate="withdraw"))

    assert last_text(turn) == 'Message 2: you said "Something else".'
    assert (status_of(chat, gate), chat.made()) == ("withdrawn", [])
    assert problem(chat.answer(gate))[:2] == (410, "gate-gone")
    (withdrawn,) = chat.events("gate-withdrawn")
    assert withdrawn["data"]["reason"]


def test_an_answer_with_text_ends_the_turn_and_begins_one(chat: Chat) -> None:
    (gate,) = chat.asked()

    answers = [{"gate": gate, "verdict": "approved"}]
    turn = told(chat.post({"messages": [user("And now?")], "answers": answers}))

    assert last_text(turn) == 'Message 2: you said "And now?".'
    assert chat.texts() == [ADD, GAVE, "And now?", 'Message 2: you said "And now?".']
    assert status_of(chat, gate) == "allowed"
    assert len(chat.events("harness-started")) == 1


def test_an_answer_with_text_goes_on_from_the_head_that_it_claims(chat: Chat) -> None:
    (gate,) = chat.asked()
    claimed = {name: chat.read()["head"][name] for name in ("history_version", "fingerprint")}

    answers = [{"gate": gate, "verdict": "approved"}]
    turn = told(chat.post({"messages": [user("And now?")], "answers": answers, "head": claimed}))

    assert last_text(turn) == 'Message 2: you said "And now?".'


def test_a_key_has_an_answer_and_its_text_taken_once(chat: Chat) -> None:
    (gate,) = chat.asked()
    answers = [{"gate": gate, "verdict": "approved"}]
    body = {"messages": [user("And now?")], "answers": answers}

    first, again = (chat.post(body, {"Idempotency-Key": "k"}) for _ in range(2))

    assert told(again)["turn_id"] == told(first)["turn_id"]
    assert again.headers["idempotent-replayed"] == "true"
    assert (chat.texts().count("And now?"), len(chat.made())) == (1, 1)


def test_an_answer_with_text_that_is_refused_is_refused_whole(chat: Chat) -> None:
    first, second = chat.asked('ask: add {"a":1,"b":2}; echo {"say":"hi"}')

    answers = [{"gate": first, "verdict": "approved"}]
    answer = chat.post({"messages": [user("And now?")], "answers": answers})

    assert problem(answer)[:2] == (409, "gate-open")
    assert [status_of(chat, gate) for gate in (first, second)] == ["open", "open"]
    assert chat.made() == []


def test_a_denial_with_text_is_both(chat: Chat) -> None:
    (gate,) = chat.asked()

    answers = [{"gate": gate, "verdict": "denied"}]
    turn = told(chat.post({"messages": [user("Do not.")], "answers": answers}))

    assert last_text(turn) == 'Message 2: you said "Do not.".'
    assert (status_of(chat, gate), chat.made()) == ("denied", [])


def test_a_resume_that_sends_everything_again_stores_nothing_twice(chat: Chat) -> None:
    (gate,) = chat.asked()
    call = chat.transcript()[1]
    part = {"type": "gate_answer", "gate": gate, "verdict": "approved"}
    messages = [
        user(ADD),
        {"role": "assistant", "content": [_sent(call["parts"][0])]},
        {"role": "user", "content": [part]},
    ]

    turn = told(chat.post({"messages": messages}))

    assert last_text(turn) == GAVE
    assert chat.texts() == [ADD, GAVE]
    assert len(chat.events("turn-started")) == 1
    assert [m["role"] for m in chat.transcript()] == ["user", "assistant", "tool", "assistant"]


def _sent(part: dict[str, object]) -> dict[str, object]:
    """Return a call as a client has it."""
    return {name: part[name] for name in ("type", "tool_call_id", "name", "arguments")}
