"""What is a request for a turn answered with: the turn, as it ended or as it waits?"""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection

from api.gate_shapes import gate_shape
from api.shapes import Shape, head_shape, readiness_headers, readiness_shape
from domain import events as e
from domain.raw_json import RawJson, dumped
from domain.readiness import readiness
from domain.refusals import NoSuchTurn
from domain.state import Turn
from infrastructure.command_handler import Appended, Target
from infrastructure.composition import Turnlog
from infrastructure.fork_records import records_of
from infrastructure.reading.approvals import GateQuery, gates
from infrastructure.reading.facts import fact_at
from infrastructure.reading.moment import Moment, moment
from infrastructure.reading.transcript import extent_placed
from infrastructure.reading.transcript_json import page_json
from projections.turns import address_shape, turn_shape

PATH: Final = "Turnlog-Path"
SHOWN: Final = 200
_OUTCOME: Final = ("stop_reason", "error", "timings")


def turn_answer(
    log: Turnlog,
    connection: Connection,
    target: Target,
    turn_id: str,
    divergence: Shape | None = None,
    members: Shape | None = None,
) -> tuple[bytes, dict[str, str]]:
    """Return a turn as its caller is answered, with the headers that go with it.

    Of a turn with more than 200 messages the last ones; `messages_left_out` tells how many more
    there are. `divergence` is what became of the history that came with the request; `members` are
    what else is answered.

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
        **(members or {}),
        **address_shape(turn.lane_id, turn.reply_to),
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
    if divergence is not None:
        told["divergence"] = divergence
    if turn.status == "interrupted":
        told["interrupted"] = {"reason": shape.get("reason"), "by": shape.get("by")}
    standing, headers = standing_of(log, found)
    told |= standing
    if turn.path is not None:
        headers[PATH] = turn.path
    return dumped(told), headers


def divergence_of(appended: Appended | None) -> Shape | None:
    """Return how a client's history was followed, or taken for the log's; None if it was neither.

    Counts and places, nothing that was said.
    """
    for each in () if appended is None else appended.facts:
        match each.event:
            case e.HistoryDiverged() as event:
                return {
                    "followed": "client",
                    "kind": event.kind,
                    "index": event.index,
                    "client_index": event.client_index,
                    "turns_kept": event.turns,
                    "messages_recorded": event.messages,
                }
            case e.HistoryAsserted() as event:
                return {
                    "followed": "client" if event.messages else "log",
                    "messages_recorded": event.messages,
                    "reasons": list(event.reasons),
                }
            case _:
                pass
    return None


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
