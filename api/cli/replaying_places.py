"""Which step is meant by a version, a turn, a time, or the end, and which by words of its type?"""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Final

from api.cli.failures import Failure
from api.cli.replaying_steps import Steps
from domain.times import microseconds
from projections.steps import Step

END: Final = "end"
PLACES: Final = "a version, #N for the N-th turn, a turn's id, a time (RFC 3339), or end"
_ENDS: Final = frozenset({"turn-completed", "turn-failed", "turn-interrupted"})


def index_at(steps: Steps, place: str) -> int:
    """Return the step that a person wants to look at: what lies beyond the last is the last.

    A time means how the session stood then.

    Raises:
        Failure: there is no such turn.
    """
    if place == END:
        return max(0, steps.last())
    if _is_number(place):
        return steps.of_version(int(place))
    if (time := microseconds(place)) is not None:
        return steps.as_of(time)
    return _turn(steps, place)


def index_from(steps: Steps, place: str) -> int:
    """Return the first of the steps from a place on; beyond the last if there is none.

    Raises:
        Failure: there is no such turn.
    """
    if _is_number(place):
        return steps.from_version(int(place))
    if (time := microseconds(place)) is not None:
        return steps.since(time)
    return index_at(steps, place)


def beyond(steps: Steps, place: str | None) -> Callable[[Step], bool]:
    """Return what tells whether a step lies behind a place; a turn is to be shown to its end.

    Raises:
        Failure: there is no such turn.
    """
    if place is None or place == END:
        return lambda _: False
    if (time := microseconds(place)) is not None:
        return lambda step: step.envelope.recorded_at > time
    last = int(place) if _is_number(place) else _last_version(steps, _turn(steps, place))
    return lambda step: step.envelope.version > last


def fitting(types: Sequence[str]) -> Callable[[str], bool]:
    """Return what tells whether a type's name has one of these in it; without any, all have."""
    return lambda type_: not types or any(part in type_ for part in types)


def _last_version(steps: Steps, start: int) -> int:
    """Return the version that ended the turn that began at a step, or the newest there is."""
    turn_id, version = None, 0
    for index in count(start):
        step = steps.step(index)
        if step is None:
            break
        envelope = step.envelope
        turn_id, version = turn_id or envelope.turn_id, envelope.version
        if envelope.type in _ENDS and envelope.turn_id == turn_id:
            break
    return version


def _turn(steps: Steps, place: str) -> int:
    if place.startswith("#") and _is_number(place[1:]):
        found = steps.of_turn_number(int(place[1:]))
    else:
        found = steps.of_turn(place.removeprefix("turn:"))
    if found is None:
        raise Failure("no-such-place", f"there is no such turn; a place is {PLACES}")
    return found


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10  # noqa: PLR2004
