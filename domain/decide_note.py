"""May what turnlog itself saw or did be recorded now?"""

from typing import Final, assert_never

from domain import events as e
from domain.commands import Own
from domain.decided import Decided, fact
from domain.fields import check_count, check_id, check_name
from domain.refusals import (
    InputStarted,
    InvalidValue,
    NoSuchGate,
    NoSuchInput,
    NothingToAccept,
    QueueFull,
)
from domain.standing import known_turn, running_turn
from domain.state import State

QUEUE_LIMIT: Final = 32
_DECIDED: Final = frozenset({"allowed", "denied", "denied-by-policy", "answered"})


def decide_note(state: State, event: Own) -> tuple[Decided, ...]:
    """Return the fact, or nothing if it is known already.

    Raises:
        NoSuchTurn, TurnOver, NoSuchGate, NoSuchInput: what it is about is not there.
        InputStarted, QueueFull: the queue forbids it.
        NothingToAccept: nothing is missing.
    """
    match event:
        case e.HarnessStarted() | e.HarnessParked() | e.HarnessResumed() | e.HarnessEvicted():
            check_harness(state, event)
        case e.GateConsumed():
            return _consumed(state, event)
        case e.GateWithdrawn():
            return _withdrawn(state, event)
        case e.InterruptRequested(turn_id=turn_id, reason=reason, by=by):
            running_turn(state, turn_id)
            check_name(reason, "reason")
            check_name(by, "by")
        case e.ContinuationReady(turn_id=turn_id):
            running_turn(state, turn_id)
        case e.InputQueued() | e.InputDequeued() | e.InputRecalled():
            _check_queue(state, event)
        case e.GapAccepted(reasons=()):
            raise NothingToAccept
        case _:
            pass
    return (fact(event),)


def check_harness(state: State, event: e.HarnessEvent) -> None:
    """Raise a refusal unless this can be told of a seat.

    Raises:
        InvalidValue: a name is none.
        NoSuchTurn: there is no such turn.
    """
    check_id(event.seat_id, "seat_id")
    check_name(event.owner, "owner")
    if event.turn_id is not None:
        known_turn(state, event.turn_id)
    match event:
        case e.HarnessStarted(reason=reason) | e.HarnessEvicted(reason=reason):
            check_name(reason, "reason")
        case e.HarnessParked(config_fingerprint=config_fingerprint, ttl_s=ttl_s):
            check_name(config_fingerprint, "config_fingerprint")
            check_count(ttl_s, "ttl_s")
        case e.HarnessResumed(asides=asides):
            check_count(asides, "asides", least=1)
        case _:
            assert_never(event)


def _consumed(state: State, event: e.GateConsumed) -> tuple[Decided, ...]:
    gate = state.gates.get(event.gate_id)
    if gate is None or gate.status not in _DECIDED:
        raise NoSuchGate("no decided gate has this gate_id", "gate_id")
    if gate.consumed_version is not None:
        return ()
    return (fact(event, turn_id=gate.turn_id),)


def _withdrawn(state: State, event: e.GateWithdrawn) -> tuple[Decided, ...]:
    check_name(event.reason, "reason")
    gate = state.gates.get(event.gate_id)
    if gate is None or gate.status != "open":
        return ()
    return (fact(event, turn_id=gate.turn_id),)


def _check_queue(state: State, event: e.QueueEvent) -> None:
    match event:
        case e.InputQueued(queue_id=queue_id, steers=steers):
            check_id(queue_id, "queue_id")
            if steers is not None and steers != state.head.turn_id:
                raise InvalidValue("it is not the turn that runs", "steers")
            if queue_id in state.queue:
                raise InvalidValue("an input of this id was queued before", "queue_id")
            if state.head.queued >= QUEUE_LIMIT:
                raise QueueFull(QUEUE_LIMIT)
        case _:
            known = state.queue.get(event.queue_id)
            if known is None:
                raise NoSuchInput
            if known.status != "waiting":
                raise InputStarted(known.status, known.turn_id)
