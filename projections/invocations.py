"""Which result belongs to which call, and under which id is the call sent?

A provider's form has each result beside its call. Results pair with calls by turn, id and
occurrence; ids are numbered over the whole session, so that a call keeps its id in every export.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from domain.messages import Part
from projections.losses import FormLoss, LossCode
from projections.openai_parts import text_of
from projections.transcript import TranscriptMessage
from projections.wire_names import WireIds


@dataclass(slots=True, kw_only=True)
class Invocation:
    """A call of an export, with the result that it found."""

    part: Part
    wire_id: str
    result: Part | None = None


def paired(
    transcript: Sequence[TranscriptMessage],
    earlier_calls: Iterable[str],
    losses: list[FormLoss],
    spell: Callable[[str], str] = str,
    mark: str = "~",
) -> list[list[Invocation]]:
    """Return the calls of each message, each with its result; results without a call are lost.

    Args:
        transcript: The messages of the export.
        earlier_calls: The ids of calls that compaction has archived.
        losses: Where to note what is left out.
        spell: How an id is written where only some characters are taken.
        mark: What stands between an id that was taken before and its number.
    """
    ids = WireIds(mark)
    for call_id in earlier_calls:
        ids.take(spell(call_id))
    waiting: dict[tuple[object, ...], list[Invocation]] = {}
    calls: list[list[Invocation]] = []
    for message in transcript:
        made: list[Invocation] = []
        for part in message.parts:
            call_id = text_of(part, "tool_call_id")
            key = (message.turn_id, call_id, part.get("occurrence", 1))
            if part.get("type") == "tool_call" and message.role == "assistant":
                call = Invocation(part=part, wire_id=ids.take(spell(call_id)))
                waiting.setdefault(key, []).append(call)
                made.append(call)
            elif part.get("type") == "tool_result":
                if waiting.get(key):
                    waiting[key].pop(0).result = part
                else:
                    detail = "no call before it in its turn has this id; it was left out"
                    losses.append(call_loss("orphan-result", detail, part))
        calls.append(made)
    return calls


def call_loss(code: LossCode, detail: str, part: Part) -> FormLoss:
    """Return a loss that is about a call."""
    return FormLoss(code=code, detail=detail, tool_call_id=text_of(part, "tool_call_id"))


def part_losses(
    message: TranscriptMessage,
    parts: Iterable[Part],
    details: Callable[[Part], tuple[LossCode, str]],
) -> list[FormLoss]:
    """Return a loss for each kind of part that is left out of a message, once."""
    kinds = dict.fromkeys(details(part) for part in parts)
    return [
        FormLoss(code=code, detail=detail, message_id=message.message_id) for code, detail in kinds
    ]
