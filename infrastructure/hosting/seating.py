"""Which parked harness is a request about, and can that go on with it as it is?

What the log knows of its seat, what whoever asks holds, and what it has to be told to know it all.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from domain.configuration import differing
from domain.dispatch.situation import Config, Lacks, Seat, SeatState
from domain.messages import Message
from domain.state import Seat as SeatRecord
from domain.state import State
from infrastructure.hosting.asking import Ask, HeldSeat, Wanted
from infrastructure.hosting.looking import aside_since_pin, kept_seats
from infrastructure.runner import Attempt

_STATES: Final[dict[str, SeatState]] = {
    "busy": "busy",
    "idle": "idle",
    "awaiting_approval": "awaiting",
    "gone": "busy",
}


def seat_of(
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


def memory_of(
    attempt: Attempt,
    known: tuple[int, State],
    ask: Ask,
    seat: SeatRecord | None,
    moved: Sequence[Any],
) -> tuple[Lacks, Sequence[Message]]:
    """Return what a seat's memory lacks, and what its harness has to be told to have all of it.

    Runners that keep harnesses of their own are asked to tell them anything but what is new only if
    they say that they do.
    """
    held = None if seat is None else _held(seat, ask)
    if seat is None or seat.pin_version is None or not _is_as_held(seat, held):
        return "more", ()
    if not moved:
        return "nothing", ()
    tells = ask.hosted or ask.tells_asides
    if not tells or held is None or held.busy or not held.alive:
        return "more", ()
    key, state = known
    asides = aside_since_pin(attempt.connection, key, state.head, seat, moved)
    if asides is None:
        return "more", ()
    return ("asides" if asides else "nothing"), asides


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
