"""What do the messages of a request say: what is new, what came before, what is answered?"""

from typing import cast

import pytest

from domain.dispatch.kinds import Carried, Kind, Shape, shape_of
from domain.json_text import JsonValue, parse
from domain.refusals import InvalidValue
from infrastructure.hosting.requests import Heard, answers_of, heard, prior_of, start_of
from projections.comparing.told import Form
from tests.infrastructure.hosting.telling import Json, assistant, call, hear, result, user

PRIOR = [user("a"), assistant("A")]
OPENAI_CALL: Json = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "rm", "arguments": "{}"}}],
}
OPENAI_ANSWER: Json = {"role": "tool", "tool_call_id": "c1", "content": '{"approved": true}'}


def judged(*messages: Json, form: Form | None = None, answers: bool = False) -> tuple[Heard, Shape]:
    told = hear(*messages, form=form)
    return told, shape_of(told.carried, answers=answers)


def started(told: Heard, shape: Shape) -> Json:
    proposal = start_of(told, shape, "t1")
    assert proposal is not None
    return cast("Json", parse(proposal.body))


def before(told: Heard, shape: Shape) -> list[Json]:
    """Return what is told of the past: role and parts."""
    prior = prior_of(told, shape)
    messages = () if prior is None else prior.messages
    return [
        {"role": each.role, "parts": [dict(part) for part, _ in each.parts]} for each in messages
    ]


def said(**members: JsonValue) -> Json:
    """Return what a person says in one part."""
    return {"role": "user", "content": [members]}


def ui_call(state: str, **more: JsonValue) -> Json:
    part: Json = {"type": "tool-rm", "toolCallId": "c1", "state": state, "input": {}, **more}
    return {"role": "assistant", "parts": [{"type": "text", "text": "May I?"}, part]}


OPENAI_IMAGE: Json = {
    "role": "user",
    "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}],
}
ANTHROPIC_ANSWER: Json = {
    "role": "user",
    "content": [
        {"type": "tool_result", "tool_use_id": "c1", "content": "{}"},
        {"type": "text", "text": "and"},
    ],
}
UI_ANSWER: list[Json] = [
    {"role": "user", "parts": [{"type": "text", "text": "a"}]},
    ui_call("approval-responded", approval={"id": "g1", "approved": True}),
]
OURS_ANSWER = assistant(call("c1")), result("c1", {"approved": True})


@pytest.mark.parametrize(
    ("messages", "form", "kind"),
    [
        ([user("x")], "turnlog", "minimal"),
        ([*PRIOR, user("x")], "turnlog", "full"),
        ([{"role": "system", "content": "s"}, user("x")], "turnlog", "minimal"),
        ([said(type="attachment", sha256="0" * 64)], "turnlog", "minimal"),
        ([OPENAI_IMAGE], "openai", "minimal"),
        ([said(type="gate_answer", gate="g", verdict="denied")], "turnlog", "answer"),
        ([user("a"), *OURS_ANSWER], "turnlog", "resume"),
        ([user("a"), OPENAI_CALL, OPENAI_ANSWER], "openai", "resume"),
        ([ANTHROPIC_ANSWER], "anthropic", "answer+text"),
        (UI_ANSWER, "ui", "resume"),
    ],
)
def test_a_request_is_known_by_its_shape_in_each_form(
    messages: list[Json], form: Form, kind: Kind
) -> None:
    told, shape = judged(*messages)

    assert (told.form, shape.kind) == (form, kind)


def test_what_is_new_begins_the_turn() -> None:
    told, shape = judged(*PRIOR, user("x", message_id="m1", author={"subject_id": "p1"}))

    assert started(told, shape) == {
        "turn_id": "t1",
        "messages": [
            {
                "role": "user",
                "content": "x",
                "message_id": "m1",
                "author": {"subject_id": "p1"},
            }
        ],
        "history_sent": "full",
    }


def test_a_file_that_is_new_lies_beside_the_log() -> None:
    image: Json = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8="}}
    said: Json = {
        "role": "user",
        "content": [{"type": "text", "text": "see"}, image],
        "name": "Pat",
    }
    told, shape = judged(said)

    proposal = start_of(told, shape, "t1")

    assert proposal is not None
    assert [blob.content for blob in proposal.blobs] == [b"hello"]
    (message,) = started(told, shape)["messages"]
    digest = proposal.blobs[0].sha256
    assert message["author"] == {"subject_id": "Pat"}
    assert message["content"] == [
        {"type": "text", "text": "see"},
        {
            "type": "attachment",
            "media_type": "image/png",
            "attachment_id": f"sha256-{digest}",
            "sha256": digest,
            "size": 5,
        },
    ]


def test_answers_beside_the_new_text_are_no_words_of_it() -> None:
    answer: Json = {"type": "gate_answer", "gate": "g1", "verdict": "approved", "message": "fine"}
    told, shape = judged({"role": "user", "content": [answer, {"type": "text", "text": "go"}]})

    assert shape.kind == "answer+text"
    assert started(told, shape)["messages"][0]["content"] == "go"
    (found,) = answers_of(told, shape)
    assert (found.gate, found.verdict, found.via, found.said) == (
        "g1",
        "approved",
        "in-band",
        {"message": "fine"},
    )
    assert found.at == ("messages", 0, "content", 0)


def test_a_request_without_new_text_starts_nothing() -> None:
    told, shape = judged(user("a"), OPENAI_CALL, OPENAI_ANSWER)

    assert start_of(told, shape, "t1") is None


def test_what_came_before_is_all_but_what_configures_and_what_is_new() -> None:
    system: Json = {"role": "system", "content": "be brief"}
    told, shape = judged(system, *PRIOR, {"role": "assistant", "content": []}, user("x"))

    assert told.leading == ({"role": "system", "text": "be brief"},)
    assert before(told, shape) == [
        {"role": "user", "parts": [{"type": "text", "text": "a"}]},
        {"role": "assistant", "parts": [{"type": "text", "text": "A"}]},
    ]
    assert before(*judged(user("x"))) == []


def test_instructions_are_the_same_in_each_form() -> None:
    parts: Json = {"role": "system", "parts": [{"type": "text", "text": "be brief"}]}
    words: Json = {"role": "system", "content": "be brief"}

    assert hear(words).leading == hear(parts).leading
    assert hear(words, words).leading == hear(parts).leading * 2


def test_the_question_that_is_answered_is_part_of_what_came_before() -> None:
    answered = ui_call("approval-responded", approval={"id": "g1", "approved": True})
    asked: Json = {"role": "user", "parts": [{"type": "text", "text": "a"}]}

    assert before(*judged(asked, answered)) == [
        {"role": "user", "parts": [{"type": "text", "text": "a"}]},
        {
            "role": "assistant",
            "parts": [
                {"type": "text", "text": "May I?"},
                {"type": "tool_call", "tool_call_id": "c1", "name": "rm", "arguments": {}},
            ],
        },
    ]
    assert [each["role"] for each in before(*judged(user("a"), OPENAI_CALL, OPENAI_ANSWER))] == [
        "user",
        "assistant",
    ]
    assert before(*judged(answered)) == []


def test_an_agent_s_own_results_are_history_and_its_approvals_are_none() -> None:
    spoken = assistant(
        call("c1"),
        {"type": "tool_result", "tool_call_id": "c1", "output": "done"},
        call("c2"),
        {"type": "tool_result", "tool_call_id": "c2", "output": {"approved": True}},
    )
    parts = before(*judged(user("a"), spoken))[1]["parts"]

    assert [part["type"] for part in parts] == ["tool_call", "tool_result", "tool_call"]


def test_what_was_answered_before_the_question_is_part_of_a_resumed_prior() -> None:
    told, shape = judged(user("a"), OPENAI_CALL, answers=True)

    assert shape.kind == "resume"
    assert [each["role"] for each in before(told, shape)] == ["user", "assistant"]


def test_results_that_end_a_request_one_by_one_answer_together() -> None:
    second: Json = {"role": "tool", "tool_call_id": "c2", "content": '{"approved": false}'}
    told, shape = judged(user("a"), OPENAI_CALL, OPENAI_ANSWER, second)

    assert told.carried[-1] == Carried(index=3, role="tool", results=("c1", "c2"))
    assert [(answer.gate, answer.output) for answer in answers_of(told, shape)] == [
        ("c1", {"approved": True}),
        ("c2", {"approved": False}),
    ]


def test_an_approval_names_its_gate_and_its_call() -> None:
    approval: Json = {"id": "g1", "approved": False, "reason": "not that one"}
    told, shape = judged(ui_call("approval-responded", approval=approval))

    (answer,) = answers_of(told, shape)
    assert (answer.gate, answer.call, answer.verdict) == ("g1", "c1", "denied")
    assert answer.said == {"message": "not that one"}
    assert answer.at == ("messages", 0, "parts", 1)


def test_a_call_that_was_not_answered_answers_nothing() -> None:
    told, shape = judged(ui_call("approval-requested", approval={"id": "g1"}))

    assert (shape.kind, answers_of(told, shape)) == ("answer", ())


def test_the_body_s_answers_come_out_of_band() -> None:
    told = heard([])
    shape = shape_of(told.carried, answers=True)
    given: list[JsonValue] = [
        {"gate": "g1", "verdict": "answered", "answer": 4.5, "on_behalf_of": "p1", "message": None},
    ]

    (answer,) = answers_of(told, shape, given)

    assert (answer.via, answer.at) == ("out-of-band", ("answers", 0))
    assert answer.said == {"answer": 4.5, "on_behalf_of": "p1"}


@pytest.mark.parametrize(
    ("given", "at"),
    [
        ("yes", ()),
        ({"gate": "g", "verdict": "approved", "why": "x"}, ("why",)),
        ({"verdict": "approved"}, ("gate",)),
        ({"gate": "\n", "verdict": "approved"}, ("gate",)),
        ({"gate": "g", "verdict": "maybe"}, ("verdict",)),
        ({"gate": "g", "verdict": "approved", "option_id": 1}, ("option_id",)),
        ({"gate": "g", "verdict": "approved", "arguments": [1]}, ("arguments",)),
    ],
)
def test_an_answer_that_is_none_is_refused_with_its_place(
    given: JsonValue, at: tuple[str, ...]
) -> None:
    told = heard([])
    with pytest.raises(InvalidValue) as refused:
        answers_of(told, shape_of(told.carried, answers=True), [given])

    assert refused.value.at == ("answers", 0, *at)


def test_more_answers_than_gates_can_be_open_are_refused() -> None:
    told = heard([])
    given: list[JsonValue] = [{"gate": f"g{n}", "verdict": "denied"} for n in range(101)]
    with pytest.raises(InvalidValue) as refused:
        answers_of(told, shape_of(told.carried, answers=True), given)

    assert refused.value.at == ("answers",)


@pytest.mark.parametrize(
    ("message", "form", "at"),
    [
        ({"role": "robot", "content": "x"}, None, (0, "role")),
        (said(type="text", text=5), None, (0, "content", 0, "text")),
        (said(type="gate_answer", gate="g", verdict=5), None, (0, "content", 0, "verdict")),
        (said(type="tool_call", tool_call_id="c", name="n"), None, (0,)),
        (said(type="attachment", data="??"), None, (0, "content", 0, "data")),
        (said(type="attachment", data="aGk=", size=3), None, (0, "content", 0, "size")),
        (said(type="attachment", data="aGk=", sha256="0"), None, (0, "content", 0, "sha256")),
        (said(type="attachment", filename=5), None, (0, "content", 0, "filename")),
        (said(type="attachment"), None, (0, "content", 0)),
        (said(type="data", data=1), None, (0, "content", 0, "kind")),
        (user("x", message_id="\n"), None, (0, "message_id")),
        (user("x", author="Pat"), None, (0, "author")),
        (user("x", author={"subject_id": "p", "display": 5}), None, (0, "author")),
        ({"role": "user", "content": 5}, "anthropic", (0, "content")),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_place(
    message: Json, form: Form | None, at: tuple[str | int, ...]
) -> None:
    with pytest.raises(InvalidValue) as refused:
        hear(message, form=form)

    assert refused.value.at == ("messages", *at)


def test_names_that_are_none_become_like_ones() -> None:
    odd: Json = {
        "type": "tool_call",
        "tool_call_id": "",
        "name": "a" * 300,
        "arguments": [1, 2.50],
    }
    unnamed: Json = {"role": "user", "id": "\n", "content": "x", "name": ""}
    told = hear(
        assistant(odd, call("c1"), {"type": "tool_call", "tool_call_id": "c2", "name": "n"})
    )
    (message,) = told.messages
    made, _, bare = (part for part, _ in message.told[0].parts)

    assert made["tool_call_id"] == "call-unnamed"
    assert str(made["name"]).startswith("tool-")
    assert (made["arguments"], bare["arguments"]) == ("[1,2.5]", {})
    (spoken,) = hear(unnamed, form="openai").messages
    assert (spoken.told[0].message_id, spoken.told[0].author) == (None, None)


def test_a_result_says_whether_it_failed_if_it_says_so() -> None:
    part: Json = {"type": "tool_result", "tool_call_id": "c1", "output": 1, "is_error": None}
    (message,) = hear({"role": "tool", "content": [part]}).messages

    assert dict(message.told[0].parts[0][0]) == {**part, "is_error": False}


def test_of_messages_with_one_id_the_newest_has_it() -> None:
    told = hear(user("a", message_id="m1"), assistant("A"), user("b", message_id="m1"))

    assert [message.told[0].message_id for message in told.messages] == [None, None, "m1"]


def test_an_author_may_have_a_name_to_be_shown() -> None:
    author: Json = {"subject_id": "p1", "display": "Pat"}
    told = hear(user("a", author=author), user("b"))

    assert [message.told[0].author for message in told.messages] == [author, None]


def test_what_nobody_knows_stays_as_it_is() -> None:
    odd: Json = {"type": "hologram", "depth": None}
    told, shape = judged({"role": "user", "content": [odd, {"type": "text", "text": "x"}]})

    assert started(told, shape)["messages"][0]["content"] == [odd, {"type": "text", "text": "x"}]
