"""What was cut off in sessions that lanes have, or had, and what of it may be gone on with now?

Read a page at a time, oldest mark first, with as many statements for ten lanes as for ten thousand:
a session's own mark, or, where it has none, that of its lane.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection

from domain.lanes.keys import KeyPolicy
from domain.lanes.recovery import (
    HeldBack,
    Outside,
    Pending,
    held_back,
    is_fresh,
    lane_to_resume,
)
from domain.lanes.state import Lane
from domain.project_settings import ProjectSettings
from domain.refusals import SettingsUnreadable
from infrastructure.lanes.lookup import FoundLane
from infrastructure.lanes.marks import AT_ONCE, MARKED, MARKED_OF, OWN, OWN_OF
from infrastructure.lanes.platforms import connected_platforms
from infrastructure.lanes.rows import lane_in
from infrastructure.prepared import Rows
from infrastructure.project_settings import key_policy, settings_of


class CutOff(NamedTuple):
    """Something that was cut off, and what stands in the way of going on with it.

    Attributes:
        name: The turn that was cut off; of a lane's own mark, its lane and when it was marked.
        of_lane: Whether it is the lane's own mark.
        is_stale: Whether it is longer ago than the project wants such things to be gone on with.
        lane_id: The lane it belongs to; None if that cannot be told.
        platform: Of that lane.
        reply_to: What the turn that was cut off replies to there.
    """

    project_id: str
    session_id: str
    name: str
    of_lane: bool
    held: HeldBack | None
    is_stale: bool
    lane_id: str | None = None
    platform: str | None = None
    reply_to: str | None = None


class After(NamedTuple):
    """How far was read: all marks of one kind come before those of the other."""

    of_lane: bool = False
    marked_at: int = 0
    key: int = 0


class Page(NamedTuple):
    """What was found, and how to go on; None if that was all."""

    found: Sequence[CutOff]
    after: After | None


def page(connection: Connection, now: int, after: After) -> Page:
    """Return what was cut off, from there on."""
    params = {"at": after.marked_at, "key": after.key}
    rows = (OWN if after.of_lane else MARKED).run(connection, params)
    full = len(rows) == AT_ONCE
    if not full:
        following = None if after.of_lane else After(of_lane=True)
    elif after.of_lane:
        following = After(True, rows[-1].resume_at, rows[-1].session_key)  # noqa: FBT003
    else:
        rows = _whole_sessions(rows)
        following = After(False, rows[-1].head_resume_at, rows[-1].head_key)  # noqa: FBT003
    found = (_of_lanes if after.of_lane else _of_sessions)(rows, _Known(connection, now))
    return Page(list(found), following)


def cut_off_in(
    connection: Connection, project_id: str, session_id: str, now: int
) -> Sequence[CutOff]:
    """Return what was cut off in a session, as it stands: one thing, or one for each lane."""
    params = {"project_id": project_id, "session_id": session_id}
    known = _Known(connection, now)
    if marked := MARKED_OF.run(connection, params):
        return list(_of_sessions(marked, known))
    return list(_of_lanes(OWN_OF.run(connection, params), known))


def why_held_back(connection: Connection, found: FoundLane, now: int) -> HeldBack | None:
    """Return why what was cut off in a lane's session is not gone on with by itself.

    None if it is, where that is wanted, or if nothing was cut off.
    """
    if found.lane.resume_reason is None and found.standing.resume_reason is None:
        return None
    for each in cut_off_in(connection, found.project_id, found.lane.session_id, now):
        if each.lane_id in {found.lane_id, None}:
            return each.held
    return "left"


class _Known:
    """What has to be known besides, looked up once for each project."""

    def __init__(self, connection: Connection, now: int) -> None:
        self._connection: Final = connection
        self._now: Final = now
        self._settings: Final[dict[str, ProjectSettings]] = {}
        self._connected: Final[dict[str, frozenset[str]]] = {}
        self._policies: Final[dict[tuple[str, str], KeyPolicy | None]] = {}

    def is_stale(self, project_id: str, marked_at: int) -> bool:
        window = self._of(project_id).lanes.resume_fresh_s
        return not is_fresh(marked_at, window, self._now)

    def outside(self, project_id: str, platform: str) -> Outside:
        settings, where = self._of(project_id), (project_id, platform)
        if where not in self._policies:
            self._policies[where] = self._policy(*where)
        return Outside(
            settings=settings,
            policy=self._policies[where],
            connected=self._connected[project_id],
            now=self._now,
        )

    def _of(self, project_id: str) -> ProjectSettings:
        if project_id not in self._settings:
            self._settings[project_id] = settings_of(self._connection, project_id)
            self._connected[project_id] = connected_platforms(self._connection, project_id)
        return self._settings[project_id]

    def _policy(self, project_id: str, platform: str) -> KeyPolicy | None:
        try:
            return key_policy(self._connection, project_id, platform)
        except SettingsUnreadable:
            return None


def _whole_sessions(rows: Rows) -> Rows:
    """Leave the last session out, of which there may be more, unless it is the only one."""
    whole = Rows(row for row in rows if row.head_key != rows[-1].head_key)
    return whole or rows


def _of_sessions(rows: Rows, known: _Known) -> Iterable[CutOff]:
    for _, grouped in groupby(rows, lambda row: row.head_key):
        group = list(grouped)
        row = group[0]
        pending = _pending_of_session(row)
        lanes = {each.lane_id: lane_in(each) for each in group}
        chosen = lane_to_resume([*lanes.items()], pending)
        cut_off = CutOff(
            project_id=row.at_project_id,
            session_id=row.at_session_id,
            name=row.head_resume_turn,
            of_lane=False,
            held=None,
            is_stale=known.is_stale(row.at_project_id, row.head_resume_at),
            reply_to=row.turn_reply_to,
        )
        if isinstance(chosen, tuple):
            if chosen[0] != pending.lane_id:  # another chat's ids mean nothing in this one
                cut_off = cut_off._replace(reply_to=None)
            yield _judged(cut_off, *chosen, pending, known)
        else:
            yield cut_off._replace(held=chosen)


def _of_lanes(rows: Rows, known: _Known) -> Iterable[CutOff]:
    for row in rows:
        cut_off = CutOff(
            project_id=row.at_project_id,
            session_id=row.at_session_id,
            name=f"{row.lane_id}-{row.resume_at}",
            of_lane=True,
            held=None,
            is_stale=known.is_stale(row.at_project_id, row.resume_at),
            reply_to=row.turn_reply_to if row.turn_lane_id == row.lane_id else None,
        )
        yield _judged(cut_off, row.lane_id, lane_in(row), _pending_of_lane(row), known)


def _judged(cut_off: CutOff, lane_id: str, lane: Lane, pending: Pending, known: _Known) -> CutOff:
    outside = known.outside(cut_off.project_id, lane.platform)
    held = held_back(lane, pending, outside)
    return cut_off._replace(lane_id=lane_id, platform=lane.platform, held=held)


def _pending_of_session(row: Any) -> Pending:  # noqa: ANN401 - a row of marks
    return _pending(
        row,
        lane_id=row.turn_lane_id,
        mark=(row.head_resume_reason, row.head_resume_at),
        is_newest=row.turn_number is not None and row.turn_number == row.newest_number,
    )


def _pending_of_lane(row: Any) -> Pending:  # noqa: ANN401 - a row of marks
    before = row.turn_started_at is not None and row.turn_started_at <= row.resume_at
    return _pending(
        row,
        lane_id=row.lane_id,
        mark=(row.resume_reason, row.resume_at),
        is_newest=before and row.turn_status in {"failed", "interrupted"},
    )


def _pending(
    row: Any,  # noqa: ANN401 - a row of marks
    *,
    lane_id: str | None,
    mark: tuple[str, int],
    is_newest: bool,
) -> Pending:
    reason, marked_at = mark
    return Pending(
        session_id=row.at_session_id,
        lane_id=lane_id,
        reason=reason,
        marked_at=marked_at,
        status=row.head_status,
        is_suspended=bool(row.head_suspended),
        is_running=row.head_turn_id is not None,
        waits=row.head_queued > 0,
        is_newest=is_newest,
        is_hosted=_is_hosted(row),
    )


def _is_hosted(row: Any) -> bool:  # noqa: ANN401 - a row of marks
    """Tell whether a server ran the turn, and no runner; what a fork says of one is neither."""
    return row.turn_project_id is not None and row.turn_producer_id is None
