r"""Which bytes stand for this JSON value, however it was written?

RFC 8785: no space, keys in the order of their UTF-16 code units, numbers as
ECMAScript writes doubles. A number that no double holds exactly, which RFC 8785
cannot say, is written as the string "\u0000n:" and its normalised decimal text;
a text that looks like one gets one more NUL in front, so that the two never meet.
"""

import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from json.encoder import encode_basestring as _quoted
from typing import Any, Final, TypeAlias

from domain.json_text import JsonValue

_Number: TypeAlias = int | Decimal

_TAG: Final = "\0n:"
_SAFE_INTEGER: Final = 2**53
_FIRST_WITH_EXPONENT: Final = 21
_LAST_WITHOUT_EXPONENT: Final = -7


def canonical(value: JsonValue) -> bytes:
    r"""Return the bytes that equal values share and other values do not.

    A number is written plainly if and only if the shortest text of its double has
    its exact value, so equal numbers are equal however they are spelled.

    >>> canonical({"b": 1e2, "a": 9007199254740993})
    b'{"a":"\\u0000n:9.007199254740993e+15","b":100}'
    """
    return _bytes(_exactly(value))


def canonical_as_javascript(value: JsonValue) -> bytes:
    """Return what `JSON.stringify` gives for `value` with all keys sorted, as the reference does.

    Numbers become doubles: two that differ beyond a double's precision are the same.

    >>> canonical_as_javascript({"b": 1e2, "a": 9007199254740993})
    b'{"a":9007199254740992,"b":100}'
    """
    return _bytes(_as_javascript(value))


def _bytes(text: str) -> bytes:
    # ECMAScript writes half of a surrogate pair as an escape, and so does this handler.
    return text.encode("utf-8", "backslashreplace")


def _writer(
    number: Callable[[_Number], str], text: Callable[[str], str]
) -> Callable[[JsonValue], str]:
    """Return what writes values, each by its type: nothing is asked twice."""

    def written(value: JsonValue) -> str:
        return by_type[type(value)](value)

    def array(items: list[JsonValue]) -> str:
        return f"[{','.join([by_type[type(item)](item) for item in items])}]"

    def members(found: dict[str, JsonValue]) -> str:
        said = [
            f"{_quoted(key)}:{by_type[type(value := found[key])](value)}" for key in _ordered(found)
        ]
        return f"{{{','.join(said)}}}"

    by_type: dict[type, Callable[[Any], str]] = {
        str: text,
        dict: members,
        list: array,
        bool: lambda value: "true" if value else "false",
        type(None): lambda _: "null",
        int: number,
        float: _double,
        Decimal: number,
    }
    return written


def _ordered(keys: Iterable[str]) -> list[str]:
    """Return `keys` in the order of their code units; of ASCII that is the order of the text."""
    if "".join(keys).isascii():
        return sorted(keys)
    return sorted(keys, key=_code_units)


def _code_units(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")


def _distinct_text(text: str) -> str:
    looks_tagged = text[:1] == "\0" and text.lstrip("\0").startswith(_TAG[1:])
    return _quoted(f"\0{text}" if looks_tagged else text)


def _exact_number(number: _Number) -> str:
    if isinstance(number, int) and abs(number) <= _SAFE_INTEGER:
        return str(number)
    exact = Decimal(number)
    nearest = float(exact)
    if math.isfinite(nearest) and Decimal(repr(nearest)) == exact:
        return _double(nearest)
    return _quoted(_TAG + _scientific(exact))


def _nearest_double(number: _Number) -> str:
    # By way of Decimal: float() raises where an integer has no double.
    return _double(float(Decimal(number)))


def _scientific(exact: Decimal) -> str:
    mantissa, _, exponent = f"{exact:e}".partition("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}e{exponent}"


def _double(number: float) -> str:
    """Return ECMAScript's `Number::toString`, or null as `JSON.stringify` does for no number."""
    if not math.isfinite(number):
        return "null"
    if number == 0:
        return "0"
    mantissa, _, power = repr(number).partition("e")
    if not power:
        return mantissa.removesuffix(".0")
    exponent = int(power)
    sign = "-" if number < 0 else ""
    digits = mantissa.removeprefix("-").replace(".", "")
    if 0 < exponent < _FIRST_WITH_EXPONENT:
        return sign + digits.ljust(exponent + 1, "0")
    if _LAST_WITHOUT_EXPONENT < exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    return f"{mantissa}e{exponent:+d}"


_exactly: Final = _writer(_exact_number, _distinct_text)
_as_javascript: Final = _writer(_nearest_double, _quoted)
