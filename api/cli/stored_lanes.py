"""What does the database say of a lane, as the REST interface would, and how is one changed?"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, TypeVar

from sqlalchemy import Connection

from api.cli.wanted import LaneWanted, PruneWanted, ResolveWanted
from api.lane_pruning_shapes import pruned_lanes_shape
from api.lane_shapes import lane_session_shape, lane_shape, resolved_shape
from api.purge_shapes import lane_purge_shape
from api.session_shapes import event_json
from domain.lanes.source import read_source
from domain.raw_json import dumped
from domain.refusals import NoSuchLane
from infrastructure.command_handler import Caller
from infrastructure.composition import Turnlog
from infrastructure.idempotency import key_of, said_once
from infrastructure.lanes.arriving import arrival, forced_by
from infrastructure.lanes.changing import LaneChanges
from infrastructure.lanes.facts import stream_name
from infrastructure.lanes.leaving import Departure
from infrastructure.lanes.listing import LaneQuery, lane_sessions, lanes
from infrastructure.lanes.lookup import FoundLane, find_lane, the_lane
from infrastructure.lanes.pruning import prune_lanes, would_prune_lanes
from infrastructure.lanes.purging import lane_foreseen, purge_lane
from infrastructure.lanes.resolving import Beginning
from infrastructure.recorder import stream_facts
from infrastructure.retention import Pruning
from infrastructure.runner import Attempt

LOCAL: Final = Caller(actor="local")
PAGE: Final = 200

Answer = TypeVar("Answer")


class StoredLanes:
    """The lanes of one project of an open log; see `LaneSource`."""

    def __init__(self, log: Turnlog, project_id: str) -> None:
        """Take the log."""
        self._log: Final = log
        self._project_id: Final = project_id

    def find(self, wanted: LaneWanted) -> Iterator[bytes]:
        """Yield lanes, newest activity first."""
        after: tuple[int, int] | None = None
        while True:
            query = LaneQuery(
                project_id=self._project_id,
                status=wanted.status,
                id_prefix=wanted.id_prefix,
                lane_key=wanted.key,
                platform=wanted.platform,
                after=after,
                limit=PAGE,
            )
            found = self._read(partial(lanes, query=query))
            yield from (dumped(lane_shape(each)) for each in found)
            if len(found) < PAGE:
                return
            after = (found[-1].touched_at, found[-1].key)

    def read(self, lane_id: str) -> bytes:
        """Return a lane, whatever became of it."""
        return dumped(lane_shape(self._found(lane_id)))

    def sessions(self, lane_id: str) -> Iterator[bytes]:
        """Yield the sessions that it has or had, the newest first."""
        known, after = self._found(lane_id), None
        while True:
            found = self._read(partial(lane_sessions, found=known, after=after, limit=PAGE))
            yield from (dumped(lane_session_shape(each)) for each in found)
            if len(found) < PAGE:
                return
            after = (found[-1].bound_at, found[-1].session_id)

    def events(self, lane_id: str, after: int) -> Iterator[bytes]:
        """Yield its facts after a version, the first one first."""
        stream = (self._project_id, stream_name(lane_id), self._found(lane_id).key)
        named = dumped({"lane_id": lane_id})[:-1]
        while True:
            found = self._read(partial(stream_facts, stream=stream, gt=after, limit=PAGE))
            yield from (named + b"," + event_json(each)[1:] for each in found)
            if len(found) < PAGE:
                return
            after = found[-1].envelope.version

    def resolve(self, wanted: ResolveWanted) -> bytes:
        """Return which session a source has; open one if need be."""
        source, log = read_source(wanted.source, "source"), self._log

        def work(attempt: Attempt) -> bytes:
            connection = attempt.connection
            came = arrival(connection, self._project_id, source, force_new=wanted.force_new)
            natural = forced_by(came, source)
            return said_once(
                connection,
                None if natural is None else key_of(self._project_id, natural),
                log.now(),
                lambda: dumped(resolved_shape(log.lanes.resolve(attempt, came, LOCAL))),
            )

        return log.runner.run(work)

    def reset(self, lane_id: str, *, interrupt: bool) -> bytes:
        """Begin a new session; return it, and what was stopped for it."""
        from api.lane_commanding import left_shape  # noqa: PLC0415 - what serves requests, too

        departure = Departure(because="lane-reset", interrupt=interrupt, caller=LOCAL)
        changes = LaneChanges(self._log.lanes, self._log.handler)

        def work(attempt: Attempt) -> bytes:
            found = the_lane(attempt.connection, self._project_id, lane_id)
            made, left = changes.reset(attempt, found, departure, Beginning())
            return dumped(resolved_shape(made) | left_shape(left, None))

        return self._log.runner.run(work)

    def purge(self, lane_id: str, *, dry_run: bool) -> bytes:
        """Destroy what is known of a lane, or tell what would go."""
        log, project_id = self._log, self._project_id
        if dry_run:
            purged = self._read(partial(lane_foreseen, project_id=project_id, lane_id=lane_id))
        else:
            purged = log.runner.run(
                lambda attempt: purge_lane(log.lanes, attempt, project_id, lane_id, LOCAL)
            )
        return dumped(lane_purge_shape(lane_id, purged, dry_run=dry_run))

    def prune(self, wanted: PruneWanted) -> bytes:
        """Give up lanes that rest, or tell which would go."""
        asked = Pruning(
            project_id=self._project_id,
            days=wanted.older_than_days,
            include_pinned=wanted.include_pinned,
            limit=wanted.limit,
        )
        log = self._log
        would = self._read(partial(would_prune_lanes, asked=asked, now=log.now()))
        if wanted.dry_run:
            return dumped(pruned_lanes_shape(would, dry_run=True))
        done = log.runner.run(
            lambda attempt: prune_lanes(log.lanes, attempt, asked, would, log.now(), LOCAL)
        )
        return dumped(pruned_lanes_shape(done, dry_run=False))

    def _found(self, lane_id: str) -> FoundLane:
        found = self._read(partial(find_lane, project_id=self._project_id, lane_id=lane_id))
        if found is None:
            raise NoSuchLane
        return found

    def _read(self, look: Callable[[Connection], Answer]) -> Answer:
        return self._log.read_now(look)
