"""Which lanes does a project give up, and how do they go?

A fact of each says so, and in the same transaction it is no lane any more that is listed as open.
Its sessions stay, and whoever comes from there next finds the conversation again. Whether one can
go is asked again in the transaction in which it goes: what became alive meanwhile stays.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, func, literal, literal_column, select, tuple_

from domain.lanes.decide import PruneLane, decide
from domain.lanes.pruning import Cutoff, Resting, cutoff, may_go, why_spared
from infrastructure import tables as t
from infrastructure.command_handler import Caller
from infrastructure.lanes.lookup import find_lane
from infrastructure.lanes.resolving import Lanes
from infrastructure.lanes.resting import (
    IN_USE,
    JOINED,
    PINNED,
    RESUME_PENDING,
    SUSPENDED,
    TOUCHED_AT,
    check_untouched,
    resting,
)
from infrastructure.project_settings import settings_by_project, settings_of
from infrastructure.retention import Pruning
from infrastructure.runner import Attempt

_L: Final = t.lanes.c
_HOLDS: Final[Mapping[str, ColumnElement[bool]]] = {
    "pinned": PINNED,
    "suspended": SUSPENDED,
    "in_use": IN_USE,
    "resume_pending": RESUME_PENDING,
}


class Rested(NamedTuple):
    """A lane to which nothing came for long, and which nothing held when it was looked at.

    Attributes:
        touched_at, key: When something last came, and its stream's key: its place among others.
    """

    project_id: str
    lane_id: str
    touched_at: int = 0
    key: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RestedCounts:
    """To how many lanes nothing came for long.

    Attributes:
        going: Those that are given up; the others stay, and are counted by what holds them.
    """

    going: int = 0
    pinned: int = 0
    suspended: int = 0
    in_use: int = 0
    resume_pending: int = 0

    def spared(self) -> Mapping[str, int]:
        """Return how many stay, by what holds them."""
        names = (field.name for field in fields(self) if field.name != "going")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunedLanes:
    """What went, or would.

    Attributes:
        days: How long lanes may rest; 0: for ever.
        before: That to which something came last before this time went; None if nothing goes.
        remaining: How many others could go.
    """

    days: int = 0
    before: int | None = None
    lane_ids: Sequence[str] = ()
    remaining: int = 0
    counts: RestedCounts = RestedCounts()


def would_prune_lanes(connection: Connection, asked: Pruning, now: int) -> PrunedLanes:
    """Return what pruning would do."""
    days = asked.days
    if days is None:
        days = settings_of(connection, asked.project_id).lanes.prune_after_days
    given = cutoff(days, now, include_pinned=asked.include_pinned)
    if given is None:
        return PrunedLanes()
    counts = count_rested(connection, asked.project_id, given, now)
    found = rested(connection, asked.project_id, given, now, asked.limit)
    return PrunedLanes(
        days=days,
        before=given.before,
        lane_ids=[each.lane_id for each in found],
        remaining=counts.going - len(found),
        counts=counts,
    )


def prune_lanes(
    lanes: Lanes,
    attempt: Attempt,
    asked: Pruning,
    would: PrunedLanes,
    now: int,
    caller: Caller,
) -> PrunedLanes:
    """Do what pruning would do, as far as it still can."""
    if would.before is None:
        return would
    given = Cutoff(before=would.before, include_pinned=asked.include_pinned)
    found = [Rested(asked.project_id, lane_id) for lane_id in would.lane_ids]
    return replace(would, lane_ids=give_up(lanes, attempt, found, given, now, caller))


def rested(
    connection: Connection,
    project_id: str,
    given: Cutoff,
    now: int,
    limit: int,
    after: Rested | None = None,
) -> Sequence[Rested]:
    """Return some of the lanes that can go, those first that rested longest; those `after` one."""
    order = (TOUCHED_AT, t.lane_activity.c.session_key)
    holds = [
        hold for name, hold in _HOLDS.items() if not (name == "pinned" and given.include_pinned)
    ]
    statement = (
        select(_L.project_id, _L.lane_id, *order)
        .select_from(JOINED)
        .where(*_old(project_id, given), *(~hold for hold in holds))
        .order_by(*order)
        .limit(limit)
    )
    if after is not None:
        place = tuple_(literal(after.touched_at), literal(after.key))
        statement = statement.where(tuple_(*order) > place)
    return [Rested(*row) for row in connection.execute(statement, {"now": now})]


def count_rested(connection: Connection, project_id: str, given: Cutoff, now: int) -> RestedCounts:
    """Return how many lanes would go, and how many stay although they rested as long."""
    found = (
        select(*(hold.label(name) for name, hold in _HOLDS.items()))
        .select_from(JOINED)
        .where(*_old(project_id, given))
        .subquery()
    )
    statement = select(*found.c, func.count()).group_by(*found.c)
    counts: dict[str, int] = {}
    for *held, count in connection.execute(statement, {"now": now}):
        lane = Resting("open", None, *map(bool, held))
        why = why_spared(lane, given) or "going"
        counts[why] = counts.get(why, 0) + count
    return RestedCounts(**counts)


def give_up(
    lanes: Lanes,
    attempt: Attempt,
    found: Sequence[Rested],
    given: Cutoff,
    now: int,
    caller: Caller,
) -> Sequence[str]:
    """Give those of these lanes up that can still go, and return their ids.

    Raises:
        Contended: another writer came first.
    """
    gone: list[str] = []
    for place in found:
        known = find_lane(attempt.connection, place.project_id, place.lane_id)
        if known is None:
            continue
        stands = resting(attempt.connection, known.key, now)
        if stands is None or not may_go(stands, given):
            continue
        facts = decide(known.lane, known.standing, PruneLane())
        lanes.append(attempt, (known.project_id, known.lane_id), known, facts, caller)
        check_untouched(attempt.connection, known.key, stands)
        gone.append(known.lane_id)
    return gone


def projects_that_prune(connection: Connection) -> Mapping[str, int]:
    """Return how many days lanes may rest in each project where they may not for ever."""
    return {
        project_id: settings.lanes.prune_after_days
        for project_id, settings in settings_by_project(connection)
        if settings.lanes.prune_after_days > 0
    }


def _old(project_id: str, given: Cutoff) -> Sequence[ColumnElement[Any]]:
    return (
        t.lane_activity.c.project_id == project_id,
        given.before > TOUCHED_AT,
        _L.status == literal_column("'open'"),
    )
