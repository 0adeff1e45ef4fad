"""What does the database say of harnesses: why was a turn cold, what is parked where?"""

from collections.abc import Sequence

from sqlalchemy import Connection

from api.cli.failures import Failure
from api.pool_shapes import counts_shape, seats_shape
from api.shapes import head_shape, readiness_shape
from domain.raw_json import dumped
from domain.readiness import readiness
from infrastructure.command_handler import Target
from infrastructure.composition import Turnlog
from infrastructure.reading.explaining import around
from infrastructure.reading.moment import moment
from infrastructure.reading.seats import SeatQuery, seats
from infrastructure.reading.turns import TurnQuery, TurnView, turn, turns
from projections.explanation import explanation_shape


def stored_explanation(log: Turnlog, target: Target, turn_id: str | None) -> bytes:
    """Return why a turn, else the newest one, was warm or cold."""

    def look(connection: Connection) -> bytes:
        found = moment(connection, target)
        if turn_id is None:
            shown = _newest(turns(connection, found, TurnQuery(limit=1)))
        else:
            shown = turn(connection, found, turn_id)
        judged = readiness(
            found.head, found.open_turn, log.policy(found.known_after), found.agreements
        )
        now = {
            "head": head_shape(found.head),
            "readiness": readiness_shape(judged, found.head),
            "through_version": found.through,
        }
        return dumped(explanation_shape(around(connection, found, shown)) | now)

    return log.read_now(look)


def stored_pool(log: Turnlog, project_id: str, limit: int) -> bytes:
    """Return the seats that the log tells of, the last changed first, and counts of turns."""
    query = SeatQuery(project_id=project_id, limit=limit + 1)

    def look(connection: Connection) -> bytes:
        found = seats(connection, query)
        return dumped(
            {
                "seats": seats_shape(found[:limit], None),
                "more": len(found) > limit,
                "counts": counts_shape(connection, project_id, log.now()),
                "process": None,
            }
        )

    return log.read_now(look)


def _newest(found: Sequence[TurnView]) -> TurnView:
    if not found:
        raise Failure("no-such-turn", "the session has no turn")
    return found[0]
