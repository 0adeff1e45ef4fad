"""What does the model's view look like without the files in it?

Each leaves a text that says what stood there, and a loss: so a file that a provider does not take
spoils no request that comes after it. A file is an attachment, or an image that a tool gave back.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from domain.json_text import JsonValue
from domain.messages import Part
from domain.raw_json import RawJson, dumped, without_raw
from projections.losses import FormLoss
from projections.transcript import TranscriptMessage

LARGE: Final = 5_000_000
"""So many bytes of one image the strictest of the providers takes."""
_IN_RESULTS: Final = frozenset({"image", "audio", "file", "document"})


def without_files(
    messages: Iterable[TranscriptMessage],
) -> tuple[list[TranscriptMessage], list[FormLoss]]:
    """Return the messages with a text in the place of each file, and what was left out."""
    kept: list[TranscriptMessage] = []
    losses: list[FormLoss] = []
    for message in messages:
        parts = [_without(part) for part in message.parts]
        count = sum(files for _, files in parts)
        losses += [
            FormLoss(
                code="attachment-left-out",
                detail="left out, as was asked for",
                message_id=message.message_id,
            )
        ] * count
        shown = tuple(part for part, _ in parts)
        kept.append(replace(message, parts=shown) if count else message)
    return kept, losses


def large_files(messages: Iterable[TranscriptMessage]) -> list[FormLoss]:
    """Return a warning for each file that a provider may refuse, with all that comes after it."""
    return [
        FormLoss(
            code="attachment-large",
            detail=f"more than {LARGE:,} bytes: a provider may refuse it; "
            "attachments=omit leaves files out",
            message_id=message.message_id,
        )
        for message in messages
        for part in message.parts
        if part.get("type") == "attachment" and _is_large(part.get("size"))
    ]


def _is_large(size: object) -> bool:
    return isinstance(size, int) and size > LARGE


def _without(part: Part) -> tuple[Part, int]:
    """Return a part without files, and how many there were."""
    if part.get("type") == "attachment":
        return _text(part.get("filename"), part.get("media_type"), part.get("size")), 1
    if part.get("type") != "tool_result":
        return part, 0
    output = without_raw(part.get("output"))
    if not isinstance(output, list):
        return part, 0
    left = [_text_of(item) for item in output]
    count = sum(new is not old for new, old in zip(left, output, strict=True))
    return ({**part, "output": RawJson(dumped(left))} if count else part), count


def _text_of(item: JsonValue) -> JsonValue:
    """Return the text that stands for an item of a result, if it is a file."""
    match item:
        case dict() if isinstance(kind := item.get("type"), str) and kind in _IN_RESULTS:
            source = item.get("source")
            told = source if isinstance(source, dict) else item
            return _text(None, told.get("media_type") or told.get("mimeType"), None)
        case _:
            return item


def _text(filename: object, media_type: object, size: object) -> dict[str, JsonValue]:
    told = (filename, media_type, None if size is None else f"{size} bytes")
    what = ", ".join(str(each) for each in told if each is not None)
    return {"type": "text", "text": f"[A file was left out{f': {what}' if what else ''}.]"}
