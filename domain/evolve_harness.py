"""What is a session after a harness was started, parked, resumed or let go?

A fact about a seat that nobody told of makes it known: its owner may have begun before it recorded.
"""

from typing import assert_never

from domain import events as e
from domain.draft import Draft
from domain.state import Seat


def harness_changed(draft: Draft, event: e.HarnessEvent) -> None:
    """Note where the seat stands now, and by which way its turn got its harness."""
    match event:
        case e.HarnessStarted():
            draft.seat = _seat(draft, event)._replace(
                state="busy",
                started_version=draft.version,
                reason=event.reason,
                turn_id=event.turn_id,
            )
            if draft.turn is not None:
                draft.turn = draft.turn._replace(
                    path=event.path, path_reason=event.reason, history_from=event.history_from
                )
        case e.HarnessParked():
            head = draft.known.head
            draft.seat = _seat(draft, event)._replace(
                state=event.state,
                pin_history_version=head.history_version,
                pin_fingerprint=head.fingerprint,
                pin_version=head.version,
                config_fingerprint=event.config_fingerprint,
                prior_was_sent=event.prior_was_sent,
                ttl_s=event.ttl_s,
            )
        case e.HarnessResumed():
            draft.seat = _seat(draft, event)._replace(state="busy")
            if draft.turn is not None and draft.turn.path is None:
                draft.turn = draft.turn._replace(path="warm")
        case e.HarnessEvicted(reason=reason):
            draft.seat = _seat(draft, event)._replace(state="gone", reason=reason)
        case _:
            assert_never(event)


def _seat(draft: Draft, event: e.HarnessEvent) -> Seat:
    """Return the seat with no pin, as of this fact."""
    known = draft.known.seats.get(event.seat_id)
    return Seat(
        seat_id=event.seat_id,
        owner=event.owner,
        state="busy",
        started_version=draft.version if known is None else known.started_version,
        changed_version=draft.version,
        changed_at=draft.fact.envelope.recorded_at,
        turn_id=event.turn_id or (known.turn_id if known else None),
        config_fingerprint=known.config_fingerprint if known else None,
        prior_was_sent=known.prior_was_sent if known else None,
        reason=known.reason if known else None,
    )
