"""Can these records stand in the views' tables, on either database?

The rules see to it for what is appended; an export can be written by anybody, with hashes that fit.
Only what comes out of a body is looked at: the rest is counted here, or was read with the envelope.
"""

from typing import Final

from domain.fields import REPLY_LIMIT, TITLE_LIMIT
from domain.identifiers import is_id, is_lane_id, is_line, is_name, is_readable
from domain.state import Call, Changes, Gate, Loss, Placed, Seat, Turn

_LARGEST: Final = 2**62
"""What the rules still let a million events add to a sum fits beside it in a column."""
_MOST_ITEMS: Final = 2**15 - 1


def is_storable(changes: Changes) -> bool:
    """Tell whether every column holds what `changes` would write to it."""
    head = changes.head
    return (
        (head.title is None or (len(head.title) <= TITLE_LIMIT and is_line(head.title)))
        and _are_names(head.turn_id, head.parent_session_id, head.parent_turn_id)
        and _are_names(head.parent_call_id, head.agent_id)
        and all(map(_turn_fits, changes.turns))
        and all(map(_call_fits, changes.calls))
        and all(map(_gate_fits, changes.gates))
        and all(map(_message_fits, changes.messages))
        and all(map(_loss_fits, changes.losses))
        and all(map(_seat_fits, changes.seats))
        and all(_are_names(each.queue_id, each.turn_id) for each in changes.queue)
    )


def _turn_fits(turn: Turn) -> bool:
    reply_to = turn.reply_to
    return (
        is_id(turn.turn_id)
        and _are_names(turn.path_reason)
        and (turn.lane_id is None or is_lane_id(turn.lane_id))
        and (reply_to is None or (len(reply_to) <= REPLY_LIMIT and is_readable(reply_to)))
        and _are_counts(
            turn.declared_records,
            turn.input_tokens,
            turn.output_tokens,
            turn.cache_read_tokens,
            turn.cache_write_tokens,
        )
    )


def _call_fits(call: Call) -> bool:
    return _are_names(call.turn_id, call.tool_call_id, call.name)


def _gate_fits(gate: Gate) -> bool:
    return _are_names(gate.gate_id, gate.turn_id, gate.permission_id, gate.tool_call_id, gate.tool)


def _message_fits(message: Placed) -> bool:
    return message.item <= _MOST_ITEMS and _are_names(message.message_id, message.turn_id)


def _loss_fits(loss: Loss) -> bool:
    return _are_counts(loss.count) and _are_names(loss.turn_id)


def _seat_fits(seat: Seat) -> bool:
    return _are_counts(seat.ttl_s) and _are_names(
        seat.seat_id, seat.owner, seat.turn_id, seat.config_fingerprint, seat.reason
    )


def _are_names(*texts: str | None) -> bool:
    return all(text is None or is_name(text) for text in texts)


def _are_counts(*counts: int | None) -> bool:
    return all(count is None or -_LARGEST <= count <= _LARGEST for count in counts)
