"""What does the model's view look like as OpenAI chat messages?

Valid for a provider by construction: every call is followed at once by exactly one tool message,
in the order of the calls; call ids are unique, nothing is empty. What the form cannot say, and
what had to be made up, is in the list of losses. Arguments and outputs are the text that came.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from domain.messages import Part
from projections.invocations import Invocation, call_loss, paired, part_losses
from projections.losses import FormLoss, LossCode
from projections.openai_parts import (
    arguments_text,
    image_url,
    made_up_result,
    output_text,
    text_of,
    text_part,
    text_runs,
)
from projections.transcript import Shape, TranscriptMessage
from projections.wire_names import person_name, plain_name

_LOST: Final[Mapping[object, tuple[LossCode, str]]] = {
    "attachment": ("attachment", "only a user's images that are stored inline can be sent"),
    "data": ("data", "data has no place in this form"),
    "gate_answer": ("gate", "an answer to a gate has no place in this form"),
    "missing": ("missing", "what was said here is not stored any more"),
    "reasoning": ("reasoning", "reasoning has no place in this form"),
}


@dataclass(slots=True, kw_only=True)
class ChatExport:
    """OpenAI chat messages, and what they do not say."""

    messages: list[Shape] = field(default_factory=list[Shape])
    losses: list[FormLoss] = field(default_factory=list[FormLoss])


def openai_chat(
    transcript: Sequence[TranscriptMessage], earlier_calls: Iterable[str] = ()
) -> ChatExport:
    """Return the model's view as OpenAI chat messages.

    `earlier_calls` are the ids of calls that compaction has archived: ids are numbered over the
    whole session, so that a call keeps its id from one export to the next.
    """
    export = ChatExport()
    calls_of = paired(transcript, earlier_calls, export.losses)
    for message, calls in zip(transcript, calls_of, strict=True):
        if message.role == "assistant":
            _add_assistant(export, message, calls)
        elif message.role == "tool":
            _lose(export, message, (p for p in message.parts if p.get("type") != "tool_result"))
        else:
            _add_input(export, message)
    return export


def _add_assistant(
    export: ChatExport, message: TranscriptMessage, calls: Sequence[Invocation]
) -> None:
    said = {"text", "tool_call", "tool_result"}
    _lose(export, message, (part for part in message.parts if part.get("type") not in said))
    runs = text_runs(message.parts)
    if not "".join(runs).strip():
        runs = []
    if not runs and not calls:
        _leave_out(export, message)
        return
    shape: Shape = {"role": "assistant", "content": _content([text_part(run) for run in runs])}
    if calls:
        shape["tool_calls"] = [_tool_call(export, call) for call in calls]
    export.messages.append(shape)
    export.messages.extend(_tool_message(export, call) for call in calls)


def _add_input(export: ChatExport, message: TranscriptMessage) -> None:
    content: list[Shape] = []
    lost: list[Part] = []
    for part in message.parts:
        url = image_url(part) if message.role == "user" else None
        if url is not None:
            content.append({"type": "image_url", "image_url": {"url": url}})
        elif part.get("type") == "text":
            content.append(text_part(text_of(part, "text")))
        elif part.get("type") != "tool_result":
            lost.append(part)
    _lose(export, message, lost)
    content = [part for part in content if part.get("text") != ""]
    if all(part["type"] == "text" and not text_of(part, "text").strip() for part in content):
        _leave_out(export, message)
        return
    shape: Shape = {"role": message.role, "content": _content(content)}
    if message.author is not None:
        shape["name"] = _name(export, message, message.author.subject_id)
    export.messages.append(shape)


def _content(parts: Sequence[Shape]) -> object:
    """Return content in its shortest form: nothing, one text, or a list of parts."""
    if not parts:
        return None
    only = parts[0].get("text") if len(parts) == 1 else None
    return list(parts) if only is None else only


def _name(export: ChatExport, message: TranscriptMessage, subject_id: str) -> str:
    name = person_name(subject_id)
    if name != subject_id:
        detail = "the author's id has characters that a name may not have"
        export.losses.append(
            FormLoss(code="author-renamed", detail=detail, message_id=message.message_id)
        )
    return name


def _tool_call(export: ChatExport, call: Invocation) -> Shape:
    part = call.part
    given = text_of(part, "name")
    name = plain_name(given)
    arguments = arguments_text(part)
    if call.wire_id != text_of(part, "tool_call_id"):
        _note(export, "call-id-renamed", "an earlier call has this id; sent with a number", part)
    if name != given:
        _note(export, "tool-renamed", "the tool's name has characters that are not taken", part)
    if arguments is None:
        _note(export, "arguments-unknown", "no arguments were recorded; sent as {}", part)
    if "gate" in part:
        _note(export, "gate", "the gate that it waited for has no place in this form", part)
    return {
        "id": call.wire_id,
        "type": "function",
        "function": {"name": name, "arguments": "{}" if arguments is None else arguments},
    }


def _tool_message(export: ChatExport, call: Invocation) -> Shape:
    if call.result is None:
        content, detail = made_up_result(call.part)
        _note(export, "result-synthesised", detail, call.part)
    else:
        content = output_text(call.result)
        if call.result.get("is_error") is True:
            _note(export, "error-flag", "that the result is an error has no place", call.part)
        if call.result.get("denied") is True:
            _note(export, "denied", "that the call was denied has no place", call.part)
    return {"role": "tool", "tool_call_id": call.wire_id, "content": content}


def _lose(export: ChatExport, message: TranscriptMessage, parts: Iterable[Part]) -> None:
    """Note each kind of part that is left out of a message, once."""
    unknown: tuple[LossCode, str] = ("unknown-part", "parts of this type have no place")
    lost = part_losses(message, parts, lambda part: _LOST.get(part.get("type"), unknown))
    export.losses.extend(lost)


def _leave_out(export: ChatExport, message: TranscriptMessage) -> None:
    """Note that nothing is left of a message, unless it only brought results."""
    if not message.parts or any(part.get("type") != "tool_result" for part in message.parts):
        detail = "nothing of the message is left to send"
        export.losses.append(
            FormLoss(code="empty-message", detail=detail, message_id=message.message_id)
        )


def _note(export: ChatExport, code: LossCode, detail: str, part: Part) -> None:
    export.losses.append(call_loss(code, detail, part))
