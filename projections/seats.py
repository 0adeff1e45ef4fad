"""Where is a harness kept, for whom, since when, and until when?"""

from typing import Final

from domain.state import Seat
from domain.times import rfc3339

Shape = dict[str, object]
_SECOND: Final = 1_000_000
_END_OF_TIME: Final = 253_402_300_800_000_000
"""The first microsecond of the year 10000, which RFC 3339 cannot say."""


def seat_shape(session_id: str, seat: Seat, *, here: bool) -> Shape:
    """Return a seat as the contract shows it; `here` tells whether this process keeps it."""
    parked = seat.state in {"idle", "awaiting_approval"}
    return {
        "session_id": session_id,
        "seat_id": seat.seat_id,
        "owner": seat.owner,
        "state": seat.state,
        "turn_id": seat.turn_id,
        "pin": None
        if seat.pin_version is None
        else {"history_version": seat.pin_history_version, "version": seat.pin_version},
        "config_fingerprint": seat.config_fingerprint,
        "since": rfc3339(seat.changed_at),
        "parked_at": rfc3339(seat.changed_at) if parked else None,
        "ttl_s": seat.ttl_s if parked else None,
        "expires_at": _expires_at(seat) if parked else None,
        "here": here,
    }


def _expires_at(seat: Seat) -> str | None:
    if seat.ttl_s is None:
        return None
    ends = seat.changed_at + seat.ttl_s * _SECOND
    return rfc3339(ends) if ends < _END_OF_TIME else None
