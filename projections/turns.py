"""How did a turn go, and where does it stand?"""

from domain import events as e
from domain.state import Turn
from domain.times import rfc3339

Shape = dict[str, object]


def address_shape(lane_id: str | None, reply_to: str | None) -> Shape:
    """Return where an answer goes; nothing of what was not said."""
    shape: Shape = {} if lane_id is None else {"lane_id": lane_id}
    return shape if reply_to is None else shape | {"reply_to": reply_to}


def turn_shape(turn: Turn, end: e.Fact | None = None) -> Shape:
    """Return a turn as the contract shows it; `end` is the fact that ended it."""
    return {
        "turn_id": turn.turn_id,
        **address_shape(turn.lane_id, turn.reply_to),
        "number": turn.number,
        "status": "paused" if turn.paused else turn.status,
        "started_at": rfc3339(turn.started_at),
        "ended_at": None if turn.ended_at is None else rfc3339(turn.ended_at),
        **_outcome(end),
        **path_shape(turn),
        "total_ms": turn.total_ms,
        "history_sent": turn.history_sent,
        "messages": turn.messages,
        "calls": turn.calls,
        "open_calls": turn.open_calls,
        "open_gates": turn.open_gates,
        "usage": {
            "input_tokens": turn.input_tokens,
            "output_tokens": turn.output_tokens,
            "cache_read_tokens": turn.cache_read_tokens,
            "cache_write_tokens": turn.cache_write_tokens,
        },
        "record_count": {"declared": turn.declared_records, "recorded": turn.records},
        "versions": {"started": turn.started_version, "ended": turn.ended_version},
    }


def path_shape(turn: Turn) -> Shape:
    """Return by which way a turn got its harness, why, and who had the history."""
    return {
        "path": turn.path,
        "path_reason": turn.path_reason,
        "history_from": "harness" if turn.path == "warm" else turn.history_from,
    }


def timings_of(end: e.Fact | None) -> object:
    """Return where the time of a turn went, as its end tells: milliseconds by name."""
    return getattr(end, "timings", None)


def _outcome(end: e.Fact | None) -> Shape:
    """Return what only the fact itself says of the end; nothing if its body is gone."""
    match end:
        case e.TurnCompleted():
            return {"stop_reason": end.stop_reason, "timings": end.timings}
        case e.TurnFailed():
            error = {"code": end.error.code, "message": end.error.message}
            return {"error": error, "timings": end.timings}
        case e.TurnInterrupted():
            return {"reason": end.reason, "by": end.by, "timings": end.timings}
        case _:
            return {}
