"""How does a fact of a lane stand in the log, and what is read of it?

In the log of the sessions, as a stream of its own whose name no session can have. What cannot be
read is None, and everything around it stays readable.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from domain.events import Opaque
from domain.events.lane import LaneEvent, LanePurged
from domain.lanes.evolve import bound, evolve
from domain.lanes.state import Bound, Lane
from domain.recorded import Envelope, Recorded, body_digest, chained_hash
from domain.registry import LANE_KINDS, LANE_NAMES
from infrastructure.callers import Caller
from infrastructure.mapper import StoredFact
from infrastructure.serialization import encoded
from infrastructure.stored_stream import LANE

_ADAPTERS: Final = {name: TypeAdapter(kind.event) for name, kind in LANE_KINDS.items()}
_OPAQUE: Final = Opaque(reason="unknown-type")


class LaneFact(NamedTuple):
    """A fact of a lane as the log holds it; None if this build cannot read it."""

    recorded: Recorded
    event: LaneEvent | None


class Folded(NamedTuple):
    """A lane after some facts, and the sessions that they made its current ones."""

    lane: Lane
    bound: Sequence[Bound] = ()


def stream_name(lane_id: str) -> str:
    """Return how a lane's stream is called among those of sessions."""
    return LANE + lane_id


def lane_of(stream: str) -> str | None:
    """Return the lane whose stream this is; None of a session's."""
    return stream.removeprefix(LANE) if stream.startswith(LANE) else None


def decode(type_: str, schema: int, body: bytes | None) -> LaneEvent | None:
    """Return the fact that was stored; never raises."""
    kind = LANE_KINDS.get(type_)
    if kind is None or schema > kind.schema or body is None:
        return None
    try:
        return _ADAPTERS[type_].validate_python(from_json(body, allow_inf_nan=False))
    except (ValidationError, ValueError):
        return None


def fact_of(stored: StoredFact) -> LaneFact:
    """Return the fact in a stored event."""
    envelope = stored.envelope
    body = None if stored.gone else stored.state
    recorded = Recorded(
        envelope=envelope,
        position=stored.position,
        previous=stored.previous,
        hash=stored.hash,
        salt=stored.salt,
        body=body,
        event=_OPAQUE,
    )
    return LaneFact(recorded, decode(envelope.type, envelope.schema, body))


def stamped(
    place: tuple[str, str],
    lane: Lane,
    event: LaneEvent,
    *,
    now: int,
    mint: Callable[[], tuple[str, bytes]],
    caller: Caller,
) -> LaneFact:
    """Return a fact that comes after all that is known of the lane, chained to it.

    `place` is the project and the lane.
    """
    event_id, salt = mint()
    body = encoded(event)
    name = LANE_NAMES[type(event)]
    envelope = Envelope(
        project_id=place[0],
        session_id=stream_name(place[1]),
        version=lane.version + 1,
        event_id=event_id,
        type=name,
        schema=LANE_KINDS[name].schema,
        affects="none",
        recorded_at=max(now, lane.updated_at),
        actor=caller.actor,
        trace_id=caller.trace_id,
        body_digest=body_digest(salt, body),
    )
    recorded = Recorded(
        envelope=envelope,
        position=0,
        previous=lane.hash,
        hash=chained_hash(envelope, lane.hash),
        salt=salt,
        body=body,
        event=_OPAQUE,
    )
    return LaneFact(recorded, event)


def folded(lane: Lane, facts: Sequence[LaneFact]) -> Folded:
    """Return the lane after `facts`, and each session once, with its newest binding."""
    sessions: dict[str, Bound] = {}
    for recorded, event in facts:
        lane = evolve(lane, recorded, event)
        if isinstance(event, LanePurged):
            sessions.clear()
        found = bound(recorded, event)
        if found is not None:
            sessions[found.session_id] = found
    return Folded(lane, tuple(sessions.values()))
