"""Histories of every kind, and what a client would send of them in each form."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, cast

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from domain import events as e
from domain.evolve import fold
from domain.json_text import JsonValue, parse
from domain.messages import Message, Part, Role
from domain.raw_json import RawJson, dumped
from projections.anthropic_messages import anthropic_messages
from projections.comparing.comparison import Comparison, Known, compare
from projections.comparing.forms import carries, our_history, read_history
from projections.comparing.told import Form, Told
from projections.openai_chat import openai_chat
from projections.transcript import TranscriptMessage
from projections.ui_messages import ui_messages
from tests.projections.viewing import messages
from tests.scenario import ended, interrupted, recorded

FORMS: Final[tuple[Form, ...]] = ("turnlog", "openai", "anthropic", "ui")
PNG: Final = "iVBORw0KGgo="
WORDS = st.sampled_from(["hi", "ok", "ok ", " ", "", "a\nb", "hello there", "{}", "null"])
OUTPUTS = st.sampled_from(
    [
        b'"done"',
        b'""',
        b"null",
        b'{"b":1,"a":[1.50,2]}',
        b'"{\\"a\\": 1}"',
        b"[]",
        b"4",
        b'[{"type":"text","text":"x"}]',
        b'[{"type":"text","text":"x"},{"type":"image","mimeType":"image/png","data":"%s"}]'
        % PNG.encode(),
        b'"[This tool call was denied. It did not run.]"',
    ]
)
ARGUMENTS = st.sampled_from([b"{}", b'{"b": 1.50,"a":"x"}', b'"{\\"q\\":"', b'"[1]"', b'""'])
CALLS = st.sampled_from(["c1", "c2", "call:3"])
TOOLS = st.sampled_from(["read", "mcp.write file"])


def _text(text: str) -> Part:
    return {"type": "text", "text": text}


PARTS: SearchStrategy[Part] = st.one_of(
    st.builds(_text, WORDS),
    st.just({"type": "attachment", "attachment_id": "a1", "media_type": "image/png", "data": PNG}),
    st.just({"type": "attachment", "attachment_id": "a2", "media_type": "text/csv"}),
    st.just({"type": "data", "kind": "place", "data": {"x": 1}}),
)
REASONING: SearchStrategy[Part] = st.sampled_from(
    [
        {"type": "reasoning", "text": "so"},
        {"type": "reasoning", "text": "thus", "signature": "s1", "provider": "anthropic"},
        {"type": "reasoning", "text": "", "signature": "s2", "provider": "anthropic"},
    ]
)


def _message(role: Role, parts: Sequence[Part]) -> Message:
    return Message(role=role, content=tuple(parts))


@cache
def _steps(turn_id: str) -> SearchStrategy[list[e.Fact]]:
    """What happens in a turn; made once, for making it takes longer than drawing from it."""

    def said(role: Role, parts: Sequence[Part]) -> e.Fact:
        return e.MessageRecorded(turn_id=turn_id, message=_message(role, parts))

    def called(call_id: str, name: str, arguments: bytes) -> e.Fact:
        return e.ToolCallRequested(
            turn_id=turn_id, tool_call_id=call_id, name=name, arguments=RawJson(arguments)
        )

    def returned(call_id: str, output: bytes, error: int) -> e.Fact:
        return e.ToolCallCompleted(
            turn_id=turn_id,
            tool_call_id=call_id,
            output=RawJson(output),
            is_error=error == 1,
            denied=error == 2,
        )

    step = st.one_of(
        st.builds(said, st.just("assistant"), st.lists(PARTS | REASONING, max_size=3)),
        st.builds(called, CALLS, TOOLS, ARGUMENTS),
        st.builds(called, CALLS, TOOLS, ARGUMENTS),
        st.builds(returned, CALLS, OUTPUTS, st.integers(0, 2)),
        st.builds(returned, CALLS, OUTPUTS, st.just(0)),
        st.builds(said, st.sampled_from(["user", "system"]), st.lists(PARTS, max_size=2)),
    )
    return st.lists(step, max_size=6)


_ASKED: Final = st.lists(PARTS, min_size=1, max_size=2)
_TURNS: Final = st.integers(0, 4)


@st.composite
def _turn(draw: st.DrawFn, turn_id: str) -> list[e.Fact]:
    asked = draw(_ASKED)
    ends: list[e.Fact] = [ended(turn_id), interrupted(turn_id)]
    end = draw(st.sampled_from(ends))
    return [
        e.TurnStarted(turn_id=turn_id, messages=(_message("user", asked),)),
        *draw(_steps(turn_id)),
        end,
    ]


@st.composite
def conversations(draw: st.DrawFn) -> list[TranscriptMessage]:
    """What has been said in up to four turns."""
    turns = [draw(_turn(f"t{n}")) for n in range(draw(_TURNS))]
    return transcript(*(fact for turn in turns for fact in turn))


def transcript(*events: e.Fact) -> list[TranscriptMessage]:
    """Return what the model sees of a session."""
    facts = recorded(*events)
    assert fold(facts).head.version == len(facts)
    return [message for message in messages(facts) if message.state == "live"]


def sent(form: Form, told: Sequence[TranscriptMessage]) -> list[JsonValue]:
    """Return what a client sends that was given this transcript in this form."""
    makers: dict[Form, Callable[[], object]] = {
        "turnlog": lambda: [message.shape() for message in told],
        "openai": lambda: openai_chat(told).messages,
        "anthropic": lambda: anthropic_messages(told).messages,
        "ui": lambda: ui_messages(told).messages,
    }
    return cast("list[JsonValue]", parse(dumped(makers[form]())))


def known(told: Sequence[TranscriptMessage]) -> Known:
    """Return a transcript as our side of a comparison."""
    ours = our_history(told)
    return Known(first=ours, last=ours, total=len(ours))


def compared(
    told: Sequence[TranscriptMessage], client: Sequence[Any], form: Form = "turnlog"
) -> Comparison:
    """Compare what a client sends with a transcript."""
    theirs: list[Told] = read_history(client, form)
    return compare(
        known(told),
        theirs,
        lambda part, role: carries(form, part, role),
        systems=form != "anthropic",
    )
