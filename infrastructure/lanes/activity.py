"""When did something last come to a lane? Kept beside the log: it is no event."""

from typing import Any, Final

from sqlalchemy import Connection, bindparam
from sqlalchemy.dialects import postgresql, sqlite

from infrastructure import tables as t
from infrastructure.lanes.lookup import FoundLane
from infrastructure.prepared import Prepared

TOUCHED_US: Final = 1_000_000
"""When something last came to a lane is kept to the second."""


def touch(connection: Connection, found: FoundLane, now: int) -> None:
    """Keep that something came to a lane; never earlier than was kept."""
    row = {"session_key": found.key, "project_id": found.project_id, "touched_at": now}
    _TOUCH.run(connection, row)


def _touch(dialect: str) -> Any:  # noqa: ANN401 - one of two classes without a common one
    insert = sqlite.insert if dialect == "sqlite" else postgresql.insert
    statement = insert(t.lane_activity).values(
        {c.name: bindparam(c.name) for c in t.lane_activity.columns}
    )
    return statement.on_conflict_do_update(
        index_elements=["session_key"],
        set_={"touched_at": statement.excluded["touched_at"]},
        where=t.lane_activity.c.touched_at < statement.excluded["touched_at"],
    )


_TOUCH: Final = Prepared(_touch)
