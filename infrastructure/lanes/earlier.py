"""Which earlier sessions may be gone on with in a lane?

Those that it had, those of the lanes whose conversation moved here, and those of the lanes of the
same owner; nobody else's, and nothing of what moved away.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy import CompoundSelect, Connection, select, text, union_all

from domain.lanes.choosing import Earlier, folded
from infrastructure import tables as t
from infrastructure.lanes.lookup import MOST_MOVES, FoundLane, find_lane

MOST: Final = 10_000
"""So many are looked through, the newest first."""
OF_NOW: Final = (
    "({lanes}.moved_to IS NULL OR "
    "(SELECT count(*) FROM events AS later WHERE later.session_key = {bound}.session_key "
    "AND later.type = 'lane-moved' AND later.version > {bound}.bound_version) = "
    "CASE {lanes}.status WHEN 'moved' THEN 1 ELSE 0 END)"
)
"""Of a place whose conversation went on elsewhere, and where another one began since, what was
there before went with it: that is somebody else's, who may speak there now."""


class EarlierSession(NamedTuple):
    """A session of somebody's.

    Attributes:
        bound_at: When it last became a lane's current one; microseconds since 1970.
        lane_id: That lane.
    """

    session_id: str
    title: str | None
    status: str
    updated_at: int
    bound_at: int
    lane_id: str
    is_current: bool

    @property
    def named(self) -> Earlier:
        """Return what it is asked for by."""
        return Earlier(self.session_id, self.title)


def earlier_sessions(
    connection: Connection, found: FoundLane, *, session_id: str | None = None
) -> Sequence[EarlierSession]:
    """Return the sessions that may be gone on with, newest first; or the one of an id."""
    lanes, bound, heads = t.lanes.c, t.lane_sessions.c, t.heads.c
    statement = (
        select(
            bound.session_id,
            bound.bound_at,
            lanes.lane_id,
            heads.title,
            heads.status,
            heads.updated_at,
        )
        .select_from(
            t.lanes.join(t.lane_sessions, bound.session_key == lanes.session_key)
            .join(
                t.streams,
                (t.streams.c.project_id == lanes.project_id)
                & (t.streams.c.session_id == bound.session_id),
            )
            .join(t.heads, heads.session_key == t.streams.c.session_key)
        )
        .where(
            lanes.project_id == found.project_id,
            lanes.session_key.in_(_whose(connection, found)),
            text("heads.status NOT IN ('deleted', 'purged')"),
            text(OF_NOW.format(lanes="lanes", bound="lane_sessions")),
        )
        .order_by(heads.updated_at.desc(), bound.session_id.desc(), bound.bound_at.desc())
        .limit(MOST)
    )
    if session_id is not None:
        statement = statement.where(bound.session_id == session_id)
    sessions: dict[str, EarlierSession] = {}
    for row in connection.execute(statement):
        each = EarlierSession(
            session_id=row.session_id,
            title=row.title,
            status=row.status,
            updated_at=row.updated_at,
            bound_at=row.bound_at,
            lane_id=row.lane_id,
            is_current=row.session_id == found.lane.session_id,
        )
        sessions.setdefault(each.session_id, each)
    return tuple(sessions.values())


def titled(found: Sequence[EarlierSession], title: str | None) -> Sequence[EarlierSession]:
    """Return those whose titles begin so; all of them if none is given."""
    if title is None:
        return found
    wanted = folded(title)
    return [each for each in found if each.title and folded(each.title).startswith(wanted)]


def _whose(connection: Connection, found: FoundLane) -> CompoundSelect[int]:
    """Return the keys of the lanes whose sessions they are: looked up, and not looked for."""
    owned = t.lanes.alias("owned")
    ours = t.lanes.alias("ours")
    return union_all(
        select(ours.c.session_key).where(ours.c.session_key.in_(keys_of_ours(connection, found))),
        select(owned.c.session_key).where(
            owned.c.project_id == found.project_id,
            owned.c.owner == found.lane.owner,
            owned.c.owner != "",
            text("owned.status IN ('open', 'pruned')"),
        ),
    )


def keys_of_ours(connection: Connection, found: FoundLane) -> list[int]:
    """Return the keys of the lane, and of those whose conversation goes on in it.

    Where another one began since, that is none of it.
    """
    keys, there = [found.key], found
    for _ in range(MOST_MOVES):
        if there.lane.moved_from is None:
            break
        before = find_lane(connection, found.project_id, there.lane.moved_from)
        if before is None or before.lane.status != "moved":
            break
        if before.lane.moved_to != there.lane_id:
            break
        keys.append(before.key)
        there = before
    return keys
