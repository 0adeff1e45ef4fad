"""What is different of a session between two moments, as JSON?"""

from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from sqlalchemy import Connection

from api.shapes import Shape, head_shape
from domain.raw_json import RawJson
from domain.readiness import Policy
from infrastructure.reading.diff import (
    calls_now,
    gates_now,
    later_of,
    message_changes,
    messages_of,
    points,
    turn_now,
    turns_of,
)
from infrastructure.reading.moment import Moment
from infrastructure.reading.places import finder
from projections.diff import (
    Parting,
    Point,
    Side,
    archived,
    call_changes,
    gate_changes,
    partings,
    state_changes,
    turn_changes,
    went_on,
)

Which: TypeAlias = Literal["removed", "added"]
WHICH: Final[tuple[Which, Which]] = ("removed", "added")


class Page(NamedTuple):
    """How much is shown.

    Attributes:
        limit: So many messages, and turns, of what went and of what came.
        side, depth: What a cursor goes on with, and from where; the other side is left out then.
        cursor: Makes the cursor of a side and a depth; without it none is shown.
    """

    limit: int
    cursor: Callable[[int, int], str] | None
    side: int | None = None
    depth: int = 0


def diff_shape(
    connection: Connection, moments: tuple[Moment, Moment], policy: Policy, page: Page
) -> Shape:
    """Return what is different, from the first moment to the second."""
    a, b = moments
    one, other = points(connection, a, b, policy)
    last = later_of(a, b)
    turns, messages = partings(finder(connection, last), one, other)
    going_on = turn_now(connection, last, went_on(one, other, turns))
    changed = message_changes(connection, a, b, messages, (one, other))
    summed_up = archived(messages, one, other)
    return {
        "from": {"version": one.version, "head": head_shape(one.head)},
        "to": {"version": other.version, "head": head_shape(other.head)},
        "state": state_changes(one, other),
        "turns": {
            "shared": turns.shared,
            **_turns(connection, moments, (one, other), turns, page),
            "changed": turn_changes(one, other, going_on),
        },
        "messages": {
            "shared": messages.shared,
            **_messages(connection, moments, messages, page),
            "changed": [{"from": _raw(was), "to": _raw(now)} for was, now in changed],
            "archived": max(summed_up, 0),
            "unarchived": max(-summed_up, 0),
        },
        "calls": call_changes(one, other, calls_now(connection, last, one)),
        "gates": gate_changes(one, other, gates_now(connection, last, one)),
        "through_version": max(one.version, other.version),
    }


def _turns(
    connection: Connection,
    moments: Sequence[Moment],
    ends: tuple[Point, Point],
    parting: Parting,
    page: Page,
) -> Shape:
    shape: Shape = {}
    for name, moment, end in zip(WHICH, moments, ends, strict=True):
        side, added = _side(parting, name), name == "added"
        items = (
            turns_of(connection, moment, end, side, page.limit, added=added)
            if page.side is None
            else []
        )
        shape[name] = _counts(side, name) | {"items": items}
    return shape


def _messages(
    connection: Connection, moments: Sequence[Moment], parting: Parting, page: Page
) -> Shape:
    shape: Shape = {}
    for number, (name, moment) in enumerate(zip(WHICH, moments, strict=True)):
        side, added = _side(parting, name), name == "added"
        begin = side.begin if page.side is None else max(side.begin, page.depth)
        if page.side not in {None, number}:
            begin = side.end
        found = messages_of(connection, moment, side, begin, page.limit, added=added)
        end = begin + page.limit
        told = _counts(side, name) | {
            "items": [{"change": change, "message": _raw(message)} for change, message in found]
        }
        if page.cursor is not None:
            told["next_cursor"] = page.cursor(number, end) if end < side.end else None
        shape[name] = told
    return shape


def _side(parting: Parting, name: Which) -> Side:
    return parting.added if name == "added" else parting.removed


def _counts(side: Side, name: Which) -> Shape:
    old, new = ("restored", "new") if name == "added" else ("rewound", "later")
    return {"count": side.count, old: side.old, new: side.count - side.old}


def _raw(message: str) -> RawJson:
    return RawJson(message.encode())
