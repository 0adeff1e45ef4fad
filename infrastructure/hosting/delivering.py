"""What comes of answers: does the turn that waits for them go on, and who is told of them?

They are durable at once, whether a harness can be started for them or not.
"""

from collections.abc import Sequence
from dataclasses import replace

from domain import commands as c
from domain import events as e
from domain.dispatch.kinds import PURE_ANSWERS
from domain.dispatch.outcomes import Cold, Deliver, Live, Resume, Step
from domain.json_text import JsonValue, dump
from domain.state import Gate
from infrastructure.hosting.asking import Address, Ask
from infrastructure.hosting.became import Dispatched, Request, label_of
from infrastructure.hosting.carrying import steps_before, steps_of_outcome
from infrastructure.hosting.carrying_out import carried_out, lease
from infrastructure.hosting.seeds import unconsumed
from infrastructure.hosting.situating import Found
from infrastructure.proposing import proposal_of

_DECIDED = frozenset({"allowed", "denied", "denied-by-policy", "answered"})


def delivered(request: Request, found: Found, decision: Deliver) -> Dispatched:
    """Take the answers; the turn that waits for them goes on, or is told to whoever runs it.

    A turn whose owner was lost is over: the answers begin one that goes on with it.
    """
    ask, means, outcome = request.ask, request.means, decision.outcome
    turn_id = turn_of(found)
    label = label_of(outcome)
    deferred = request.means.only_warm and isinstance(outcome, Cold)
    if deferred:  # the answers are durable at once, whether a harness can be started or not
        decision = replace(decision, before=(Step.TAKE_ANSWERS,), outcome=None)
        outcome = None
    steps = steps_before(found, ask, decision.before)
    if Step.INTERRUPT_LOST in decision.before and outcome is not None:
        turn_id = ask.turn_id
        steps.append(c.Record(proposal=_going_on(turn_id, _address(found, ask))))
    if decision.continuation == "external" and steps and turn_id is not None:
        ready = e.ContinuationReady(turn_id=turn_id, gate_ids=tuple(_gate_ids(found)))
        steps.append(c.Note(event=ready))
    consumed = []
    if means.consumes and outcome is not None:
        consumed = _consumed(request, found, outcome)
    if means.consumes and decision.continuation == "pending" and not consumed:
        decision, outcome = replace(decision, outcome=None), None  # there is nothing to tell
    goes_on = isinstance(outcome, Resume | Cold)
    if isinstance(outcome, Resume | Cold) and turn_id is not None:
        steps += steps_of_outcome(found, ask, outcome, turn_id, request.means.new)
    steps += consumed
    appended = fence = None
    if steps:
        appended = carried_out(request, found, steps)
        if goes_on and turn_id is not None:
            fence = lease(request, found, turn_id, decision.before)
    else:
        request.handler.check_current(request.attempt, request.target, found.state.head)
    return Dispatched(
        found=found,
        decision=decision,
        ask=ask,
        new=means.new,
        label=label,
        appended=appended,
        turn_id=turn_id,
        fence=fence,
        deferred=deferred,
    )


def was_answered(found: Found) -> bool:
    """Tell whether the same answers came before, and a harness was given them, or none waits."""
    situation = found.situation
    if situation.kind not in PURE_ANSWERS or situation.answers != "same-again":
        return False
    gates = [each.gate for each in found.answered if each.gate is not None]
    open_turn = found.state.head.turn_id
    return all(gate.consumed_version is not None or gate.turn_id != open_turn for gate in gates)


def turn_of(found: Found) -> str | None:
    """Return the turn that is answered, or else the one that runs."""
    named = next((each.gate.turn_id for each in found.answered if each.gate is not None), None)
    return named or found.state.head.turn_id


def _address(found: Found, ask: Ask) -> Address:
    """Return where the answer of a turn goes that goes on with another: where that one's did."""
    turn = found.state.turns.get(turn_of(found) or "")
    said = ask if turn is None else turn
    return Address(said.lane_id, said.reply_to)


def _going_on(turn_id: str, address: Address) -> c.Proposal:
    """Return the start of a turn that goes on with one whose owner was lost."""
    said: dict[str, JsonValue] = {"turn_id": turn_id, "messages": [], "history_sent": "answer"}
    said |= {name: value for name, value in address._asdict().items() if value is not None}
    return proposal_of("turn-started", dump(said))


def _gate_ids(found: Found) -> Sequence[str]:
    return [each.gate.gate_id for each in found.answered if each.gate is not None]


def _consumed(
    request: Request, found: Found, outcome: Live | Resume | Cold
) -> list[c.SessionCommand]:
    """Tell that the answers are given to the harness by the one who asks.

    Also those that were given before, and that no harness knows of yet.
    """
    held = request.ask.seat
    seat_id = None if held is None else held.seat_id
    if isinstance(outcome, Cold):
        seat_id = request.means.new.seat_id
    gates = {
        gate.gate_id: gate
        for gate in (each.gate for each in found.answered)
        if gate is not None and _unconsumed(gate)
    }
    turn_id = turn_of(found)
    if found.key is not None and turn_id is not None:
        for gate in unconsumed(request.attempt.connection, found.key, turn_id):
            gates.setdefault(gate.gate_id, gate)
    return [
        c.Note(event=e.GateConsumed(gate_id=gate.gate_id, turn_id=gate.turn_id, seat_id=seat_id))
        for gate in gates.values()
    ]


def _unconsumed(gate: Gate) -> bool:
    return gate.consumed_version is None and (gate.status == "open" or gate.status in _DECIDED)
