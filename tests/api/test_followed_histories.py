"""A client that sends its whole history with a turn: it is compared, followed, and counted."""

from typing import Any, cast

import pytest

from projections.comparing.told import Form
from tests.api.batches import Json, problem
from tests.api.chats import GAVE, Chat, agent, user

ELSE = [user("we met in May"), agent("So we did.")]


def words(chat: Chat) -> list[str]:
    return [text.partition(":")[0] for text in chat.texts()]


def types(chat: Chat) -> list[str]:
    return [each["type"] for each in chat.events()]


def full(chat: Chat, *messages: Json, **more: object) -> Json:
    """Say the newest of these messages, after all others."""
    answer = chat.post({"messages": [*messages], **more})
    assert answer.status_code == 200, answer.text
    told: Json = answer.json()
    return told


def test_a_whole_history_that_is_the_log_s_keeps_the_harness(chat: Chat) -> None:
    chat.said("one")
    turn = full(chat, user("one"), agent("whatever"), user("two"))

    assert (turn["path"], turn["history_from"]) == ("warm", "harness")
    assert "history-diverged" not in types(chat)
    assert chat.read()["agreement"]["consecutive"] == 1


def test_another_history_takes_the_place_of_what_differs(chat: Chat) -> None:
    chat.said("one")
    chat.said("two")
    turn = full(chat, user("one"), agent("whatever"), *ELSE, user("three"))

    assert (turn["path"], turn["reason"]) == ("evicted", "history")
    assert chat.texts()[0] == "one"
    assert chat.texts()[2:5] == ["we met in May", "So we did.", "three"]
    (diverged,) = chat.events("history-diverged")
    assert diverged["data"] == {
        "kind": "text",
        "turns": 1,
        "messages": 2,
        "index": 2,
        "client_index": 2,
    }
    assert chat.read()["agreement"]["consecutive"] == 0


def test_what_was_followed_is_told_to_the_harness(chat: Chat) -> None:
    chat.said("remember name=Ada")
    full(chat, user("remember name=Bob"), agent("Noted."), user("go on"))

    assert "Bob" in chat.said("what is name?")["messages"][-1]["parts"][0]["text"]


def test_what_a_followed_history_took_out_of_sight_comes_back(chat: Chat) -> None:
    chat.said("one")
    full(chat, *ELSE, user("two"))
    (rewound,) = chat.events("history-rewound")

    back = chat.client.post(f"{chat.path}/redo", json={"rewind_version": rewound["version"]})

    assert back.status_code == 200, back.text
    assert chat.texts()[0] == "one"


def test_a_client_that_claims_a_head_believes_the_log(chat: Chat) -> None:
    head = chat.said("one")["head"]
    claim = {name: head[name] for name in ("history_version", "fingerprint")}
    answer = chat.post({"messages": [*ELSE, user("two")], "head": claim})

    assert problem(answer) == (409, "history-diverged", [])
    assert answer.json()["difference"] == {"kind": "text", "index": 0, "client_index": 0}
    shorter = chat.post({"messages": [user("one"), user("two")], "head": claim})
    assert problem(shorter) == (422, "invalid-value", ["/messages/1"])
    assert words(chat)[0] == "one"


@pytest.mark.parametrize("form", ["turnlog", "openai", "anthropic", "ui"])
def test_a_session_begins_with_what_a_client_has(chat: Chat, form: Form) -> None:
    messages = {
        "turnlog": [*ELSE, user("go on")],
        "openai": [*ELSE, user("go on")],
        "anthropic": [*ELSE, user("go on")],
        "ui": [
            {"role": each["role"], "parts": [{"type": "text", "text": each["content"]}]}
            for each in (*ELSE, user("go on"))
        ],
    }[form]
    turn = full(chat, *messages, format=form)

    assert (turn["path"], turn["history_from"]) == ("cold", "client")
    assert chat.texts()[:3] == ["we met in May", "So we did.", "go on"]
    (asserted,) = chat.events("history-asserted")
    assert asserted["data"]["messages"] == len(ELSE)


def test_a_whole_history_heals_a_session_that_lacks_records(chat: Chat) -> None:
    chat.said("one")
    lost: dict[str, Any] = {"type": "records-lost", "data": {"count": 1, "reason": "full"}}
    who = {"id": "recorder", "epoch": 1, "sequence": 1}
    chat.client.post(f"{chat.path}/events", json={"producer": who, "events": [lost]})
    assert not chat.read("/readiness")["ready"]

    turn = full(chat, user("one"), agent("?"), user("two"))

    assert (turn["path"], turn["readiness"]["ready"]) == ("warm", True)
    (asserted,) = chat.events("history-asserted")
    assert asserted["data"] == {"messages": 0, "reasons": ["records-lost"]}


def test_a_rewind_and_another_history_are_one_going_back(chat: Chat) -> None:
    for text in ("one", "two", "three"):
        chat.said(text)
    full(chat, user("one"), agent("?"), *ELSE, user("four"), rewind={"turns": 1})

    (rewound,) = chat.events("history-rewound")
    assert rewound["data"]["turns"] == 2
    assert chat.texts()[2:5] == ["we met in May", "So we did.", "four"]


def test_after_a_rewind_what_is_left_is_what_is_compared(chat: Chat) -> None:
    chat.said("one")
    chat.said("two")
    full(chat, user("one"), agent("?"), user("three"), rewind={"turns": 1})

    assert "history-diverged" not in types(chat)
    assert chat.read()["agreement"]["consecutive"] == 1


def test_an_approval_at_the_end_of_a_whole_history_is_an_answer(chat: Chat) -> None:
    gate_id, *_ = chat.asked()
    shown = chat.read("/transcript", format="ui")["messages"]
    part = cast("Json", shown[-1]["parts"][-1])
    assert part["approval"] == {"id": gate_id}
    part |= {"state": "approval-responded", "approval": {"id": gate_id, "approved": True}}

    turn = full(chat, *shown)

    assert turn["status"] == "completed"
    assert chat.texts()[-1].endswith(GAVE)
    assert types(chat).count("harness-started") == 1
    assert "history-rewound" not in types(chat)


def test_a_result_that_approves_answers_in_other_forms(chat: Chat) -> None:
    chat.asked()
    shown = chat.read("/transcript", format="openai")["messages"]
    asked = [message for message in shown if message["role"] != "tool"]
    call_id = asked[-1]["tool_calls"][0]["id"]
    approval = {"role": "tool", "tool_call_id": call_id, "content": '{"approved": true}'}

    turn = full(chat, *asked, approval)

    assert turn["status"] == "completed"
    assert types(chat).count("harness-started") == 1
    assert "history-rewound" not in types(chat)


def test_more_than_a_batch_holds_is_to_be_imported(chat: Chat) -> None:
    many = [user("x"), agent("y")] * 400

    answer = chat.post({"messages": [*many, user("z")]})

    assert problem(answer) == (413, "too-many-events", ["/messages"])
    assert chat.texts() == []
