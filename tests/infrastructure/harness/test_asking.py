"""How does what an agent asks reach whoever answers, and the answer the agent?"""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from domain.json_text import JsonValue
from infrastructure.harness.acp.conversation import AcpHarness
from infrastructure.harness.port import Answer, Asked, CallAnnounced, CallEnded, Option
from tests.infrastructure.harness.stage import OPTIONS, Ear, harness, play, puppet

pytestmark = pytest.mark.anyio

CALL: Mapping[str, Any] = {"toolCallId": "c", "title": "rm -r x", "rawInput": {"path": "x"}}
ASK: Mapping[str, Any] = {"toolCall": CALL, "options": OPTIONS}
SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {"colour": {"type": "string"}}}
FORM: Mapping[str, Any] = {"mode": "form", "message": "Which?", "requestedSchema": SCHEMA}
EXTENDED: Mapping[str, Any] = {"capabilities": {"_meta": {"turnlog.dev/history": True}}}


def answering(agent: AcpHarness, answer: Answer) -> Ear:
    """Return whoever answers everything so."""

    async def answer_it(asked: Asked) -> None:
        assert await agent.answer(asked.permission_id, answer)
        assert not await agent.answer(asked.permission_id, answer)

    return Ear(on_asked=answer_it)


async def outcome(
    tmp_path: Path, answer: Answer, *script: Mapping[str, Any], how: Mapping[str, Any] | None = None
) -> Any:  # noqa: ANN401 - whatever an agent was answered
    """Return what the agent was answered."""
    async with harness(tmp_path, puppet(how=how)) as agent:
        _, ear = await play(agent, *script, ear=answering(agent, answer))
    return json.loads(ear.said)


async def test_a_permission_is_asked_for_with_a_call_that_was_never_announced(
    tmp_path: Path,
) -> None:
    async with harness(tmp_path, puppet()) as agent:
        ear = answering(agent, Answer(verdict="approved"))
        ended = {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed"}
        await play(agent, {"ask": ASK}, {"update": {**ended, "rawOutput": {"n": 1}}}, ear=ear)

    (asked,) = ear.questions
    assert ear.heard[:2] == [
        CallAnnounced(tool_call_id="c", name="rm -r x", arguments={"path": "x"}),
        Asked(
            kind="permission",
            permission_id=asked.permission_id,
            tool_call_id="c",
            tool="rm -r x",
            arguments={"path": "x"},
            options=(
                Option(option_id="always", name="Always", kind="allow_always"),
                Option(option_id="yes", name="Yes", kind="allow_once"),
                Option(option_id="no", name="No", kind="reject_once"),
            ),
        ),
    ]
    assert ear.heard[-1] == CallEnded(tool_call_id="c", end="completed", output={"n": 1})


@pytest.mark.parametrize(
    ("said", "kind"),
    [({"kind": "read"}, "read"), ({"kind": "switch_mode"}, "unknown"), ({"kind": 7}, "unknown")],
)
async def test_of_what_kind_a_tool_is_only_its_agent_says(
    tmp_path: Path, said: Mapping[str, Any], kind: str
) -> None:
    async with harness(tmp_path, puppet()) as agent:
        ear = answering(agent, Answer(verdict="denied"))
        await play(agent, {"ask": {**ASK, "toolCall": {**CALL, **said}}}, ear=ear)

    assert [asked.tool_kind for asked in ear.questions] == [kind]


async def test_a_call_is_announced_once_whoever_tells_first(tmp_path: Path) -> None:
    pending = {"sessionUpdate": "tool_call", "status": "pending", "kind": "execute", **CALL}
    running = {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "in_progress"}

    async with harness(tmp_path, puppet()) as agent:
        ear = answering(agent, Answer(verdict="approved"))
        await play(agent, {"update": pending}, {"ask": ASK}, {"update": running}, ear=ear)

    assert ear.calls == [CallAnnounced(tool_call_id="c", name="execute", arguments={"path": "x"})]
    assert ear.questions[0].message == "rm -r x"
    assert ear.questions[0].tool_kind == "execute"


@pytest.mark.parametrize(
    ("answer", "chosen"),
    [
        (Answer(verdict="approved"), "yes"),
        (Answer(verdict="approved", option_id="always"), "always"),
        (Answer(verdict="approved", option_id="no"), "yes"),
        (Answer(verdict="approved", option_id="made up"), "yes"),
        (Answer(verdict="answered", option_id="no"), "no"),
        (Answer(verdict="answered"), None),
        (Answer(verdict="denied"), "no"),
        (Answer(verdict="denied", option_id="always"), "no"),
        (Answer(verdict="approved", arguments={"path": "y"}), "no"),
        (Answer(verdict="cancelled"), None),
    ],
)
async def test_an_answer_becomes_an_option_that_says_it_and_holds_once(
    tmp_path: Path, answer: Answer, chosen: str | None
) -> None:
    expected = (
        {"outcome": "cancelled"} if chosen is None else {"outcome": "selected", "optionId": chosen}
    )

    assert await outcome(tmp_path, answer, {"ask": ASK}) == {"outcome": expected}


async def test_nothing_is_allowed_for_ever_where_nothing_else_is_offered(tmp_path: Path) -> None:
    ask = {**ASK, "options": [OPTIONS[0], {"optionId": "x", "name": "X", "kind": "x_custom"}, 3]}

    found = await outcome(tmp_path, Answer(verdict="approved"), {"ask": ask})

    assert found == {"outcome": {"outcome": "cancelled"}}


async def test_edited_arguments_and_words_reach_an_agent_that_knows_the_extension(
    tmp_path: Path,
) -> None:
    answer = Answer(verdict="approved", arguments={"path": "y"}, message="only y")

    found = await outcome(tmp_path, answer, {"ask": ASK}, how=EXTENDED)

    assert found == {
        "outcome": {"outcome": "selected", "optionId": "yes"},
        "_meta": {"turnlog.dev/arguments": {"path": "y"}, "turnlog.dev/message": "only y"},
    }


async def test_a_denied_call_ends_once_whether_its_agent_says_so_or_not(tmp_path: Path) -> None:
    failed = {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "failed"}
    tells: list[Mapping[str, Any]] = [
        {"ask": ASK},
        {"update": {**failed, "rawOutput": "denied"}},
        {"update": failed},
    ]

    async with harness(tmp_path, puppet()) as agent:
        _, told = await play(agent, *tells, ear=answering(agent, Answer(verdict="denied")))
        _, silent = await play(
            agent,
            {"ask": {**ASK, "toolCall": {**CALL, "toolCallId": "d"}}},
            ear=answering(agent, Answer(verdict="denied")),
        )

    assert told.calls[1:] == [CallEnded(tool_call_id="c", end="failed", output="denied")]
    assert silent.calls[1:] == [CallEnded(tool_call_id="d", end="failed", output=None)]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            Answer(verdict="answered", answer={"colour": "red"}),
            {"action": "accept", "content": {"colour": "red"}},
        ),
        (
            Answer(verdict="answered", answer="red"),
            {"action": "accept", "content": {"colour": "red"}},
        ),
        (Answer(verdict="answered"), {"action": "decline"}),
        (Answer(verdict="denied"), {"action": "decline"}),
        (Answer(verdict="cancelled"), {"action": "cancel"}),
    ],
)
async def test_a_form_is_a_question_and_is_filled_in(
    tmp_path: Path, answer: Answer, expected: JsonValue
) -> None:
    async with harness(tmp_path, puppet()) as agent:
        _, ear = await play(agent, {"form": FORM}, ear=answering(agent, answer))

    (asked,) = ear.questions
    assert (asked.kind, asked.message, asked.answer_schema) == ("input", "Which?", dict(SCHEMA))
    assert json.loads(ear.said) == expected


async def test_a_form_may_belong_to_a_call_or_to_a_request(tmp_path: Path) -> None:
    running = {"sessionUpdate": "tool_call", "status": "in_progress", **CALL}
    answer = Answer(verdict="answered", answer="red")

    async with harness(tmp_path, puppet()) as agent:
        _, ear = await play(
            agent,
            {"update": running},
            {"form": {**FORM, "toolCallId": "c"}},
            {"form": {**FORM, "toolCallId": "never heard of"}},
            {"form": {**FORM, "requestId": 3}, "unscoped": True},
            ear=answering(agent, answer),
        )

    assert [asked.tool_call_id for asked in ear.questions] == ["c", None, None]


async def test_a_question_about_a_call_without_a_name_can_be_answered(tmp_path: Path) -> None:
    found = await outcome(tmp_path, Answer(verdict="denied"), {"ask": {"options": OPTIONS}})

    assert found == {"outcome": {"outcome": "selected", "optionId": "no"}}


async def test_what_no_agent_was_offered_is_refused(tmp_path: Path) -> None:
    async with harness(tmp_path, puppet()) as agent:
        _, url = await play(agent, {"form": {"mode": "url", "url": "https://x", "message": "m"}})
        _, read = await play(agent, {"request": {"path": "/x"}, "method": "fs/read_text_file"})

    assert json.loads(url.said) == {"action": "cancel"}
    assert json.loads(read.said)["code"] == -32601


async def test_several_questions_wait_at_once_and_are_answered_in_any_order(
    tmp_path: Path,
) -> None:
    other = {**ASK, "toolCall": {**CALL, "toolCallId": "d"}}

    async with harness(tmp_path, puppet()) as agent:
        ear = Ear()
        playing = asyncio.create_task(
            play(agent, {"ask": ASK, "go_on": True}, {"ask": other}, ear=ear)
        )
        await ear.until(lambda: len(ear.questions) == 2)
        first, second = ear.questions
        assert await agent.answer(second.permission_id, Answer(verdict="denied"))
        await playing
        late = await agent.answer(first.permission_id, Answer(verdict="approved"))

    assert first.permission_id != second.permission_id
    assert json.loads(ear.said)["outcome"]["optionId"] == "no"
    assert not late


async def test_cancelling_answers_what_was_asked_first(tmp_path: Path) -> None:
    async with harness(tmp_path, puppet()) as agent:
        ear = Ear()
        end = {"end": {"result": {"stopReason": "cancelled"}}}
        playing = asyncio.create_task(
            play(agent, {"ask": ASK}, {"wait_cancel": True}, {"ask": ASK}, end, ear=ear)
        )
        await ear.until(lambda: len(ear.questions) == 1)
        await agent.cancel()
        await agent.cancel()
        ended, _ = await playing

    cancelled = json.dumps({"outcome": {"outcome": "cancelled"}})
    assert ended.stop_reason == "cancelled"
    assert ear.said == cancelled * 2
    assert len(ear.questions) == 1


async def test_cancelling_nothing_does_nothing(tmp_path: Path) -> None:
    async with harness(tmp_path, puppet()) as agent:
        await agent.cancel()
        ended, _ = await play(agent, {"say": "on"})

    assert ended.stop_reason == "completed"
