"""Which calls would a cut through a turn part from their results?

A call and its result are of one turn, and a turn's messages follow each other: so only the turn
that is cut has to be looked at, and of it the calls that waited for their results at that point.
"""

from collections.abc import Mapping
from typing import NamedTuple

from domain.state import Call, CallKey, Placed


class Cut(NamedTuple):
    """A place within a turn: after the fact at this version."""

    turn_id: str
    version: int


def cut_after(message: Placed) -> Cut:
    """Return the place after a message."""
    return Cut(message.turn_id, message.versions[-1])


def waiting_at(calls: Mapping[CallKey, tuple[Call, ...]], cut: Cut) -> list[Call]:
    """Return the calls that were there at a cut, and their results were not."""
    return [
        call
        for key, occurrences in calls.items()
        if key[0] == cut.turn_id
        for call in occurrences
        if _waits(call, cut.version)
    ]


def _waits(call: Call, version: int) -> bool:
    asked, answered = call.requested_version, call.completed_version
    return asked is not None and asked <= version and (answered is None or answered > version)
