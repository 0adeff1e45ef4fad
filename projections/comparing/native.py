"""What does a history in turnlog's own parts say?

Messages as they are recorded (`content`: text or parts) or as a transcript shows them (`parts`).
"""

from collections.abc import Mapping
from typing import Final

from domain.json_text import JsonValue
from domain.messages import Role
from projections.comparing.told import Told, list_at, name_in, object_at, role_at, text_at

_ROLES: Final[Mapping[str, Role]] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "developer",
    "tool": "tool",
}


def read_native(value: JsonValue, index: int) -> Told:
    """Return one message.

    Raises:
        Unreadable: it is none.
    """
    message = object_at(value, index)
    role = role_at(message, _ROLES, index)
    key = "parts" if "parts" in message and "content" not in message else "content"
    content = message.get(key)
    whole: list[JsonValue] = [{"type": "text", "text": content}]
    given = whole if isinstance(content, str) else list_at(content, index, key)
    parts = [object_at(part, index, key, n) for n, part in enumerate(given)]
    for n, part in enumerate(parts):
        text_at(part.get("type"), index, key, n, "type")
    return Told(
        index=index,
        message_id=name_in(message, "message_id"),
        role=role,
        parts=tuple((part, (key, n)) for n, part in enumerate(parts)),
        turn_id=name_in(message, "turn_id"),
    )
