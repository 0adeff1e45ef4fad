"""What an agent that speaks ACP tells of the agents that it runs itself."""

from infrastructure.harness.acp.below import Tellings, subagent_of
from infrastructure.harness.acp.fields import Object
from infrastructure.harness.port import (
    CallAnnounced,
    CallEnded,
    OfSubagent,
    Said,
    Subagent,
    Used,
)

CHUNK: Object = {
    "sessionUpdate": "agent_message_chunk",
    "content": {"type": "text", "text": "Hm."},
}
SCOUT: Object = {"turnlog.dev/subagent": {"id": "a1", "name": "scout", "tool_call_id": "c1"}}


def tellings() -> Tellings:
    return Tellings(eager=True, model="m")


def test_an_update_names_whose_it_is_beside_it() -> None:
    told = tellings()

    assert [*told.updates({"update": CHUNK})] == [Said(voice="text", text="Hm.")]
    scout = Subagent(subagent_id="a1", name="scout", tool_call_id="c1")
    assert [*told.updates({"update": CHUNK, "_meta": SCOUT})] == [
        OfSubagent(subagent=scout, update=Said(voice="text", text="Hm."))
    ]


def test_the_adapter_of_claude_code_names_the_call() -> None:
    update: Object = {**CHUNK, "_meta": {"claudeCode": {"parentToolUseId": "toolu_1"}}}

    assert subagent_of({"update": update}) == Subagent(
        subagent_id="toolu_1", tool_call_id="toolu_1"
    )


def test_what_is_no_subagent_is_the_agent_itself() -> None:
    odd: list[Object] = [{}, {"turnlog.dev/subagent": 7}, {"turnlog.dev/subagent": {"id": ""}}]
    assert [subagent_of({"update": CHUNK, "_meta": meta}) for meta in odd] == [None] * 3


def test_a_subagents_tokens_are_its_own() -> None:
    usage: Object = {"usage": {"inputTokens": 7, "outputTokens": 2, "model": "small"}}
    update: Object = {"sessionUpdate": "usage_update", "_meta": usage}

    (told,) = tellings().updates({"update": update, "_meta": SCOUT})
    assert isinstance(told, OfSubagent)
    assert told.update == Used(model="small", input_tokens=7, output_tokens=2)


def test_one_that_asks_is_known_by_its_call() -> None:
    told = tellings()
    call: Object = {
        "sessionUpdate": "tool_call",
        "toolCallId": "own",
        "title": "rm",
        "rawInput": {},
        "status": "in_progress",
    }
    (begun,) = told.updates({"update": call, "_meta": SCOUT})
    assert isinstance(begun, OfSubagent)
    assert isinstance(begun.update, CallAnnounced)

    subagent, calls = told.asking({"toolCall": {"toolCallId": "own"}})
    assert subagent == begun.subagent
    assert calls.known("own") is not None
    assert told.asking({"toolCall": {"toolCallId": "own"}, "_meta": SCOUT})[0] == subagent
    assert told.asking({"toolCall": {"toolCallId": "other"}})[0] is None
    refused = calls.known("own")
    assert refused is not None
    refused.refused = True
    (over,) = told.over(cancelled=False)
    assert isinstance(over, OfSubagent)
    assert isinstance(over.update, CallEnded)
