"""What does the model's view look like as AI SDK UIMessages?

What an assistant did in a turn is one message with its steps; a call, its approval and its result
are one part whose state says how far it came. A call that will never have a result ends in an
error, so that a client which sends the messages on has nothing left open. No part list is empty.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from domain.messages import Part
from projections.invocations import Invocation, call_loss, paired, part_losses
from projections.losses import FormLoss, LossCode
from projections.openai_parts import arguments_text, made_up_result, output_text, text_of
from projections.transcript import Shape, TranscriptMessage
from projections.ui_parts import approval_of, file_part, input_of

_LOST: Final[Mapping[object, tuple[LossCode, str]]] = {
    "attachment": ("attachment", "only files that are stored inline can be sent"),
    "gate_answer": ("gate", "an answer to a gate has no place in this form"),
    "missing": ("missing", "what was said here is not stored any more"),
}
_UNKNOWN: Final[tuple[LossCode, str]] = ("unknown-part", "parts of this type have no place")
_SILENT: Final = frozenset({"text", "reasoning", "tool_result"})
"""Parts that are not lost where nothing is written for them."""


@dataclass(slots=True, kw_only=True)
class UiExport:
    """UIMessages, and what they do not say."""

    messages: list[Shape] = field(default_factory=list[Shape])
    losses: list[FormLoss] = field(default_factory=list[FormLoss])


def ui_messages(
    transcript: Sequence[TranscriptMessage], earlier_calls: Iterable[str] = ()
) -> UiExport:
    """Return the model's view as UIMessages; `earlier_calls` as in `openai_chat`."""
    export = UiExport()
    calls_of = paired(transcript, earlier_calls, export.losses)
    rows = zip(transcript, calls_of, strict=True)
    for key, run in groupby(rows, _speaker):
        if key[0] == "assistant":
            _add_answer(export, list(run))
        else:
            for message, _ in run:
                _add_input(export, message)
    return export


def _speaker(row: tuple[TranscriptMessage, list[Invocation]]) -> tuple[str, str | None]:
    """Results stand in the message of their calls, and an answer ends with its turn."""
    message, _ = row
    return ("assistant" if message.role in {"assistant", "tool"} else "other", message.turn_id)


def _add_answer(
    export: UiExport, run: Sequence[tuple[TranscriptMessage, list[Invocation]]]
) -> None:
    parts: list[Shape] = []
    for message, calls in run:
        if message.role == "tool":
            _lose(export, message, (p for p in message.parts if p.get("type") != "tool_result"))
            continue
        waiting = iter(calls)
        said = [shape for part in message.parts for shape in _said(export, message, part, waiting)]
        if said:
            parts.append({"type": "step-start"})
            parts += said
    spoken = [message for message, _ in run if message.role == "assistant"]
    if parts:
        export.messages.append({"id": spoken[0].message_id, "role": "assistant", "parts": parts})
    else:
        for message in spoken:
            _leave_out(export, message)


def _said(
    export: UiExport, message: TranscriptMessage, part: Part, calls: Iterator[Invocation]
) -> list[Shape]:
    if part.get("type") == "tool_call":
        return [_tool_part(export, next(calls))]
    return _plain(export, message, part)


def _plain(export: UiExport, message: TranscriptMessage, part: Part) -> list[Shape]:
    """Return a part that is no call, as this form has it; nothing if it has no place."""
    kind, text = part.get("type"), text_of(part, "text")
    state = "streaming" if message.partial else "done"
    if kind == "text" and text:
        return [{"type": "text", "text": text, "state": state}]
    if kind == "reasoning" and (text or text_of(part, "signature")):
        return [{"type": "reasoning", "text": text, "state": state, **_provider(part)}]
    if kind == "data":
        return [{"type": f"data-{text_of(part, 'kind')}", "data": part.get("data")}]
    file = file_part(part)
    if file is None and kind not in _SILENT:
        _lose(export, message, [part])
    return [] if file is None else [file]


def _provider(part: Part) -> Shape:
    """Return a signature where the AI SDK keeps a provider's own words."""
    signature = text_of(part, "signature")
    if not signature:
        return {}
    provider = text_of(part, "provider") or "unknown"
    return {"providerMetadata": {provider: {"signature": signature}}}


def _tool_part(export: UiExport, call: Invocation) -> Shape:
    part = call.part
    if arguments_text(part) is None:
        detail = "no arguments were recorded; sent as {}"
        export.losses.append(call_loss("arguments-unknown", detail, part))
    if call.wire_id != text_of(part, "tool_call_id"):
        detail = "an earlier call has this id; sent with a number"
        export.losses.append(call_loss("call-id-renamed", detail, part))
    return {
        "type": f"tool-{text_of(part, 'name') or '_'}",
        "toolCallId": call.wire_id,
        "input": input_of(part),
        **_outcome(export, call),
    }


def _outcome(export: UiExport, call: Invocation) -> Shape:
    """Return how far a call came: its state, its approval and its result."""
    part, result = call.part, call.result
    approval = approval_of(part)
    given: Shape = {} if approval is None else {"approval": approval}
    if result is None:
        return _unanswered(export, call, given)
    if result.get("denied") is True:
        return _denied(export, call, output_text(result))
    if approval is not None and approval.get("approved") is not True:
        given = {}  # what ran was not asked for, or was not answered before it ran
        export.losses.append(call_loss("gate", "its gate was not approved, yet it ran", part))
    if result.get("is_error") is True:
        return {"state": "output-error", "errorText": output_text(result), **given}
    return {"state": "output-available", "output": result.get("output"), **given}


def _unanswered(export: UiExport, call: Invocation, given: Shape) -> Shape:
    part = call.part
    status = part.get("status", "open")
    answer = given.get("approval")
    match answer:
        case {"approved": False}:
            return _denied(export, call, "")
        case {"approved": True} if status == "open":
            return {"state": "approval-responded", **given}
        case dict() if status == "open":
            return {"state": "approval-requested", **given}
        case _ if status == "open":
            return {"state": "input-available"}
        case _:
            content, detail = made_up_result(part)
            export.losses.append(call_loss("result-synthesised", detail, part))
            return {"state": "output-error", "errorText": content}


def _denied(export: UiExport, call: Invocation, reason: str) -> Shape:
    """Return a call that somebody said no to; the form wants an approval to say it."""
    approval = approval_of(call.part)
    if approval is None or approval.get("approved") is not False:
        detail = "no gate of it was denied; an approval was made up"
        export.losses.append(call_loss("gate", detail, call.part))
        approval = {"id": call.wire_id, "approved": False}
    told: Shape = {"reason": reason} if reason else {}
    return {"state": "output-denied", "approval": {**approval, **told}}


def _add_input(export: UiExport, message: TranscriptMessage) -> None:
    parts = [shape for part in message.parts for shape in _plain(export, message, part)]
    if message.role != "user":
        lost = [part for part in parts if part["type"] != "text"]
        parts = [part for part in parts if part["type"] == "text"]
        _lose(export, message, lost)
    if not parts:
        _leave_out(export, message)
        return
    role = "user" if message.role == "user" else "system"
    if message.role == "developer":
        _note(export, message, "role", "this form has no developer; sent as system")
    shape: Shape = {"id": message.message_id, "role": role, "parts": parts}
    if message.author is not None:
        shape["metadata"] = {"author": {"subject_id": message.author.subject_id}}
    export.messages.append(shape)


def _lose(export: UiExport, message: TranscriptMessage, parts: Iterable[Part]) -> None:
    known = part_losses(message, parts, lambda part: _LOST.get(part.get("type"), _UNKNOWN))
    export.losses.extend(known)


def _leave_out(export: UiExport, message: TranscriptMessage) -> None:
    _note(export, message, "empty-message", "nothing of the message is left to send")


def _note(export: UiExport, message: TranscriptMessage, code: LossCode, detail: str) -> None:
    export.losses.append(FormLoss(code=code, detail=detail, message_id=message.message_id))
