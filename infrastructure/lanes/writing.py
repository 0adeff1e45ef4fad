"""What does a commit write of a lane?

As of a session: the lane first (on PostgreSQL it gives the position, and refuses a writer who is
late), then its facts and their bodies, then the sessions that it has or had.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from domain.lanes.state import Bound, Lane
from domain.recorded import Recorded
from infrastructure.commit import Commit, Contended
from infrastructure.lanes.rows import INSERT_LANE, UPDATE_LANE, UPSERT_BOUND, bound_row, lane_row
from infrastructure.writing import insert_facts, new_stream


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneWriting:
    """What to write: facts of one lane, and what they make of it.

    Attributes:
        session_key: The key of the lane's stream; None of a new one.
        session_id: The name of the lane's stream.
        seen: The version that the facts were decided on; 0 for a new lane.
    """

    commit: Commit
    session_key: int | None
    project_id: str
    session_id: str
    seen: int
    facts: Sequence[Recorded]
    lane: Lane
    bound: Sequence[Bound]
    placed: list[Recorded] = field(default_factory=list[Recorded])

    def write(self) -> list[int]:
        """Write it all; return the positions, and leave the facts with them in `placed`.

        Raises:
            Contended: the lane is not where the facts were decided, or its last writer is younger.
        """
        commit, connection = self.commit, self.commit.connection
        commit.sessions.add((self.project_id, self.session_id))
        key = self.session_key
        if key is None:
            key = new_stream(connection, self.project_id, self.session_id)
        xid = self._write_lane(key)
        commit.check()
        positions = commit.positions(xid, len(self.facts))
        self.placed.extend(
            fact._replace(position=position)
            for fact, position in zip(self.facts, positions, strict=True)
        )
        insert_facts(connection, key, self.placed)
        UPSERT_BOUND.rows(connection, [bound_row(key, each) for each in self.bound])
        return positions

    def _write_lane(self, key: int) -> int:
        connection = self.commit.connection
        row = lane_row(key, self.project_id, self.session_id, self.lane)
        if self.session_key is None:
            return int(INSERT_LANE.row(connection, row).scalar_one())
        xid = UPDATE_LANE.row(connection, (key, self.seen, *row[3:])).scalar_one_or_none()
        if xid is None:
            raise Contended
        return int(xid)
