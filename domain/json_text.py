"""What does this JSON text say, exactly, or where is it not JSON?

Nothing is lost and nothing is guessed: what cannot be read back as it was
written is refused with its place. Good text is read by the C scanner; a slower
walk finds the place once something is known to be wrong. No error carries text.
"""

import json
import math
import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from itertools import accumulate
from json import JSONDecodeError
from typing import Final, Literal, NoReturn, TypeAlias

JsonValue: TypeAlias = (
    "bool | int | float | Decimal | str | list[JsonValue] | dict[str, JsonValue] | None"
)

NotJsonCode: TypeAlias = Literal[
    "invalid-utf8",
    "byte-order-mark",
    "syntax",
    "duplicate-key",
    "number-out-of-range",
    "not-a-number",
    "too-deep",
    "lone-surrogate",
    "empty",
]

DEEPEST: Final = 200
"""No text nested deeper than this is read, whatever a caller allows: every
reader and writer of values may recurse without meeting an interpreter's limit."""

_TOKEN_LIMIT: Final = 64
_LONGEST_FINITE: Final = 309

_DETAILS: Final[Mapping[NotJsonCode, str]] = {
    "invalid-utf8": "The text is not UTF-8.",
    "byte-order-mark": "The text begins with a byte order mark.",
    "syntax": "The text does not follow the JSON grammar.",
    "duplicate-key": "An object names the same key twice.",
    "number-out-of-range": "A number is beyond the range of a double.",
    "not-a-number": "NaN and Infinity are no JSON numbers.",
    "too-deep": "Arrays and objects are nested too deeply.",
    "lone-surrogate": "A string holds half of a surrogate pair.",
    "empty": "There is no JSON value.",
}

_SPACE: Final = re.compile(r"[ \t\n\r]*+")
_MEMBER: Final = r'"([^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+)"[ \t\n\r]*+:[ \t\n\r]*+'
_FIRST: Final = re.compile(r"\{[ \t\n\r]*+" + _MEMBER)
_NEXT: Final = re.compile(r"[ \t\n\r]*+,[ \t\n\r]*+" + _MEMBER)
_END: Final = re.compile(r"[ \t\n\r]*+\}[ \t\n\r]*+")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SCALAR: Final = re.compile(
    r"true|false|null|(?P<constant>NaN|-?Infinity)"
    r"|(?P<number>-?(?:0|[1-9][0-9]*+)(?P<fraction>(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?))"
)
# From the start over every escape that is whole, up to one that is half of a pair.
_LONE_ESCAPE: Final = re.compile(
    rb"[^\\]*+(?:\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(?!u[dD][89a-fA-F]).)[^\\]*+)*+\\",
    re.DOTALL,
)

_NOT_BRACKETS: Final = bytes(sorted(set(range(256)) - set(b"[]{}")))
_STEPS: Final = [1 if byte in b"[{" else -1 for byte in range(256)]


class NotJson(ValueError):
    """The bytes are no JSON text that can be kept exactly.

    `pointer` is the RFC 6901 pointer of the first place that is wrong, "" for the
    whole text, each of its tokens cut at 64 characters; `detail` is a fixed sentence.
    """

    def __init__(self, code: NotJsonCode, pointer: str) -> None:
        self.code: Final[NotJsonCode] = code
        self.pointer: Final = pointer
        self.detail: Final = _DETAILS[code]
        super().__init__(self.detail)


class _Fault(Exception):
    """Something is wrong; the reader that catches it knows where."""

    def __init__(self, code: NotJsonCode) -> None:
        self.code: Final[NotJsonCode] = code
        super().__init__(code)


def parse(raw: bytes, *, max_depth: int = 100) -> JsonValue:
    """Return the value that `raw` writes, nested at most `max_depth` (never over `DEEPEST`) deep.

    Integers come back as `int`; other numbers as `float` where the shortest text of
    the double has the same value, else as `Decimal`. An exponent too small even for
    `Decimal` counts as out of range.

    Raises:
        NotJson: with the first thing that is wrong, in the order of the text.
    """
    if raw.startswith(b"\xef\xbb\xbf"):
        raise NotJson("byte-order-mark", "")
    text = _decoded(raw)
    limit = min(max_depth, DEEPEST)
    if not _is_too_deep(raw, limit):
        value: JsonValue
        try:
            value, end = _READER.raw_decode(text, _after_space(text, 0))
        except (JSONDecodeError, _Fault):
            pass  # the walk says it, and its error does not carry this one's text along
        else:
            if _after_space(text, end) == len(text) and not _has_lone_escape(raw):
                return value
    raise _Walk(text, limit).first_fault()


def raw_members(raw: bytes) -> dict[str, bytes]:
    """Return each member of the object `raw`, which `parse` accepted, exactly as it is written."""
    text = raw.decode()
    return _members_at(text, _after_space(text, 0))[0]


def raw_members_within(raw: bytes, name: str) -> tuple[dict[str, bytes], list[dict[str, bytes]]]:
    """Return the members of the object `raw` as `raw_members`, but for those within one of them.

    The member `name` is an array of objects; the members of each come second.
    """
    text = raw.decode()
    found: dict[str, bytes] = {}
    within: list[dict[str, bytes]] = []
    member = _FIRST.match(text, _after_space(text, 0))
    while member is not None:
        key, start = _key(member), member.end()
        if key == name:
            at = _after_space(text, start + 1)
            while text[at] != "]":
                item, at = _members_at(text, at)
                within.append(item)
                at = _after_comma(text, at)
            end = at + 1
        else:
            _, end = _SKIPPER.raw_decode(text, start)
            found[key] = text[start:end].encode()
        member = _NEXT.match(text, end)
    return found, within


def _members_at(text: str, at: int) -> tuple[dict[str, bytes], int]:
    """Return the members of the object that begins at `at`, and where it ends."""
    found: dict[str, bytes] = {}
    end = at + 1
    member = _FIRST.match(text, at)
    while member is not None:
        start = member.end()
        _, end = _SKIPPER.raw_decode(text, start)
        found[_key(member)] = text[start:end].encode()
        member = _NEXT.match(text, end)
    return found, _after_space(text, end) + 1


def _key(member: re.Match[str]) -> str:
    key = member[1]
    return str(_SKIPPER.decode(f'"{key}"')) if "\\" in key else key


def members(raw: bytes) -> dict[str, tuple[JsonValue, bytes]]:
    """Return each member of an object: its value, and the value exactly as it is written.

    Raises:
        NotJson: as `parse`, and where the text is no object.
    """
    try:
        text = raw.decode()
        end = _after_space(text, 0) + 1
        member = _FIRST.match(text, end - 1)
        found: dict[str, tuple[JsonValue, bytes]] = {}
        count = 0
        if text[end - 1] == "{" and not _is_too_deep(raw, DEEPEST) and not _has_lone_escape(raw):
            while member is not None:
                start = member.end()
                value, end = _READER.raw_decode(text, start)
                found[_key(member)] = (value, text[start:end].encode())
                count += 1
                member = _NEXT.match(text, end)
            if count == len(found) and _END.fullmatch(text, end):
                return found
    except (ValueError, IndexError, _Fault):
        pass  # said below, by the reader that knows the place
    parse(raw, max_depth=DEEPEST)
    raise NotJson("syntax", "")


def raw_items(raw: bytes) -> list[bytes]:
    """Return each item of the array `raw`, which `parse` accepted, exactly as it is written."""
    text = raw.decode()
    at = _after_space(text, _after_space(text, 0) + 1)
    items: list[bytes] = []
    while text[at] != "]":
        _, end = _SKIPPER.raw_decode(text, at)
        items.append(text[at:end].encode())
        at = _after_comma(text, end)
    return items


def dump(value: JsonValue) -> bytes:
    """Return the compact text of `value`, which `parse` reads back as an equal value."""
    try:
        return _WRITER.encode(value).encode()
    except TypeError:
        return _with_decimals(value).encode()


def _with_decimals(value: JsonValue) -> str:
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, list):
        return f"[{','.join([_with_decimals(item) for item in value])}]"
    if isinstance(value, dict):
        members = [f"{_WRITER.encode(key)}:{_with_decimals(value[key])}" for key in value]
        return f"{{{','.join(members)}}}"
    return _WRITER.encode(value)


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        pass  # its error holds the bytes
    raise NotJson("invalid-utf8", "")


def _after_space(text: str, at: int) -> int:
    if at < len(text) and text[at] > " ":
        return at
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _after_comma(text: str, at: int) -> int:
    at = _after_space(text, at)
    return _after_space(text, at + 1) if text[at] == "," else at


def _is_too_deep(raw: bytes, limit: int) -> bool:
    """Say whether a scanner would nest deeper than `limit`; exact up to the first syntax error."""
    if raw.count(b"[") + raw.count(b"{") <= limit:
        return False
    unescaped = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    brackets = b"".join(unescaped.split(b'"')[::2]).translate(None, _NOT_BRACKETS)
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > limit


def _has_lone_escape(raw: bytes) -> bool:
    if b"\\ud" not in raw and b"\\uD" not in raw:
        return False
    return _LONE_ESCAPE.match(raw) is not None


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Fault("duplicate-key")
    return members


def _integer(text: str) -> int:
    if len(text) >= _LONGEST_FINITE and math.isinf(float(text)):
        raise _Fault("number-out-of-range")
    return int(text)


def _decimal(text: str) -> float | Decimal:
    double = float(text)
    if repr(double) == text:
        return double
    try:
        exact = Decimal(text)
    except InvalidOperation:
        raise _Fault("number-out-of-range") from None
    if math.isinf(double):
        raise _Fault("number-out-of-range")
    return double if exact == Decimal(repr(double)) else exact


def _constant(_: str) -> NoReturn:
    raise _Fault("not-a-number")


_READER: Final = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_integer,
    parse_float=_decimal,
    parse_constant=_constant,
)
_SKIPPER: Final = json.JSONDecoder()
_WRITER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


class _Walk:
    """Reads as the scanner does, slowly: it knows the path to where it is."""

    def __init__(self, text: str, limit: int) -> None:
        self._text = text
        self._limit = limit
        self._at = _after_space(text, 0)
        self._path: list[str | int] = []

    def first_fault(self) -> NotJson:
        """Return what is wrong first in a text that is known to be wrong."""
        try:
            self._document()
        except _Fault as fault:
            code = fault.code
        return NotJson(code, "".join(f"/{_token(step)}" for step in self._path))

    def _document(self) -> NoReturn:
        if self._at == len(self._text):
            raise _Fault("empty")
        self._value()
        raise _Fault("syntax")

    def _value(self) -> None:
        if self._text.startswith('"', self._at):
            self._string()
        elif self._text.startswith(("{", "["), self._at):
            if len(self._path) == self._limit:
                raise _Fault("too-deep")
            if self._takes("{"):
                self._members()
            else:
                self._takes("[")
                self._items()
        else:
            self._scalar()

    def _members(self) -> None:
        seen: set[str] = set()
        open_ = not self._takes("}")
        while open_:
            key = self._key()
            self._path.append(_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", key))
            if _SURROGATE.search(key):
                raise _Fault("lone-surrogate")
            if key in seen:
                raise _Fault("duplicate-key")
            seen.add(key)
            self._must_take(":")
            self._value()
            self._path.pop()
            open_ = self._goes_on("}")

    def _items(self) -> None:
        index = 0
        open_ = not self._takes("]")
        while open_:
            self._path.append(index)
            self._value()
            self._path.pop()
            index += 1
            open_ = self._goes_on("]")

    def _string(self) -> None:
        if _SURROGATE.search(self._key()):
            raise _Fault("lone-surrogate")

    def _key(self) -> str:
        if not self._text.startswith('"', self._at):
            raise _Fault("syntax")
        try:
            key, end = _SKIPPER.raw_decode(self._text, self._at)
        except JSONDecodeError:
            raise _Fault("syntax") from None
        self._at = _after_space(self._text, end)
        return str(key)

    def _scalar(self) -> None:
        found = _SCALAR.match(self._text, self._at)
        if found is None:
            raise _Fault("syntax")
        if found["constant"]:
            raise _Fault("not-a-number")
        if found["fraction"]:
            _decimal(found["number"])
        elif found["number"]:
            _integer(found["number"])
        self._at = _after_space(self._text, found.end())

    def _goes_on(self, closing: str) -> bool:
        if self._takes(closing):
            return False
        self._must_take(",")
        return True

    def _must_take(self, mark: str) -> None:
        if not self._takes(mark):
            raise _Fault("syntax")

    def _takes(self, mark: str) -> bool:
        if not self._text.startswith(mark, self._at):
            return False
        self._at = _after_space(self._text, self._at + 1)
        return True


def _token(step: str | int) -> str:
    escaped = str(step).replace("~", "~0").replace("/", "~1")
    return escaped[:_TOKEN_LIMIT].removesuffix("~")
