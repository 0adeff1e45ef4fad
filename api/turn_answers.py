"""What is a request for a turn answered with: the turn, as it ended or as it waits?"""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection

from api.gate_shapes import gate_shape
from api.shapes import Shape, head_shape, readiness_headers, readiness_shape
from domain.raw_json import RawJson, dumped
from domain.readiness import readiness
from domain.refusals import NoSuchTurn
from domain.state import Turn
from infrastructure.command_handler import Target
from infrastructure.composition import Turnlog
from infrastructure.fork_records import records_of
from infrastructure.reading.approvals import GateQuery, gates
from infrastructure.reading.facts import fact_at
from infrastructure.reading.moment import Moment, moment
from infrastructure.reading.transcript import extent_placed
from infrastructure.reading.transcript_json import page_json
from projections.turns import turn_shape

PATH: Final = "Turnlog-Path"
SHOWN: Final = 200
_OUTCOME: Final = ("stop_reason", "error", "timings")


def turn_answer(
    log: Turnlog, connection: Connection, target: Target, turn_id: str
) -> tuple[bytes, dict[str, str]]:
    """Return a turn as its caller is answered, with the headers that go with it.

    Of a turn with more than 200 messages the last ones; `messages_left_out` tells how many more
    there are.

    Raises:
        NoSuchTurn: there is none.
        NoSuchSession: it is gone.
    """
    found = moment(connection, target)
    turn = records_of(connection, found.key, found.head).turn(turn_id)
    if turn is None:
        raise NoSuchTurn(turn_id)
    ended = turn.ended_version
    end = None if ended is None else fact_at(connection, found.key_at(ended), ended)
    shape = turn_shape(turn, end)
    told: Shape = {
        "turn_id": turn_id,
        "status": shape["status"],
        "path": turn.path,
        "reason": turn.path_reason,
        "history_from": shape["history_from"],
        "messages": RawJson(f"[{','.join(_messages(connection, found, turn))}]".encode()),
        "gates": _open_gates(connection, found, turn),
        "usage": shape["usage"],
    }
    if turn.messages > SHOWN:
        told["messages_left_out"] = turn.messages - SHOWN
    told |= {name: shape[name] for name in _OUTCOME if shape.get(name) is not None}
    if turn.status == "interrupted":
        told["interrupted"] = {"reason": shape.get("reason"), "by": shape.get("by")}
    standing, headers = standing_of(log, found)
    told |= standing
    if turn.path is not None:
        headers[PATH] = turn.path
    return dumped(told), headers


def _messages(connection: Connection, found: Moment, turn: Turn) -> Sequence[str]:
    shown = extent_placed(connection, found)
    last = shown.slot(turn.first_message + turn.messages)
    return page_json(connection, found, shown.before(last, min(turn.messages, SHOWN)))


def _open_gates(connection: Connection, found: Moment, turn: Turn) -> Sequence[Shape]:
    if not turn.open_gates:
        return ()
    query = GateQuery(
        project_id=found.target.project_id, session_key=found.key, ascending=True, limit=100
    )
    return [gate_shape(view) for view in gates(connection, query)]


def standing_of(log: Turnlog, found: Moment) -> tuple[Shape, dict[str, str]]:
    """Return where a session stands, and the same as headers."""
    policy = log.policy(found.known_after)
    judged = readiness(found.head, found.open_turn, policy, found.agreements)
    shape: Shape = {
        "head": head_shape(found.head),
        "readiness": readiness_shape(judged, found.head),
    }
    return shape, dict(readiness_headers(judged, found.head))
