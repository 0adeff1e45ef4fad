"""Which parked harness is a request about, and can that go on with it as it is?

What the log knows of its seat, what whoever asks holds, and what it has to be told to know it all.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from domain.configuration import differing
from domain.dispatch.situation import Config, Lacks, Seat, SeatState
from domain.messages import Message
from domain.state import Seat as SeatRecord
from domain.state import State
from infrastructure.hosting.asking import Ask, HeldSeat, Wanted
from infrastructure.hosting.looking import (
    aside_since_pin,
    heard_by,
    kept_seats,
    moved_since_pin,
)
from infrastructure.runner import Attempt

_STATES: Final[dict[str, SeatState]] = {
    "busy": "busy",
    "idle": "idle",
    "awaiting_approval": "awaiting",
    "gone": "busy",
}


class Seated(NamedTuple):
    """The seat that a request is about, what its harness does not know, and what would tell it.

    Attributes:
        seat: The seat, with the pin of what its harness heard; None if there is none.
        kept: All that are kept, if another than the asker's is meant.
        moved: What happened since the pin, up to 20 facts: rows of version and type.
        lacks: What its memory lacks.
        asides: What it has to be told to have it all, if that will do; else nothing.
    """

    seat: SeatRecord | None
    kept: Sequence[SeatRecord] = ()
    moved: Sequence[Any] = ()
    lacks: Lacks = "more"
    asides: Sequence[Message] = ()


def seated_in(attempt: Attempt, known: tuple[int, State], ask: Ask) -> Seated:
    """Return the seat to look at, what its memory lacks, and what its harness has to be told.

    turnlog parks its own harnesses in the commit that ends their turn. Runners that keep harnesses
    of their own are asked to tell them anything but what is new only if they say that they do.
    """
    key, state = known
    seat, kept = _seat_of(attempt, key, state, ask)
    if seat is None or seat.pin_version is None:
        return Seated(seat, kept)
    held = _held(seat, ask)
    heard = seat if ask.hosted else heard_by(attempt.connection, key, seat)
    moved = moved_since_pin(attempt.connection, key, state.head, heard)
    found = Seated(heard, kept, moved)
    if not _is_as_held(seat, held):
        return found
    if not moved:
        return found._replace(lacks="nothing")
    tells = ask.hosted or ask.tells_asides
    if not tells or held is None or held.busy or not held.alive:
        return found
    asides = aside_since_pin(attempt.connection, key, state.head, heard, moved)
    if asides is None:
        return found
    return found._replace(lacks="asides" if asides else "nothing", asides=asides)


def _seat_of(
    attempt: Attempt, key: int, state: State, ask: Ask
) -> tuple[SeatRecord | None, Sequence[SeatRecord]]:
    """Return the seat to look at, and all that are kept if another than the asker's is meant."""
    if ask.seat is not None:
        known = state.seats.get(ask.seat.seat_id)
        if known is not None and known.state != "gone":
            return known, ()
    kept = kept_seats(attempt.connection, key)
    mine = [seat for seat in kept if seat.owner == ask.owner]
    return next(iter(mine or kept), None), kept


def _held(seat: SeatRecord, ask: Ask) -> HeldSeat | None:
    return ask.seat if ask.seat is not None and ask.seat.seat_id == seat.seat_id else None


def seat_for(
    seat: SeatRecord | None, ask: Ask, lacks: Lacks, wanted: Wanted, facets: Mapping[str, str]
) -> Seat | None:
    """Return what the decision depends on of a seat whose harness applied `facets`."""
    if seat is None:
        return None
    held = _held(seat, ask)
    return Seat(
        state="busy" if held is not None and held.busy else _STATES[seat.state],
        ours=seat.owner == ask.owner,
        life="unnamed" if held is None else "alive" if held.alive else "died",
        lacks=lacks,
        config=_config(seat, wanted, facets),
        credentials="ok" if held is None else held.credentials,
    )


def _is_as_held(seat: SeatRecord, held: HeldSeat | None) -> bool:
    """Tell whether the log has the pin that the holder has: no other database, nor anybody else's.

    What a harness did while it waited is recorded with a later pin.
    """
    if held is None or held.pin is None or seat.pin_history_version is None:
        return True
    version, fingerprint = held.pin
    if version == seat.pin_history_version:
        return seat.pin_fingerprint is not None and fingerprint == seat.pin_fingerprint.hex()
    return seat.state == "awaiting_approval" and version < seat.pin_history_version


def _config(seat: SeatRecord, wanted: Wanted, facets: Mapping[str, str]) -> Config:
    if wanted.facets and facets:
        return "differs" if differing(facets, wanted.facets) else "equal"
    if wanted.fingerprint is None or seat.config_fingerprint is None:
        return "unstated"
    return "equal" if wanted.fingerprint == seat.config_fingerprint else "differs"


def differing_facets(wanted: Wanted, facets: Mapping[str, str]) -> tuple[str, ...]:
    """Return which parts of the configuration differ, if both are known by parts."""
    return differing(facets, wanted.facets) if facets and wanted.facets else ()
