"""JSON that passes through: kept as the bytes that were sent, read only to be compared."""

from collections.abc import Iterable, Mapping
from json import JSONEncoder
from typing import Final, cast

from domain.json_text import JsonValue, dump, parse, raw_items, raw_members


class RawJson(bytes):
    """The text of one JSON value, known to be valid; whoever has read it already says so."""

    _known: tuple[JsonValue] | None = None

    @classmethod
    def of(cls, raw: bytes, value: JsonValue) -> "RawJson":
        """Return `raw`, which says `value`."""
        made = cls(raw)
        made._known = (value,)
        return made

    def parsed(self) -> JsonValue:
        """Return the value."""
        return parse(self) if self._known is None else self._known[0]


def opaque_members(raw: bytes) -> dict[str, bytes]:
    """Return each member of an object as it is written."""
    return raw_members(raw)


def with_member(raw: bytes, name: str, value: str) -> bytes:
    """Return the JSON object `raw` with its member `name` being `value`, first.

    Without such a member before, the rest is untouched.

    >>> with_member(b'{"a":1.50}', "id", "g")
    b'{"id":"g","a":1.50}'
    >>> with_member(b'{"id":null, "a":1.50}', "id", "g")
    b'{"id":"g","a":1.50}'
    """
    members = raw_members(raw)
    if members.pop(name, None) is None:
        rest = raw[raw.index(b"{") + 1 :]
    else:
        rest = b",".join(dump(key) + b":" + item for key, item in members.items()) + b"}"
    comma = b"" if rest.lstrip().startswith(b"}") else b","
    return b"{" + dump(name) + b":" + dump(value) + comma + rest


def without_raw(value: object) -> JsonValue:
    """Return `value` with every `RawJson` in it read."""
    if isinstance(value, RawJson):
        return value.parsed()
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Mapping):
        members = cast("Mapping[object, object]", value)
        return {str(key): without_raw(item) for key, item in members.items()}
    if isinstance(value, list | tuple):
        return [without_raw(item) for item in cast("Iterable[object]", value)]
    return cast("JsonValue", value)


def dumped(value: object) -> bytes:
    """Return compact JSON of `value`, with every `RawJson` in it as it was sent."""
    if isinstance(value, RawJson):
        return bytes(value)
    passed: list[RawJson] = []

    def default(item: object) -> object:
        if isinstance(item, RawJson):
            passed.append(item)
            return _GAP
        if isinstance(item, Mapping):
            return dict(cast("Mapping[object, object]", item))
        raise TypeError

    try:
        text = JSONEncoder(
            ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=default
        ).encode(value)
    except TypeError:
        return _joined(value)
    if not passed:
        return text.encode()
    around = text.encode().split(_WRITTEN_GAP)
    if len(around) != len(passed) + 1:
        return _joined(value)  # somebody said just what the gap is written as
    return b"".join(piece for pair in zip(around, [*passed, b""], strict=True) for piece in pair)


def _joined(value: object) -> bytes:
    if isinstance(value, RawJson):
        return bytes(value)
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        members = (dump(str(key)) + b":" + _joined(item) for key, item in items)
        return b"{" + b",".join(members) + b"}"
    if isinstance(value, list | tuple):
        return b"[" + b",".join(map(_joined, cast("Iterable[object]", value))) + b"]"
    return dump(cast("JsonValue", value))


_GAP: Final = "\ue000gap\ue000"
_WRITTEN_GAP: Final = f'"{_GAP}"'.encode()

__all__ = ["RawJson", "dumped", "opaque_members", "raw_items", "with_member", "without_raw"]
