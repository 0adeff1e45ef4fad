"""Which gates does a request answer, by whichever name, and what does a result mean?"""

from typing import cast

import pytest

from domain import commands as c
from domain.dispatch.kinds import shape_of
from domain.json_text import JsonValue, parse
from domain.refusals import InvalidValue
from infrastructure.hosting.answers import decisions
from infrastructure.hosting.requests import answers_of, heard
from tests.infrastructure.hosting.telling import Json, Telling, assistant, call, user
from tests.infrastructure.writing import Store, target

BASE: Json = {"decided_by": "person"}


@pytest.fixture
def waiting(store: Store) -> Telling:
    """A session with a turn that waits: for permission to call c1 and c2, and for an answer."""
    telling = Telling(store)
    telling.carry_out(c.OpenSession())
    telling.record("turn-started", turn_id="t1", messages=[user("x")])
    for number in (1, 2):
        telling.record(
            "gate-opened",
            turn_id="t1",
            gate_id=f"g{number}",
            kind="permission",
            permission_id=f"p{number}",
            tool_call_id=f"c{number}",
            tool="rm",
            arguments={},
        )
    telling.record(
        "gate-opened", turn_id="t1", gate_id="g3", kind="input", tool_call_id="c3", tool="ask"
    )
    return telling


def decided(telling: Telling, *messages: Json, answers: tuple[Json, ...] = ()) -> list[Json]:
    """Return the data of what a request decides."""
    told = heard(cast("list[JsonValue]", list(messages)))
    shape = shape_of(told.carried, answers=bool(answers))
    given = answers_of(told, shape, cast("list[JsonValue]", list(answers)))
    with telling.reading() as connection:
        proposals = decisions(connection, target(telling.session_id), given)
    return [cast("Json", parse(proposal.body)) for proposal in proposals]


def results(*told: tuple[str, JsonValue]) -> Json:
    parts: list[JsonValue] = [
        {"type": "tool_result", "tool_call_id": call_id, "output": output}
        for call_id, output in told
    ]
    return {"role": "tool", "content": parts}


@pytest.mark.parametrize("name", ["g1", "p1", "c1"])
def test_a_gate_goes_by_each_of_its_names(waiting: Telling, name: str) -> None:
    answer: Json = {"gate": name, "verdict": "approved", "option_id": "once"}

    assert decided(waiting, answers=(answer,)) == [
        BASE | {"gate_id": "g1", "verdict": "approved", "via": "out-of-band", "option_id": "once"}
    ]


def test_a_gate_s_own_id_comes_before_any_other_name(waiting: Telling) -> None:
    waiting.record(
        "gate-opened",
        turn_id="t1",
        gate_id="c1",
        kind="input",
        permission_id="g2",
        tool_call_id="p1",
    )

    found = decided(
        waiting,
        answers=tuple({"gate": name, "verdict": "denied"} for name in ("c1", "g2", "p1")),
    )

    assert [each["gate_id"] for each in found] == ["c1", "g2", "g1"]


def test_an_answer_that_names_nothing_stays_one(waiting: Telling) -> None:
    answer: Json = {"gate": "elsewhere", "verdict": "approved"}

    assert decided(waiting, answers=(answer,)) == [
        BASE | {"gate_id": "elsewhere", "verdict": "approved", "via": "out-of-band"}
    ]


def test_a_session_that_is_not_there_has_no_gate(store: Store) -> None:
    answer: Json = {"gate": "g1", "verdict": "approved"}

    assert decided(Telling(store, "nowhere"), answers=(answer,))[0]["gate_id"] == "g1"
    assert decided(Telling(store, "nowhere"), user("x")) == []


def test_a_name_of_more_than_one_open_gate_stays_that_name(waiting: Telling) -> None:
    waiting.record("gate-opened", turn_id="t1", gate_id="g4", kind="permission", permission_id="p1")

    (found,) = decided(waiting, answers=({"gate": "p1", "verdict": "approved"},))

    assert (found["permission_id"], "gate_id" in found) == ("p1", False)


def test_a_result_that_approves_answers_the_permission_of_its_call(waiting: Telling) -> None:
    told = results(("c1", {"approved": True}), ("c2", {"approved": False, "reason": "no"}))

    assert decided(waiting, told) == [
        BASE | {"gate_id": "g1", "verdict": "approved", "via": "in-band"},
        BASE | {"gate_id": "g2", "verdict": "denied", "via": "in-band", "message": "no"},
    ]


def test_a_result_is_the_answer_to_a_question_whatever_it_says(waiting: Telling) -> None:
    outputs: list[JsonValue] = [{"approved": True}, "allow", None, [1, 2.5]]
    for output in outputs:
        assert decided(waiting, results(("c3", output))) == [
            BASE | {"gate_id": "g3", "verdict": "answered", "via": "in-band", "answer": output}
        ]


def test_of_forms_whose_results_are_text_an_object_is_read(waiting: Telling) -> None:
    def openai(call_id: str, content: JsonValue) -> Json:
        return {"role": "tool", "tool_call_id": call_id, "content": content}

    assert decided(waiting, openai("c3", '{"n": 4}'))[0]["answer"] == {"n": 4}
    assert decided(waiting, openai("c3", "4"))[0]["answer"] == "4"
    assert decided(waiting, openai("c3", None))[0]["answer"] == ""
    blocks: list[JsonValue] = [{"type": "text", "text": '{"approved": true}'}]
    anthropic: Json = {"type": "tool_result", "tool_use_id": "c1", "content": blocks}
    assert decided(waiting, {"role": "user", "content": [anthropic]})[0]["verdict"] == "approved"


def test_results_of_other_calls_are_history(waiting: Telling) -> None:
    told = results(("c0", "done"), ("c1", {"approved": True}), ("c2", "so it seems"))

    assert [each["gate_id"] for each in decided(waiting, told)] == ["g1"]


def test_a_result_that_is_all_there_is_is_an_answer_to_something(waiting: Telling) -> None:
    assert decided(waiting, results(("c0", "done"))) == [
        BASE | {"tool_call_id": "c0", "verdict": "answered", "via": "in-band", "answer": "done"}
    ]


def test_an_approval_of_nothing_is_not_taken_for_history(waiting: Telling) -> None:
    told = results(("c0", {"approved": True}), ("c1", {"approved": True}))

    assert [each.get("gate_id", each.get("tool_call_id")) for each in decided(waiting, told)] == [
        "c0",
        "g1",
    ]


def test_an_answer_that_comes_again_is_known_as_one(waiting: Telling) -> None:
    waiting.record(
        "gate-decided",
        gate_id="g3",
        verdict="answered",
        decided_by="person",
        via="in-band",
        answer="4",
    )

    assert decided(waiting, results(("c0", "done"), ("c3", "4")))[0]["gate_id"] == "g3"
    assert [
        each["gate_id"]
        for each in decided(waiting, results(("c3", "4"), ("c1", {"approved": True})))
    ] == ["g1"]


def test_what_one_gate_is_told_twice_has_to_be_the_same(waiting: Telling) -> None:
    yes: Json = {"gate": "g1", "verdict": "approved"}

    assert len(decided(waiting, answers=(yes, {**yes, "gate": "c1"}))) == 1
    with pytest.raises(InvalidValue) as refused:
        decided(waiting, answers=(yes, {"gate": "p1", "verdict": "denied"}))
    assert refused.value.at == ("answers", 1)


def test_an_approval_whose_id_is_none_of_ours_goes_by_its_call(waiting: Telling) -> None:
    part: Json = {
        "type": "tool-rm",
        "toolCallId": "c1",
        "state": "approval-responded",
        "input": {},
        "approval": {"id": "made-up", "approved": True},
    }

    assert decided(waiting, {"role": "assistant", "parts": [part]})[0]["gate_id"] == "g1"


def test_edited_arguments_are_part_of_the_decision(waiting: Telling) -> None:
    answer: Json = {
        "type": "gate_answer",
        "gate": "c1",
        "verdict": "approved",
        "arguments": {"path": "b", "n": 1.5},
    }
    told: Json = {"role": "user", "content": [answer]}

    assert decided(waiting, user("x"), assistant(call("c1")), told)[0]["arguments"] == {
        "path": "b",
        "n": 1.5,
    }
