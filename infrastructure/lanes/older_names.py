"""Did a message come before, when its place was known by an older name?

What is known of a chat can become more exact between two deliveries of one message: in which
workspace it is, or which ids are one person's.
"""

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import Connection, select

from domain.lanes.adoption import Candidate, may_adopt
from infrastructure import tables as t
from infrastructure.idempotency import IdempotencyKey, Kept, find
from infrastructure.lanes.lookup import FoundLane, find_lane
from infrastructure.lanes.resolving import Arrival


class KnownBefore(NamedTuple):
    """What became of a message, and the lane of the older name, which it came by."""

    kept: Kept
    found: FoundLane


def known_before(
    connection: Connection, arrived: Arrival, keys: Mapping[str, IdempotencyKey], now: int
) -> KnownBefore | None:
    """Return what became of a message under one of the older names of its place.

    `keys` holds its key by each lane's id. The lane of that name has to be the one whose
    conversation goes on in this place, or would: another workspace's message is another one.

    Raises:
        KeyReused: it came before, and was something else.
    """
    i = t.idempotency.c
    names = [keys[each.lane_id].key for each in arrived.candidates]
    statement = select(i.key).where(i.project_id == arrived.project_id, i.key.in_(names))
    known = set(connection.execute(statement).scalars())
    for candidate in arrived.candidates:
        key = keys[candidate.lane_id]
        if key.key not in known:
            continue
        found = find_lane(connection, arrived.project_id, candidate.lane_id)
        if found is not None and _is_this(found, candidate, arrived.lane_id):
            kept = find(connection, key, now)
            if kept is not None:
                return KnownBefore(kept, found)
    return None


def _is_this(found: FoundLane, candidate: Candidate, lane_id: str) -> bool:
    if found.lane.moved_to is not None:
        return found.lane.moved_to == lane_id
    return may_adopt(candidate, dict(found.lane.source), claimed=False)
