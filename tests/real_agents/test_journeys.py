"""Does a turn on a real agent hold what a turn on the demo agent does?"""

import pytest

from tests.real_agents.bodies import INPUT_TOKENS, OUTPUT_TOKENS
from tests.real_agents.conversing import Conversation
from tests.real_agents.script import Heard, Json

HISTORY = "<turnlog-history>"


def test_a_second_turn_is_warm_and_its_model_was_sent_the_first(chat: Conversation) -> None:
    first = chat.say("remember colour=green")
    second = chat.say("what is colour?")

    assert [turn["path"] for turn in (first, second)] == ["cold", "warm"]
    assert [turn["status"] for turn in (first, second)] == ["completed", "completed"]
    assert said(second).endswith("colour is green.")
    sent = chat.place.model.last()
    assert holding(sent, "user", "remember colour=green") == 1
    assert holding(sent, "assistant", "Noted.") == 1
    assert [message["role"] for message in chat.messages()] == ["user", "assistant"] * 2


def test_what_a_model_used_is_counted_turn_by_turn(chat: Conversation) -> None:
    turns = [chat.say(text) for text in ("remember colour=green", "what is colour?")]

    used = [(turn["usage"]["input_tokens"], turn["usage"]["output_tokens"]) for turn in turns]
    assert used == [(INPUT_TOKENS, OUTPUT_TOKENS)] * 2


def test_a_call_is_recorded_once_with_its_result(chat: Conversation) -> None:
    turn = chat.say("run: echo quick-as-light")

    assert turn["status"] == "completed"
    (call,), (result,) = calls(turn), results(turn)
    assert "echo quick-as-light" in str(call["arguments"])
    assert call["status"] == "completed"
    assert result["tool_call_id"] == call["tool_call_id"]
    assert "quick-as-light" in str(result["output"])
    assert said(turn) == "It is done."
    answered_in_place(chat.for_openai())


def test_an_approved_call_is_made_once(chat: Conversation) -> None:
    made = chat.place.work / "approved"
    waiting = chat.say(f"run: {appending(made.name)}")

    assert waiting["status"] == "paused"
    (call,) = calls(waiting)
    assert made.name in str(call["arguments"])
    assert not made.exists()
    ended = chat.decide(waiting, "approved")
    after = chat.say("remember colour=red")

    assert ended["status"] == "completed"
    assert made.read_text() == "made\n"
    (result,) = [result for each in chat.messages() for result in parts(each, "tool_result")]
    assert (result["tool_call_id"], result["is_error"]) == (call["tool_call_id"], False)
    assert len(chat.events("gate-consumed")) == 1
    assert (after["path"], after["status"]) == ("warm", "completed")
    answered_in_place(chat.for_openai())


def test_a_denied_call_is_not_made_and_the_conversation_goes_on(chat: Conversation) -> None:
    made = chat.place.work / "denied"
    waiting = chat.say(f"run: {appending(made.name)}")
    ended = chat.decide(waiting, "denied")
    after = chat.say("remember colour=red")

    assert ended["status"] in {"completed", "interrupted"}
    assert not made.exists()
    (result,) = [result for each in chat.messages() for result in parts(each, "tool_result")]
    assert result["denied"] or result["is_error"]
    assert after["status"] == "completed"
    assert said(after).endswith("Noted.")
    answered_in_place(chat.for_openai())


def test_a_cold_turn_is_told_the_history_once_and_forgets_nothing(chat: Conversation) -> None:
    chat.say("remember colour=green")
    assert chat.let_go()
    assert chat.place.processes() == []
    cold = chat.say("what is colour?")
    sent = chat.place.model.last()
    warm = chat.say("what is colour?")

    assert (cold["path"], cold["history_from"]) == ("cold", "log")
    assert said(cold).endswith("colour is green.")
    for heard in (sent, chat.place.model.last()):
        words = "\n".join(message.text for message in heard)
        assert (words.count(HISTORY), words.count("remember colour=green")) == (1, 1)
    assert (warm["path"], warm["status"]) == ("warm", "completed")
    assert said(warm).endswith("colour is green.")
    answered_in_place(chat.for_openai())


def test_a_call_that_is_approved_when_its_agent_is_gone_is_made_once(chat: Conversation) -> None:
    made = chat.place.work / "approved-later"
    waiting = chat.say(f"run: {appending(made.name)}")
    assert chat.let_go()
    ended = chat.decide(waiting, "approved")

    assert ended["status"] == "completed"
    assert made.read_text() == "made\n"
    assert len(chat.events("gate-opened")) == 1
    assert len(chat.events("harness-started")) == 2
    answered_in_place(chat.for_openai())


def test_a_call_that_was_interrupted_is_not_heard_of_in_later_turns(chat: Conversation) -> None:
    begun = chat.place.work / "begun"
    waiting = chat.say("run: sh -c 'echo begun > begun; sleep 3; echo late > late'")
    (gate,) = waiting["gates"]
    chat.give(gate["gate_id"], "approved")
    chat.until(begun.exists)
    chat.interrupt()
    stopped = chat.ended(waiting["turn_id"])
    next_one = chat.say("remember colour=green")
    chat.until(lambda: not chat.place.runs(b"sleep"))
    last = chat.say("what is colour?")

    assert stopped["status"] == "interrupted"
    assert len([result for each in chat.messages() for result in parts(each, "tool_result")]) == 1
    for turn in (next_one, last):
        assert turn["status"] == "completed"
        assert (calls(turn), results(turn)) == ([], [])
    assert said(last).endswith("colour is green.")
    answered_in_place(chat.for_openai())


def test_a_plan_is_recorded(chat: Conversation) -> None:
    turn = chat.say("plan: look; leap")
    if said(turn).endswith("no tool for it."):
        pytest.skip(f"{chat.place.agent.name} offers its model no list of things to do")

    told = [each["data"]["entries"] for each in chat.events("data-recorded") if is_plan(each)]
    if not told:  # one that tells it as the call that it is
        told = [call["arguments"]["todos"] for call in calls(turn)]
    assert [[entry["content"] for entry in entries] for entries in told] == [["look", "leap"]]


def test_nothing_of_an_agent_is_left_when_it_is_let_go(chat: Conversation) -> None:
    chat.say("remember colour=green")
    assert chat.place.processes() != []

    assert chat.let_go()

    assert chat.place.processes() == []


def test_all_that_was_recorded_is_as_it_was_written(chat: Conversation) -> None:
    chat.say("remember colour=green")

    chat.place.user.well("verify", "--all")


def appending(name: str) -> str:
    """Return a command that writes a line each time it is run, and that needs permission."""
    return f"sh -c 'echo made >> {name}'"


def is_plan(event: Json) -> bool:
    """Tell whether an event says what an agent means to do."""
    return bool(event["kind"] == "plan")


def parts(message: Json, kind: str) -> list[Json]:
    """Return the parts of a kind."""
    return [part for part in message["parts"] if part["type"] == kind]


def calls(turn: Json) -> list[Json]:
    """Return the calls of a turn."""
    return [call for each in turn["messages"] for call in parts(each, "tool_call")]


def results(turn: Json) -> list[Json]:
    """Return the results of a turn."""
    return [result for each in turn["messages"] for result in parts(each, "tool_result")]


def said(turn: Json) -> str:
    """Return what the agent said last."""
    (*_, last) = [each for each in turn["messages"] if each["role"] == "assistant"]
    return "".join(part["text"] for part in parts(last, "text"))


def holding(sent: list[Heard], role: str, words: str) -> int:
    """Return how many messages of a role that a model was sent hold something."""
    return sum(message.role == role and words in message.text for message in sent)


def answered_in_place(messages: list[Json]) -> None:
    """Assert that each call is answered once, right after the message that makes it."""
    expected: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in expected
            expected.remove(message["tool_call_id"])
            continue
        assert expected == []
        expected = [call["id"] for call in message.get("tool_calls") or ()]
    assert expected == []
