"""What is a session after a turn began, ended, or used a model?"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from domain import events as e
from domain.draft import Draft
from domain.json_text import NotJson
from domain.paths import found_in, grown
from domain.pieces import pieces_of
from domain.place import place
from domain.raw_json import without_raw
from domain.restarts import NOT_ADDRESSED
from domain.state import Turn, TurnStatus

_MILLISECOND: Final = 1_000
_LONGEST_MS: Final = 2**53


def turn_started(draft: Draft, event: e.TurnStarted) -> None:
    """Begin a turn with its input; after a rewind, on a branch of its own."""
    head, producer = draft.head, draft.fact.envelope.producer
    branch = head.branch
    if head.turn_tip != head.started:
        draft.branch = grown(found_in(draft.known.branches), head)
        branch = draft.branch.first_turn
    draft.turn = Turn(
        turn_id=event.turn_id,
        number=head.started + 1,
        started_version=draft.version,
        first_message=head.placed,
        branch=branch,
        unverified_before=head.unverified_turns,
        miscounted_before=head.miscounted_turns,
        started_at=draft.fact.envelope.recorded_at,
        records=1 if producer else 0,
        producer_id=producer.producer_id if producer else None,
        producer_epoch=producer.epoch if producer else None,
        producer_sequence=producer.sequence if producer else None,
        history_sent=event.history_sent,
        lane_id=event.lane_id,
        reply_to=event.reply_to,
    )
    draft.head = head._replace(
        turns=head.turns + 1,
        started=head.started + 1,
        turn_tip=head.started + 1,
        branch=branch,
        turn_id=event.turn_id,
        tail_open=False,
    )
    for item, message in enumerate(event.messages):
        pieces = pieces_of(event, draft.version, item)
        place(draft, event.turn_id, message.role, pieces, message.message_id, item)


def turn_ended(
    draft: Draft, event: e.TurnCompleted | e.TurnFailed | e.TurnInterrupted, status: TurnStatus
) -> None:
    """End a turn, and compare the producer's count of it with ours.

    An end that turnlog itself recorded declares nothing, so there is nothing to compare.
    """
    head, turn = draft.head, draft.turn
    still = None if head.turn_id == event.turn_id else head.turn_id
    draft.head = head = head._replace(tail_open=False, turn_id=still)
    if turn is None or turn.status != "running":
        return
    if isinstance(event, e.TurnCompleted) and event.stop_reason != NOT_ADDRESSED:
        draft.head = head = head._replace(cut_off=0)
    count, records = event.record_count, turn.records
    if draft.fact.envelope.producer is not None:
        records -= 1
        if count is None:
            draft.head = head._replace(unverified_turns=head.unverified_turns + 1)
        elif count != records:
            draft.head = head._replace(miscounted_turns=head.miscounted_turns + 1)
    ended_at = draft.fact.envelope.recorded_at
    draft.turn = turn._replace(
        status=status,
        records=records,
        ended_version=draft.version,
        ended_at=ended_at,
        declared_records=count,
        total_ms=_total_ms(event.timings, max(0, ended_at - turn.started_at) // _MILLISECOND),
    )


def _total_ms(timings: object, recorded: int) -> int:
    """Return `total` of the timings, if it can be one; else what the records say."""
    if timings is None:
        return recorded
    try:
        read = without_raw(timings)
    except NotJson:
        return recorded
    total = read.get("total") if isinstance(read, Mapping) else None
    if isinstance(total, bool) or not isinstance(total, int | float | Decimal):
        return recorded
    return int(total) if 0 <= total <= _LONGEST_MS else recorded


def used(draft: Draft, event: e.UsageRecorded) -> None:
    """Add to the turn's sums."""
    turn = draft.turn
    if turn is not None:
        draft.turn = turn._replace(
            input_tokens=turn.input_tokens + event.input_tokens,
            output_tokens=turn.output_tokens + event.output_tokens,
            cache_read_tokens=turn.cache_read_tokens + (event.cache_read_tokens or 0),
            cache_write_tokens=turn.cache_write_tokens + (event.cache_write_tokens or 0),
        )
