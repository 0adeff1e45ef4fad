"""How is a long answer cut into pages?

A cursor is opaque: where the page before ended, and a digest of the parameters that it goes with,
so that a cursor used with others is refused instead of answering something else.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Annotated, Final, Literal, TypeAlias, TypeGuard, cast

from fastapi import Query

from api.problems import ProblemError
from domain.identifiers import is_name

Order: TypeAlias = Literal["asc", "desc"]
Place: TypeAlias = list[str | int | None]

Limit = Annotated[int, Query(ge=1, le=200, description="How many items a page has at most.")]
Cursor = Annotated[
    str | None,
    Query(max_length=2_000, description="`next_cursor` of the page before; opaque."),
]
DEFAULT_LIMIT: Final = 50
KEY: Final = 2**31 - 1
"""No session's key in the tables is larger, nor a version or a day."""


def cursor(place: Place, parameters: Mapping[str, object]) -> str:
    """Return a cursor for what comes after `place`, under these parameters."""
    text = json.dumps([_digest(parameters), *place], separators=(",", ":"))
    return urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def place_of(cursor: str, parameters: Mapping[str, object], length: int) -> Place:
    """Return where the page before ended.

    Raises:
        ProblemError: the cursor is not one of ours, or goes with other parameters.
    """
    try:
        padded = cursor.encode() + b"=" * (-len(cursor) % 4)
        found: object = json.loads(urlsafe_b64decode(padded))
    except (ValueError, RecursionError):
        raise ProblemError("invalid-cursor", "the cursor cannot be read") from None
    tokens = cast("list[object]", found) if isinstance(found, list) else []
    place = [token for token in tokens[1:] if _is_place(token)]
    if len(tokens) != length + 1 or len(place) != length:
        raise ProblemError("invalid-cursor", "the cursor cannot be read")
    if tokens[0] != _digest(parameters):
        raise ProblemError("invalid-cursor", "the cursor goes with other parameters")
    return place


def whole(token: str | int | None, most: int = 2**63 - 1) -> int:
    """Return a token of a place that is a number, and not further from 0 than `most`.

    Raises:
        ProblemError: it is none.
    """
    if not isinstance(token, int) or abs(token) > most:
        raise ProblemError("invalid-cursor", "the cursor cannot be read")
    return token


def _is_place(token: object) -> TypeGuard[str | int | None]:
    """Tell whether we could have put `token` there: the databases compare by it."""
    if isinstance(token, str):
        return is_name(token)
    return token is None or (type(token) is int and abs(token) < 2**63)


def _digest(parameters: Mapping[str, object]) -> str:
    text = json.dumps(parameters, sort_keys=True, default=str)
    return sha256(text.encode()).hexdigest()[:12]
