"""What does the model's view look like as Anthropic messages?

Valid for the provider by construction: roles alternate and begin with the user; the results of
calls stand first in the message after them, one for each, in order; ids and names have only
characters that are taken; no text is blank. Thinking is sent only with Anthropic's own signature,
unchanged, and never last. What else was said, left out or made up is in the list of losses.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from domain.messages import CONFIGURATION, Part
from projections.anthropic_parts import (
    BEGINNING,
    file_block,
    input_of,
    result_content,
    spelled_id,
    thinking_block,
)
from projections.invocations import Invocation, call_loss, paired, part_losses
from projections.losses import FormLoss, LossCode
from projections.openai_parts import arguments_text, made_up_result, text_of
from projections.transcript import Shape, TranscriptMessage
from projections.wire_names import plain_name

_LOST: Final[Mapping[object, tuple[LossCode, str]]] = {
    "attachment": ("attachment", "only images and PDF that are stored inline can be sent"),
    "data": ("data", "data has no place in this form"),
    "gate_answer": ("gate", "an answer to a gate has no place in this form"),
    "missing": ("missing", "what was said here is not stored any more"),
    "reasoning": ("reasoning", "only reasoning that Anthropic signed can be sent, and not last"),
}
_UNKNOWN: Final[tuple[LossCode, str]] = ("unknown-part", "parts of this type have no place")
Blocks = list[Shape]


@dataclass(slots=True, kw_only=True)
class AnthropicExport:
    """Anthropic messages, the system prompt beside them, and what they do not say."""

    system: Blocks = field(default_factory=list[Shape])
    speeches: list[tuple[str, Blocks]] = field(default_factory=list[tuple[str, Blocks]])
    losses: list[FormLoss] = field(default_factory=list[FormLoss])

    @property
    def messages(self) -> list[Shape]:
        """Return the messages."""
        return [{"role": role, "content": blocks} for role, blocks in self.speeches]


def anthropic_messages(
    transcript: Sequence[TranscriptMessage], earlier_calls: Iterable[str] = ()
) -> AnthropicExport:
    """Return the model's view as Anthropic messages; `earlier_calls` as in `openai_chat`."""
    export = AnthropicExport()
    begun = False
    calls_of = paired(transcript, earlier_calls, export.losses, spelled_id, "_")
    for message, calls in zip(transcript, calls_of, strict=True):
        if message.role in CONFIGURATION:
            _add_system(export, message, begun=begun)
            continue
        begun = True
        if message.role == "assistant":
            _add_assistant(export, message, calls)
        else:
            _add_input(export, message)
    _end_well(export)
    return export


def _add_system(export: AnthropicExport, message: TranscriptMessage, *, begun: bool) -> None:
    texts = [_text(part) for part in message.parts if _speaks(part)]
    _lose(export, message, (part for part in message.parts if part.get("type") != "text"))
    if not texts:
        _leave_out(export, message)
    elif begun:
        _note(export, message, "system-message", "it was said later; sent with the system prompt")
    export.system.extend(texts)


def _add_assistant(
    export: AnthropicExport, message: TranscriptMessage, calls: Sequence[Invocation]
) -> None:
    waiting = iter(calls)
    blocks: Blocks = []
    lost: list[Part] = []
    for part in message.parts:
        if part.get("type") == "tool_call":
            blocks.append(_tool_use(export, next(waiting)))
        elif _speaks(part):
            blocks.append(_text(part))
        elif (thinking := thinking_block(part)) is not None:
            blocks.append(thinking)
        elif part.get("type") != "text":
            lost.append(part)
    while blocks and blocks[-1]["type"] == "thinking":
        blocks.pop()
        lost.append({"type": "reasoning"})
    _lose(export, message, lost)
    if not blocks:
        _leave_out(export, message)
        return
    _append(export, "assistant", blocks)
    if calls:
        _append(export, "user", [_tool_result(export, call) for call in calls])


def _add_input(export: AnthropicExport, message: TranscriptMessage) -> None:
    blocks: Blocks = []
    lost: list[Part] = []
    for part in message.parts:
        file = file_block(part)
        if file is not None:
            blocks.append(file)
        elif _speaks(part):
            blocks.append(_text(part))
        elif part.get("type") not in {"text", "tool_result"}:
            lost.append(part)
    _lose(export, message, lost)
    if blocks:
        if message.author is not None:
            _note(export, message, "author", "who said it has no place in this form")
        _append(export, "user", blocks)
    elif not message.parts or any(p.get("type") != "tool_result" for p in message.parts):
        _leave_out(export, message)


def _append(export: AnthropicExport, role: str, blocks: Blocks) -> None:
    """Add blocks where their role speaks: to the last message, or to a new one."""
    if not export.speeches and role == "assistant":
        export.speeches.append(("user", [{"type": "text", "text": BEGINNING}]))
        detail = "the form begins with the user; a first message was made up"
        export.losses.append(FormLoss(code="input-synthesised", detail=detail))
    if export.speeches and export.speeches[-1][0] == role:
        export.speeches[-1][1].extend(blocks)
    else:
        export.speeches.append((role, blocks))


def _end_well(export: AnthropicExport) -> None:
    """Take trailing space off a last answer: the provider refuses to go on from it."""
    if export.speeches and export.speeches[-1][0] == "assistant":
        last = export.speeches[-1][1][-1]
        last["text"] = text_of(last, "text").rstrip()


def _speaks(part: Part) -> bool:
    return part.get("type") == "text" and bool(text_of(part, "text").strip())


def _text(part: Part) -> Shape:
    return {"type": "text", "text": text_of(part, "text")}


def _tool_use(export: AnthropicExport, call: Invocation) -> Shape:
    part = call.part
    given = text_of(part, "name")
    name = plain_name(given)
    arguments, wrapped = input_of(part)
    if call.wire_id != text_of(part, "tool_call_id"):
        detail = "its id is taken or has characters that are not; sent with another"
        export.losses.append(call_loss("call-id-renamed", detail, part))
    if name != given:
        detail = "the tool's name has characters that are not taken"
        export.losses.append(call_loss("tool-renamed", detail, part))
    if arguments_text(part) is None:
        detail = "no arguments were recorded; sent as {}"
        export.losses.append(call_loss("arguments-unknown", detail, part))
    if wrapped:
        detail = "the arguments are no JSON object; sent as the text in one"
        export.losses.append(call_loss("arguments-wrapped", detail, part))
    if "gate" in part:
        detail = "the gate that it waited for has no place in this form"
        export.losses.append(call_loss("gate", detail, part))
    return {"type": "tool_use", "id": call.wire_id, "name": name, "input": arguments}


def _tool_result(export: AnthropicExport, call: Invocation) -> Shape:
    shape: Shape = {"type": "tool_result", "tool_use_id": call.wire_id}
    if call.result is None:
        content, detail = made_up_result(call.part)
        export.losses.append(call_loss("result-synthesised", detail, call.part))
        return {**shape, "content": content, "is_error": True}
    denied = call.result.get("denied") is True
    failed = denied or call.result.get("is_error") is True
    if denied:
        detail = "that the call was denied has no place; sent as an error"
        export.losses.append(call_loss("denied", detail, call.part))
    told = result_content(call.result, text_only=failed)
    if told:
        shape["content"] = told
    return {**shape, "is_error": True} if failed else shape


def _lose(export: AnthropicExport, message: TranscriptMessage, parts: Iterable[Part]) -> None:
    lost = part_losses(message, parts, lambda part: _LOST.get(part.get("type"), _UNKNOWN))
    export.losses.extend(lost)


def _leave_out(export: AnthropicExport, message: TranscriptMessage) -> None:
    _note(export, message, "empty-message", "nothing of the message is left to send")


def _note(export: AnthropicExport, message: TranscriptMessage, code: LossCode, detail: str) -> None:
    export.losses.append(FormLoss(code=code, detail=detail, message_id=message.message_id))
