"""What does one line of a source say, and when was that?

A line is read strictly, with one mercy: half a surrogate pair becomes U+FFFD and is counted. Every
line that cannot be read is told with its number, and its text is kept.
"""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from domain.json_text import JsonValue, NotJson, parse
from infrastructure.imports.claude_lines import DEEPEST_LINE, JsonObject, without_lone_surrogates
from infrastructure.imports.translation import Loss

_BOM: Final = b"\xef\xbb\xbf"
_LATEST: Final = 253_402_300_799.0  # 9999-12-31T23:59:59Z


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One line that is not blank: its value; or None, and the line in base64."""

    number: int
    value: JsonObject | None
    raw: str = ""


def read_lines(lines: Sequence[bytes], losses: list[Loss], first: int = 1) -> Iterator[Read]:
    """Yield each line that is not blank; `losses` hears of what could not be read as it was."""
    for number, raw in enumerate(lines, first):
        text = raw.strip(b" \t\r\n")
        if number == 1:
            text = text.removeprefix(_BOM)
        if text:
            yield _read(text, number, losses)


def time_of(value: JsonValue) -> datetime | None:
    """Return a time that is written as RFC 3339, or as seconds or milliseconds since 1970."""
    try:
        if isinstance(value, str):
            at = datetime.fromisoformat(value)
            return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            seconds = value / 1000 if value > _LATEST / 10 else value
            return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        pass  # a time that UTC cannot show is no time
    return None


def within(value: JsonValue, *path: str) -> JsonValue:
    """Return the member at `path` of an object, or None if there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def count_of(value: JsonValue) -> int | None:
    """Return a number of tokens, if `value` is one."""
    fits = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40
    return value if fits and isinstance(value, int) else None


def _read(text: bytes, number: int, losses: list[Loss]) -> Read:
    mended, replaced = without_lone_surrogates(text)
    if replaced:
        losses.append(Loss(line=number, code="lone-surrogate", detail=str(replaced)))
    try:
        value = parse(mended, max_depth=DEEPEST_LINE)
    except NotJson as error:
        fault: str = error.code
    else:
        if isinstance(value, dict):
            return Read(number=number, value=value)
        fault = "not-an-object"
    losses.append(Loss(line=number, code="unreadable-line", detail=fault))
    return Read(number=number, value=None, raw=base64.b64encode(text).decode())
