"""How are the parts of a message written in OpenAI chat messages?"""

from collections.abc import Iterable
from itertools import groupby
from typing import Final

from domain.messages import Part
from domain.raw_json import RawJson, dumped

_MADE_UP: Final = {
    "denied": "[This tool call was denied. It did not run.]",
    "interrupted": "[This tool call was interrupted. It has no result.]",
    "open": "[This tool call has not run yet. It has no result.]",
    "gone": "[The result of this tool call is not stored any more.]",
}
MADE_UP_RESULTS: Final = frozenset(_MADE_UP.values())
"""What an export says in the place of a result that a call does not have."""


def text_part(text: str) -> dict[str, object]:
    """Return a text as one content part."""
    return {"type": "text", "text": text}


def text_runs(parts: Iterable[Part]) -> list[str]:
    """Return the texts of `parts`, those that follow each other joined, without empty ones."""
    runs = (
        "".join(text_of(part, "text") for part in run)
        for is_text, run in groupby(parts, lambda part: part.get("type") == "text")
        if is_text
    )
    return [run for run in runs if run]


def text_of(part: Part, name: str) -> str:
    """Return a member that should be text; other things are no text."""
    value = part.get(name)
    return value if isinstance(value, str) else ""


def arguments_text(part: Part) -> str | None:
    """Return a call's arguments as the text that came, or None if none were recorded."""
    return _as_text(part.get("arguments"))


def output_text(part: Part) -> str:
    """Return a result's output: a string as it is, other JSON as its text."""
    return _as_text(part.get("output")) or ""


def image_url(part: Part) -> str | None:
    """Return an inline image as a data URL, or None for any other part."""
    media_type, data = text_of(part, "media_type"), text_of(part, "data")
    if part.get("type") != "attachment" or not data or not media_type.startswith("image/"):
        return None
    return f"data:{media_type};base64,{data}"


def made_up_result(part: Part) -> tuple[str, str]:
    """Return what stands for the result that a call does not have, and why it does not."""
    status = part.get("status", "open")
    if status == "denied" or _gate_denied(part):
        return _MADE_UP["denied"], "the call was denied and has no result; one was made up"
    if status == "interrupted":
        return _MADE_UP["interrupted"], "the call was interrupted; a result was made up"
    if status == "open":
        return _MADE_UP["open"], "the call has no result yet; one was made up"
    return _MADE_UP["gone"], "the result is not stored any more; one was made up"


def _gate_denied(part: Part) -> bool:
    match part:
        case {"gate": {"status": "denied" | "denied-by-policy"}}:
            return True
        case _:
            return False


def _as_text(value: object) -> str | None:
    if isinstance(value, RawJson):
        if value[:1] == b'"':
            return str(value.parsed())
        return None if value == b"null" else value.decode()
    if value is None or isinstance(value, str):
        return value
    return dumped(value).decode()
