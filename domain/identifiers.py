"""Which strings may name things?

Session, project and turn ids are compared bytewise and appear in paths, so they are narrow.
Names that come from elsewhere (tool calls, messages, permissions) are any readable text.
"""

import re
from typing import Final

ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
ID_RULE: Final = f"an id matches ^{ID.pattern}$"
NAME_LIMIT: Final = 256
NAME_RULE: Final = f"a name has 1 to {NAME_LIMIT} characters and no control characters"
LANE: Final = re.compile("[0-9a-f]{32}")
LANE_RULE: Final = "a lane id is 32 hexadecimal digits, in lower case"
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_CONTROL_IN_TEXT: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_DERIVED: Final = re.compile(rf"({ID.pattern}):([1-9][0-9]{{0,8}})")


def is_id(text: str) -> bool:
    """Tell whether `text` can be a session, project, turn or producer id.

    >>> is_id("chat-1"), is_id("../x"), is_id("a ")
    (True, False, False)
    """
    return ID.fullmatch(text) is not None


def is_name(text: str) -> bool:
    """Tell whether `text` can name a thing of another program: 1 to 256 characters, no control."""
    return len(text) <= NAME_LIMIT and is_readable(text)


def is_readable(text: str) -> bool:
    """Tell whether `text` says something, and holds no control characters."""
    return bool(text) and _CONTROL.search(text) is None


def is_lane_id(text: str) -> bool:
    """Tell whether `text` can be the id of a lane.

    >>> is_lane_id("0f" * 16), is_lane_id("0F" * 16)
    (True, False)
    """
    return LANE.fullmatch(text) is not None


def is_line(text: str) -> bool:
    """Tell whether `text` holds no control characters but tab and newline."""
    return _CONTROL_IN_TEXT.search(text) is None


def derived_from(message_id: str) -> tuple[str, int] | None:
    """Return the turn and ordinal of an id that the log gives a message without one, else None.

    >>> derived_from("turn-1:2"), derived_from("turn-1:02")
    (('turn-1', 2), None)
    """
    found = _DERIVED.fullmatch(message_id)
    return None if found is None else (found[1], int(found[2]))
