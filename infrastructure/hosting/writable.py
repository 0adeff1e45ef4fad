"""How does what a harness says become something that the log takes?

Harnesses are foreign programs: what they name may be no name, and what they say no JSON. Nothing is
refused for it: what cannot stand is replaced where it stands.
"""

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from domain.events import UsageRecorded
from domain.fields import COUNT_LIMIT
from domain.identifiers import NAME_LIMIT, is_name
from domain.json_text import JsonValue, NotJson, dump, parse
from domain.raw_json import RawJson
from infrastructure.harness.port import Asked, Used

_NO_NAME: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_DEEP: Final = 90
"""Of the 100 levels that are read, an event's own take a few."""


def text_of(text: str) -> str:
    """Return a text with halves of surrogate pairs joined, and those alone replaced.

    >>> text_of("a" + chr(0xD83D) + chr(0xDE00)) == "a" + chr(0x1F600)
    True
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def name_of(text: str | None, otherwise: str) -> str:
    """Return a name as the rules want it, from one that may be none."""
    if text is None or is_name(text):
        return otherwise if text is None else text
    return _NO_NAME.sub("\N{REPLACEMENT CHARACTER}", text)[:NAME_LIMIT] or otherwise


def json_of(value: JsonValue) -> RawJson:
    """Return a value as JSON that can be read again; what is too deep as the text of it."""
    try:
        raw = dump(value)
    except (ValueError, RecursionError):  # no number, or no text
        raw = dump(_mended(value, _DEEP))
    try:
        return RawJson.of(raw, parse(raw, max_depth=_DEEP))
    except NotJson:
        return RawJson(dump(raw.decode()))


def arguments_of(value: JsonValue) -> RawJson:
    """Return a call's arguments: an object, or a text; what is neither as the text of it."""
    raw = json_of({} if value is None else value)
    return raw if raw[:1] in {b"{", b'"'} else RawJson(dump(raw.decode()))


def options_of(asked: Asked) -> RawJson | None:
    """Return what a gate shows besides the call: the options, and what its asker says.

    An array of options; where the asker says something, an object with `message` and `options`.
    """
    options: list[JsonValue] = [
        {"option_id": each.option_id, "name": each.name, "kind": each.kind}
        for each in asked.options
    ]
    if asked.message is None:
        return json_of(options) if options else None
    return json_of({"message": asked.message, "options": options})


def usage_of(turn_id: str, used: Used) -> UsageRecorded:
    """Return the tokens that a model used, as counts that can be kept."""
    return UsageRecorded(
        turn_id=turn_id,
        model=name_of(used.model, "unknown"),
        input_tokens=_count(used.input_tokens),
        output_tokens=_count(used.output_tokens),
        cache_read_tokens=_maybe_count(used.cache_read_tokens),
        cache_write_tokens=_maybe_count(used.cache_write_tokens),
    )


def _count(count: int) -> int:
    return min(max(count, 0), COUNT_LIMIT - 1)


def _maybe_count(count: int | None) -> int | None:
    return None if count is None else _count(count)


def _mended(value: JsonValue, levels: int) -> JsonValue:
    match value:
        case str():
            return text_of(value)
        case float() | Decimal() if not math.isfinite(value):
            return None
        case list() if levels:
            return [_mended(item, levels - 1) for item in value]
        case Mapping() if levels:
            return {text_of(key): _mended(item, levels - 1) for key, item in value.items()}
        case list() | Mapping():
            return None
        case _:
            return value
