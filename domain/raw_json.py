"""JSON that passes through: kept as the bytes that were sent, read only to be compared."""

from collections.abc import Mapping

from domain.json_text import JsonValue, dump, parse, raw_items, raw_members


class RawJson(bytes):
    """The text of one JSON value, known to be valid."""

    __slots__ = ()

    def parsed(self) -> JsonValue:
        """Return the value."""
        return parse(self)


def opaque_members(raw: bytes) -> dict[str, bytes]:
    """Return each member of an object as it is written."""
    return raw_members(raw)


def with_member(raw: bytes, name: str, value: str) -> bytes:
    """Return the JSON object `raw` with one more member, first, and the rest untouched.

    >>> with_member(b'{"a":1.50}', "id", "g")
    b'{"id":"g","a":1.50}'
    """
    rest = raw[raw.index(b"{") + 1 :]
    comma = b"" if rest.lstrip().startswith(b"}") else b","
    return b"{" + dump(name) + b":" + dump(value) + comma + rest


def without_raw(value: object) -> JsonValue:
    """Return `value` with every `RawJson` in it read."""
    if isinstance(value, RawJson):
        return value.parsed()
    if isinstance(value, Mapping):
        return {str(key): without_raw(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_raw(item) for item in value]
    return value  # type: ignore[return-value]  # pyright: ignore[reportReturnType] - a scalar


def dumped(value: object) -> bytes:
    """Return compact JSON of `value`, with every `RawJson` in it as it was sent."""
    if isinstance(value, RawJson):
        return bytes(value)
    if isinstance(value, Mapping):
        members = (dump(str(key)) + b":" + dumped(item) for key, item in value.items())
        return b"{" + b",".join(members) + b"}"
    if isinstance(value, list | tuple):
        return b"[" + b",".join(map(dumped, value)) + b"]"
    return dump(value)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] - a scalar


__all__ = ["RawJson", "dumped", "opaque_members", "raw_items", "with_member", "without_raw"]
