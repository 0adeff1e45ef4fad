"""What does a member of a message say, if it says what it should?

Agents leave members out and put odd things in; none of that is worth losing the rest over.
"""

from typing import Final

from domain.identifiers import NAME_LIMIT, is_name
from domain.json_text import JsonValue, dump

Object = dict[str, JsonValue]
EXTENSION: Final = "turnlog.dev"
_NAMELESS: Final = "unnamed"


def text(holder: Object, key: str) -> str | None:
    """Return a member that is text and not empty."""
    value = holder.get(key)
    return value if isinstance(value, str) and value else None


def number(holder: Object, key: str) -> int | None:
    """Return a member that is a whole number of things."""
    value = holder.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return None
    return value


def member(holder: Object, key: str) -> Object:
    """Return a member that is an object; an empty one if it is none."""
    value = holder.get(key)
    return value if isinstance(value, dict) else {}


def objects(holder: Object, key: str) -> list[Object]:
    """Return the objects in a member that is a list."""
    value = holder.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def extension(holder: Object, name: str) -> JsonValue:
    """Return what a message says beyond the protocol, in turnlog's own words."""
    return member(holder, "_meta").get(f"{EXTENSION}/{name}")


def as_name(given: str) -> str:
    r"""Return `given` as something that can name a thing: short, on one line.

    >>> as_name("a\nb"), as_name("")
    ('a b', 'unnamed')
    """
    if is_name(given):
        return given
    kept = "".join(letter if is_name(letter) else " " for letter in given[:NAME_LIMIT])
    return kept.strip() or _NAMELESS


def as_arguments(given: JsonValue) -> JsonValue:
    """Return a call's arguments as they are kept: an object, or the text that was written."""
    if given is None:
        return {}
    return given if isinstance(given, dict | str) else dump(given).decode()
