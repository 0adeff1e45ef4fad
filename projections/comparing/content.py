"""When are two arguments, two results or two files the same, however they were written down?

Each rule has a name:

- *numbers and keys*: JSON is compared by its canonical form;
- *arguments as text*: the text of a JSON object is that object; none, and no text, is `{}`;
- *output as text*: text that is JSON is that JSON; blocks of text are their text; null is no text;
- *errors that cannot be said*: whether a call failed counts where both sides say it; denied is
  failed;
- *made-up results*: what our own exports make up for a call without a result is none;
- *files by content*: a file is its content's digest or its id, whichever both sides tell.
"""

import base64
from dataclasses import dataclass
from hashlib import sha256

from domain.canonical import canonical
from domain.json_text import JsonValue, NotJson, parse
from projections.comparing.told import Part, Place
from projections.openai_parts import MADE_UP_RESULTS, text_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How a call ended, as far as it was told.

    Attributes:
        output: Its canonical form; None if it was not told.
        failed: None if that was not told.
    """

    output: bytes | None
    failed: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """An attachment, or data; `carried` tells whether the client's form has a place for it."""

    keys: frozenset[tuple[str, str]]
    carried: bool
    place: Place


def arguments_key(arguments: JsonValue) -> bytes:
    """Return what equal arguments share."""
    if arguments is None:
        return canonical({})
    if not isinstance(arguments, str):
        return canonical(arguments)
    if not arguments.strip():
        return canonical({})
    parsed = _parsed(arguments)
    return canonical(parsed if isinstance(parsed, dict) else arguments)


def same_result(ours: Result | None, theirs: Result | None) -> bool:
    """Tell whether two calls ended alike, as far as both were told."""
    if ours is None or theirs is None:
        told = ours or theirs
        return told is None or told.output is None
    failed = {ours.failed, theirs.failed} - {None}
    outputs = {ours.output, theirs.output} - {None}
    return len(failed) < 2 and len(outputs) < 2  # noqa: PLR2004 - one value, not two


def result_of(part: Part) -> Result | None:
    """Return the result that a part is; None if an export of ours made it up."""
    output = _plain(part.get("output"))
    if isinstance(output, str) and output in MADE_UP_RESULTS:
        return None
    denied = part.get("denied") is True
    said = part.get("is_error")
    return Result(
        output=None if denied and "output" not in part else canonical(output),
        failed=True if denied else said if isinstance(said, bool) else None,
    )


def file_key(part: Part) -> frozenset[tuple[str, str]]:
    """Return what a file can be known by: one in common is enough."""
    if part.get("type") != "attachment":
        whole: JsonValue = {**part}
        return frozenset({("whole", canonical(whole).decode())})
    keys: set[tuple[str, str]] = set()
    if digest := text_of(part, "sha256") or _digest(text_of(part, "data")):
        keys.add(("sha256", digest))
    if attachment_id := text_of(part, "attachment_id"):
        keys.add(("id", attachment_id))
    return frozenset(keys)


def _plain(output: JsonValue) -> JsonValue:
    """Return what equal outputs share, whether they are JSON, its text, or blocks of text."""
    value = _parsed(output) if isinstance(output, str) else output
    if isinstance(value, str):
        return output  # a text in quotes is no more than a text
    if isinstance(value, list):
        texts = [text for item in value if (text := _text(item)) is not None]
        whole = bool(value) and len(texts) == len(value)
        return _plain("".join(texts)) if whole else [*map(_image, value)]
    return "" if value is None else value


def _parsed(text: str) -> JsonValue:
    """Return the JSON that a text is, or the text."""
    try:
        return parse(text.encode("utf-8", "surrogatepass"))
    except NotJson:
        return text


def _digest(data: str) -> str:
    try:
        return sha256(base64.b64decode(data, validate=True)).hexdigest() if data else ""
    except ValueError:
        return sha256(data.encode("utf-8", "surrogatepass")).hexdigest()


def _text(item: JsonValue) -> str | None:
    match item:
        case {"type": "text", "text": str(text)}:
            return text
        case _:
            return None


def _image(item: JsonValue) -> JsonValue:
    """Return an image's bytes, whoever wraps them; everything else as it is."""
    match item:
        case {"type": "image", "source": {"data": str(data)}}:
            return {"type": "image", "data": data}
        case {"type": "image", "data": str(data)}:
            return {"type": "image", "data": data}
        case _:
            return item
