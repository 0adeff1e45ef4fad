"""How does a command become recorded facts?

One step at a time: decide, stamp, evolve; so that each event of a batch is judged by what the
events before it made of the session. Pure: ids, salts and the time are handed in.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from domain.commands import Record, Rewind, SessionCommand
from domain.decide import decide
from domain.decided import Decided
from domain.evolve import evolve
from domain.fields import check_name
from domain.offloading import LIMIT, offload
from domain.recorded import Envelope, ProducerStamp, Recorded, body_digest, chained_hash
from domain.refusals import Refusal
from domain.registry import KINDS
from domain.state import Changes, State


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What every fact of one commit shares, and where each gets what is its own.

    Attributes:
        now: Microseconds since 1970; a stream's times never step back whatever it says.
        mint: Gives a new event id and a new salt of 16 bytes.
        encode: Gives the stored JSON of an event that turnlog made itself.
    """

    project_id: str
    session_id: str
    now: int
    mint: Callable[[], tuple[str, bytes]]
    encode: Callable[[Decided], bytes]
    actor: str | None = None
    trace_id: str | None = None
    producer: ProducerStamp | None = None
    batch: int | None = None


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What a command left: the facts, the changes each made, which ones were asked for."""

    state: State
    facts: list[Recorded]
    changes: list[Changes]
    proposed: list[int]


def carry_out(state: State, steps: Iterable[SessionCommand], stamp: Stamp) -> Outcome:
    """Decide `steps` one after another; all of them, or the first refusal and nothing.

    Raises:
        Refusal: with the number of the event that it is about in its place.
    """
    check_name(stamp.actor, "actor")
    check_name(stamp.trace_id, "trace_id")
    outcome = Outcome(state=state.copy(), facts=[], changes=[], proposed=[])
    records = 0
    for step in steps:
        try:
            decided = decide(outcome.state, step)
        except Refusal as refusal:
            refusal.inside(*_place(step, records))
            raise
        records += isinstance(step, Record)
        for item in decided:
            _take(outcome, item, stamp)
    return outcome


def _place(step: SessionCommand, records: int) -> tuple[str | int, ...]:
    """Return where in a batch a step stands, after so many records."""
    match step:
        case Record():
            return ("events", records, "data")
        case Rewind(asked=bytes()):
            return ("rewind",)
        case _:
            return ()


def _take(outcome: Outcome, item: Decided, stamp: Stamp) -> None:
    head = outcome.state.head
    event_id, salt = stamp.mint()
    body = item.body if item.body is not None else stamp.encode(item)
    blobs = item.blobs
    if len(body) > LIMIT:
        offloaded = item.offloaded or offload(body)
        body, blobs = offloaded.body, (*blobs, *offloaded.blobs)
    from_producer = item.proposed and stamp.producer is not None
    envelope = Envelope(
        project_id=stamp.project_id,
        session_id=stamp.session_id,
        version=head.version + 1,
        event_id=event_id,
        type=item.type,
        schema=KINDS[item.type].schema,
        affects=item.affects,
        recorded_at=max(stamp.now, head.updated_at),
        occurred_at=item.occurred_at,
        actor=stamp.actor,
        producer=stamp.producer if from_producer else None,
        batch=stamp.batch if from_producer and not outcome.proposed else None,
        turn_id=item.turn_id,
        trace_id=stamp.trace_id,
        body_digest=body_digest(salt, body),
    )
    recorded = Recorded(
        envelope=envelope,
        position=0,
        previous=head.hash,
        hash=chained_hash(envelope, head.hash),
        salt=salt,
        body=body,
        event=item.event,
        blobs=blobs,
    )
    changes = evolve(outcome.state, recorded)
    outcome.state.apply(changes)
    if item.proposed:
        outcome.proposed.append(len(outcome.facts))
    outcome.facts.append(recorded)
    outcome.changes.append(changes)
