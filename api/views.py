"""What do all reads of a session's views take and answer?

`at` picks a moment. Whatever moment is shown, the head, the readiness and the entity tag in the
answer are those of now: from them a client decides what to send next.
"""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Final, TypeAlias

from fastapi import Depends, Query, Response
from sqlalchemy import Connection

from api.paging import Place
from api.problems import Flaw, ProblemError
from api.shapes import Shape, head_shape, readiness_headers, readiness_shape
from domain.identifiers import is_name
from domain.raw_json import dumped
from domain.readiness import Readiness, readiness
from domain.times import microseconds
from infrastructure.command_handler import Target
from infrastructure.composition import Turnlog
from infrastructure.reading.moment import At, Moment, NotReached, moment

MEDIA: Final = "application/json"
LARGEST: Final = 2**62
"""No number in a cursor of ours is as large."""
_VERSION: Final = re.compile(r"[0-9]{1,18}", re.ASCII)
_AT: Final = "A version, or an RFC 3339 time: the view as it stood then."

Look: TypeAlias = Callable[[Connection, Moment], Shape]


async def the_moment(
    at: Annotated[
        str | None, Query(max_length=64, description=_AT, examples=["12", "2026-01-01T12:00:00Z"])
    ] = None,
) -> At | None:
    """Return the moment that the caller asks for; None for now."""
    return None if at is None else moment_named(at, "at")


def moment_named(text: str, name: str) -> At:
    """Return the moment that a parameter of the query names.

    Raises:
        ProblemError: it is neither a version nor a time.
    """
    if _VERSION.fullmatch(text):
        return At(version=int(text))
    time = microseconds(text.replace(" ", "+"))  # a plus sign is a space unless it was escaped
    if time is None:
        raise invalid(f"`{name}` is a version, or an RFC 3339 time with an offset", name)
    return At(time=time)


When = Annotated[At | None, Depends(the_moment)]


async def view(  # noqa: PLR0913 - what every view of a session is asked with
    log: Turnlog,
    target: Target,
    known: frozenset[str],
    look: Look,
    at: At | None = None,
    pinned: int | None = None,
    *,
    long: bool = False,
) -> Response:
    """Return what `look` makes of the session at a moment; 304 if the caller has the answer.

    Args:
        log: Where the session is.
        target: The session.
        known: The tags of the answers that the caller has.
        look: What makes the answer.
        at: The moment, if it is not now.
        pinned: The version that a cursor holds on to.
        long: Whether the answer can cost more than a page does.

    Raises:
        Refusal: there is no such session.
        ProblemError: there was no such moment.
    """

    def read(connection: Connection) -> tuple[bytes | None, Mapping[str, str]]:
        found = found_moment(connection, target, at, pinned)
        judged = _judged(log, found)
        headers = readiness_headers(judged, found.head)
        if headers["ETag"] in known:
            return None, headers
        return dumped(look(connection, found)), headers

    body, headers = await log.read(read, long=long or at is not None)
    if body is None:
        return Response(status_code=304, headers=dict(headers))
    return Response(body, media_type=MEDIA, headers=dict(headers))


def now_shape(log: Turnlog, found: Moment) -> Shape:
    """Return where the session is now, and through which version the view speaks."""
    judged = _judged(log, found)
    return {
        "head": head_shape(found.head),
        "readiness": readiness_shape(judged, found.head),
        "through_version": found.through,
    }


def _judged(log: Turnlog, found: Moment) -> Readiness:
    policy = log.policy(found.known_after)
    return readiness(found.head, found.open_turn, policy, found.agreements)


def invalid(detail: str, name: str) -> ProblemError:
    """Return the problem of a query parameter that means nothing."""
    return ProblemError("invalid-value", detail, flaws=[Flaw(detail, ("query", name))])


def name_in_query(value: str | None, name: str) -> str | None:
    """Return a name from the query.

    Raises:
        ProblemError: nothing can have this name.
    """
    if value is not None and not is_name(value):
        raise invalid("a name has 1 to 256 characters and no control characters", name)
    return value


def time_in_query(text: str | None, name: str) -> int | None:
    """Return a time from the query, in microseconds since 1970.

    Raises:
        ProblemError: it is none.
    """
    # A plus sign in a query is a space unless it was escaped.
    time = None if text is None else microseconds(text.replace(" ", "+"))
    if text is not None and time is None:
        raise invalid(f"`{name}` is an RFC 3339 time with an offset", name)
    return time


def whole_numbers(place: Place) -> list[int]:
    """Return a cursor's place that has numbers only.

    Raises:
        ProblemError: it has something else.
    """
    numbers = [token for token in place if isinstance(token, int)]
    if len(numbers) != len(place) or any(abs(number) > LARGEST for number in numbers):
        raise ProblemError("invalid-cursor", "the cursor cannot be read")
    return numbers


def found_moment(
    connection: Connection,
    target: Target,
    at: At | None,
    pinned: int | None = None,
    name: str = "at",
) -> Moment:
    """Return the session at a moment, or at the version that a cursor holds on to.

    `name` is the parameter that asks for the moment.

    Raises:
        Refusal: there is no such session.
        ProblemError: there was no such moment.
    """
    try:
        return moment(connection, target, at if pinned is None else At(version=pinned))
    except NotReached:
        if pinned is not None:
            detail = "the session is not where it was when the cursor was made"
            raise ProblemError("invalid-cursor", detail) from None
        detail = "the session had not begun at this time, or is not at this version yet"
        flaw = Flaw(detail, ("query", name))
        raise ProblemError("no-such-event", detail, flaws=[flaw]) from None
