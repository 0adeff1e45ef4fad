"""What does a rule answer with? An event, and what the envelope takes from it."""

from dataclasses import fields
from typing import NamedTuple

from domain.blobs import Blob
from domain.events import SessionEvent
from domain.offloading import Offloaded
from domain.registry import KINDS, NAMES, Affects


class Decided(NamedTuple):
    """An event that is to be recorded; a named tuple, since a batch makes many.

    Attributes:
        body: Its JSON as it was sent, or None where turnlog itself made the event.
        blobs: The files that its JSON names.
        offloaded: `body` as it is stored, where that is known.
        proposed: Whether it is the event that the caller proposed, not one that follows from it.
    """

    event: SessionEvent
    type: str
    affects: Affects
    body: bytes | None = None
    occurred_at: int | None = None
    turn_id: str | None = None
    proposed: bool = False
    blobs: tuple[Blob, ...] = ()
    offloaded: Offloaded | None = None


_WITH_TURN = frozenset(
    kind.event for kind in KINDS.values() if any(f.name == "turn_id" for f in fields(kind.event))
)


def fact(
    event: SessionEvent,
    *,
    body: bytes | None = None,
    occurred_at: int | None = None,
    turn_id: str | None = None,
    affects: Affects | None = None,
    proposed: bool = False,
) -> Decided:
    """Return `event` as decided, with its permanent name and the turn that it names."""
    name = NAMES[type(event)]
    if turn_id is None and type(event) in _WITH_TURN:
        turn_id = getattr(event, "turn_id")  # noqa: B009 - the field differs by event
    return Decided(
        event=event,
        type=name,
        affects=affects or KINDS[name].affects,
        body=body,
        occurred_at=occurred_at,
        turn_id=turn_id,
        proposed=proposed,
    )
