"""How do a request and a session stand to each other? All that the decision depends on, looked up.

In one moment of the database, and by keys: nothing of it grows with the session, but for the
comparison of what the client itself sent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from domain import commands as c
from domain import events as e
from domain.canonical import canonical
from domain.decide_gate import resolve_gate
from domain.dispatch.kinds import PURE_ANSWERS, WITH_PRIOR
from domain.dispatch.situation import (
    Answers,
    Claim,
    ContinuedBy,
    Policies,
    Situation,
    Standing,
    Told,
)
from domain.dispatch.situation import Prior as PriorWord
from domain.dispatch.situation import Run as RunWord
from domain.json_text import JsonValue, parse
from domain.keys import keys_of
from domain.messages import Message
from domain.readiness import Readiness
from domain.refusals import AmbiguousGate, NoSuchGate
from domain.restarts import would_suspend
from domain.state import GONE, Gate, Head, State, Turn
from domain.state import Seat as SeatRecord
from infrastructure import runs
from infrastructure.command_handler import CommandHandler, Target
from infrastructure.hosting.asking import Ask, Wanted
from infrastructure.hosting.compared import Compared
from infrastructure.hosting.looking import moved_since_claim, moved_since_pin, subagents_run
from infrastructure.hosting.priors import compared_prior
from infrastructure.hosting.seating import differing_facets, memory_of, seat_for, seat_of
from infrastructure.reading.facts import fact_at
from infrastructure.run_rows import FIND
from infrastructure.runner import Attempt

_WORST: Final[tuple[Answers, ...]] = (
    "unknown",
    "ambiguous",
    "decided-otherwise",
    "gone",
    "open",
    "same-again",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """How one answer stands to the gate that it names; None if it names none."""

    standing: Answers
    gate: Gate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A session as a request finds it.

    Attributes:
        seat: What the log knows of the seat that is looked at.
        kept: The session's seats that are not gone, if they were looked up.
        moved: What the seat does not know of: rows of version and type.
        asides: What its harness has to be told to know it, if that will do; else nothing.
        answered: How each answer stands.
        wanted: The configuration that is asked for.
        compared: What came of the client's history; None if it told none.
    """

    key: int | None
    state: State
    situation: Situation
    readiness: Readiness
    run: runs.Run | None
    seat: SeatRecord | None
    kept: Sequence[SeatRecord]
    moved: Sequence[Any]
    asides: Sequence[Message]
    answered: Sequence[Answered]
    compared: Compared | None
    wanted: Wanted


def look(
    handler: CommandHandler, attempt: Attempt, target: Target, ask: Ask
) -> tuple[int | None, State]:
    """Return the session's key, and all of it that `ask` could need."""
    return handler.state(attempt, target, keys_of(_possible(ask)))


def situate(
    handler: CommandHandler,
    attempt: Attempt,
    target: Target,
    ask: Ask,
    facets: Mapping[str, str],
    known: tuple[int | None, State] | None = None,
) -> Found:
    """Return how `ask` finds the session; `facets` are those that its seat's harness applied.

    `known` is what was looked up for it.

    Raises:
        Refusal: the rewind that it asks for is none.
    """
    key, state = known or look(handler, attempt, target, ask)
    head, now = state.head, handler.now()
    if key is None or head.status in GONE:
        return _nowhere(state, ask, handler.readiness(attempt, state, None))
    lease = FIND.send(attempt.connection, {"key": key})  # answered with whatever is read next
    answered = [_answered(attempt, key, state, each, now) for each in ask.answers]
    after, readiness = _after_rewind(handler, attempt, target, ask, (key, state))
    compared = None
    if ask.prior is not None and ask.shape.kind in WITH_PRIOR:
        compared = compared_prior(attempt.connection, target, ask.prior, rewind=ask.rewind)
    seat, kept = seat_of(attempt, key, state, ask)
    moved = (
        []
        if seat is None or seat.pin_version is None
        else moved_since_pin(attempt.connection, key, head, seat)
    )
    lacks, asides = memory_of(attempt, (key, state), ask, seat, moved)
    turn = None if head.turn_id is None else state.turns.get(head.turn_id)
    wanted = (
        ask.config if isinstance(ask.config, Wanted) else ask.config(attempt.connection, key, head)
    )
    waiting = _open_after(state, answered)
    run = runs.found(lease)
    situation = Situation(
        kind=ask.shape.kind,
        readiness=readiness,
        session="suspended" if _is_held(head, turn, run, now) else _standing(head, ask, wanted),
        claim=_claim(attempt, key, head, ask),
        answers="same-again" if ask.continues and not answered else _worst(answered),
        run="idle" if _goes_on(turn, run, ask, now) else _run(turn, run, ask, now),
        gates_open=bool(waiting),
        rewind=ask.rewind is not None,
        prior="absent" if compared is None else _prior(compared, after, ask),
        seat=seat_for(seat, ask, lacks, wanted, facets),
        policies=_policies(attempt, target, head, ask),
        continued_by=_continued_by(turn, run, ask, now),
        told=Told(
            turn_id=head.turn_id,
            gate=waiting[0].gate_id if waiting else _first_gate(answered),
            claimed_version=ask.claim.history_version if ask.claim else None,
            history_version=head.history_version,
            pinned_version=seat.pin_history_version if seat else None,
            facets=differing_facets(wanted, facets),
            difference=None if compared is None else compared.difference,
            asides=len(asides),
        ),
    )
    return Found(
        key=key,
        state=state,
        situation=situation,
        readiness=readiness,
        run=run,
        seat=seat,
        kept=kept,
        moved=moved,
        asides=asides,
        answered=answered,
        compared=compared,
        wanted=wanted,
    )


def _possible(ask: Ask) -> list[c.SessionCommand]:
    """Return what the request may become, for what has to be looked up for it."""
    steps: list[c.SessionCommand] = [c.Record(proposal=each) for each in ask.answers]
    if ask.rewind is not None:
        steps.append(ask.rewind)
    if ask.start is not None:
        steps.append(c.Record(proposal=ask.start))
    if ask.seat is not None:
        resumed = e.HarnessResumed(seat_id=ask.seat.seat_id, owner=ask.owner)
        steps.append(c.Note(event=resumed))
    if ask.continued is not None:
        steps.append(c.InterruptTurn(turn_id=ask.continued, reason="none"))
    if ask.batch is not None:
        steps.append(c.BeginBatch(batch=ask.batch, events=0))
    return steps


def _nowhere(state: State, ask: Ask, readiness: Readiness) -> Found:
    gone: Standing = "absent" if state.head.status == "absent" else "deleted"
    return Found(
        key=None,
        state=state,
        situation=Situation(kind=ask.shape.kind, readiness=readiness, session=gone),
        readiness=readiness,
        run=None,
        seat=None,
        kept=(),
        moved=(),
        asides=(),
        answered=(),
        compared=None,
        wanted=Wanted(),
    )


def _after_rewind(
    handler: CommandHandler,
    attempt: Attempt,
    target: Target,
    ask: Ask,
    known: tuple[int, State],
) -> tuple[Head, Readiness]:
    key, state = known
    if ask.rewind is None:
        return state.head, handler.readiness(attempt, state, key)
    rewind = replace(ask.rewind, interrupt=True)  # whether it may, is decided later
    would = handler.foresee(attempt, target, [rewind], known=(key, state))
    return would.head, would.readiness


def _is_held(head: Head, turn: Turn | None, run: runs.Run | None, now: int) -> bool:
    """Tell whether the session takes no turns; or will take none once its lost turn is ended."""
    if head.suspended:
        return not head.put_away
    hosted = turn is not None and turn.producer_id is None and not turn.paused
    return hosted and 0 < _lease_of(turn, run) <= now and would_suspend(head)


def _lease_of(turn: Turn | None, run: runs.Run | None) -> int:
    """Return until when the turn is held; 0 if nobody holds it."""
    return run.lease_until if turn and run is not None and run.is_of(turn.turn_id) else 0


def _policies(attempt: Attempt, target: Target, head: Head, ask: Ask) -> Policies:
    """Have new text wait for its turn, rather than cost the work of the sub-agents of another."""
    if ask.policies.on_busy != "interrupt" or head.turn_id is None:
        return ask.policies
    if subagents_run(attempt.connection, target.project_id, target.session_id):
        return replace(ask.policies, on_busy="queue")
    return ask.policies


def _standing(head: Head, ask: Ask, wanted: Wanted) -> Standing:
    if head.status == "archived":
        return "archived"
    return ask.standing if ask.standing != "present" else wanted.standing


def _claim(attempt: Attempt, key: int, head: Head, ask: Ask) -> Claim:
    claim = ask.claim
    if claim is None:
        return "none"
    if claim.history_version > head.history_version:
        return "ahead"
    if claim.history_version == head.history_version:
        return "current" if claim.fingerprint == head.fingerprint.hex() else "mismatch"
    since = moved_since_claim(attempt.connection, key, claim.history_version)
    return "behind" if since else "behind-by-gates"


def _answered(attempt: Attempt, key: int, state: State, answer: c.Proposal, now: int) -> Answered:
    event = answer.event
    assert isinstance(event, e.GateDecided)  # noqa: S101 - `Ask.answers` are decisions
    try:
        gate = resolve_gate(state, event)
    except NoSuchGate:
        return Answered(standing="unknown")
    except AmbiguousGate:
        return Answered(standing="ambiguous")
    if gate.status in {"expired", "withdrawn"}:
        return Answered(standing="gone", gate=gate)
    if gate.status == "open":
        late = gate.expires_at is not None and gate.expires_at <= now
        return Answered(standing="gone" if late else "open", gate=gate)
    first = fact_at(attempt.connection, key, gate.closed_version or 0)
    same = isinstance(first, e.GateDecided) and _said(first) == _said(event)
    return Answered(standing="same-again" if same else "decided-otherwise", gate=gate)


def _said(decided: e.GateDecided) -> tuple[object, ...]:
    """Return what a decision says, whichever way and under which name it came."""
    return (
        decided.verdict,
        decided.option_id,
        _canonical(decided.arguments),
        _canonical(decided.answer),
        decided.message,
    )


def _canonical(value: object) -> bytes | None:
    if value is None:
        return None
    read: JsonValue = parse(value) if isinstance(value, bytes) else None
    return canonical(read)


def _worst(answered: Sequence[Answered]) -> Answers:
    for standing in _WORST:
        if any(each.standing == standing for each in answered):
            return standing
    return "none"


def _first_gate(answered: Sequence[Answered]) -> str | None:
    return next((each.gate.gate_id for each in answered if each.gate is not None), None)


def _open_after(state: State, answered: Sequence[Answered]) -> list[Gate]:
    """Return the gates of the open turn that no answer of the request is for."""
    taken = {each.gate.gate_id for each in answered if each.gate is not None}
    return [
        gate
        for gate in state.gates.values()
        if gate.status == "open"
        and gate.turn_id == state.head.turn_id
        and gate.gate_id not in taken
    ]


def _goes_on(turn: Turn | None, run: runs.Run | None, ask: Ask, now: int) -> bool:
    """Tell whether this server asks to go on with a turn that nobody runs, or has begun to."""
    taken = run is not None and (run.kind == "compaction" or run.is_of(turn and turn.turn_id))
    return ask.continues and ask.hosted and not (taken and runs.is_live(run, now))


def _run(turn: Turn | None, run: runs.Run | None, ask: Ask, now: int) -> RunWord:
    if turn is None:
        summed_up = run is not None and run.kind == "compaction" and runs.is_live(run, now)
        return "live-compaction" if summed_up else "idle"
    if turn.paused:
        return "idle"
    answers = ask.shape.kind in PURE_ANSWERS
    if run is None or not run.is_of(turn.turn_id):
        mine = ask.producer is not None and ask.producer.producer_id == turn.producer_id
        return "idle" if ask.continues and mine else "external-run"
    if not run.lease_until and (answers or turn.open_gates):
        return "idle"  # a gate was decided after it was let go, and nobody went on with it yet
    return "expired-lease" if 0 < run.lease_until <= now else "live-turn"


def _continued_by(turn: Turn | None, run: runs.Run | None, ask: Ask, now: int) -> ContinuedBy:
    """The one who asks continues its own turn; this server continues what no runner began.

    A runner may continue any turn that nobody holds.
    """
    if turn is None:
        return "us"
    leased = run is not None and run.is_of(turn.turn_id)
    if run is not None and leased and run.owner == ask.owner:
        return "us"
    if ask.hosted:
        return "us" if turn.producer_id is None else "runner"
    return "runner" if leased and not turn.paused and runs.is_live(run, now) else "us"


def _prior(compared: Compared, after: Head, ask: Ask) -> PriorWord:
    if after.messages == 0:
        return "nothing-known"
    if compared.word == "behind" and ask.queue_id is not None:
        return "window"  # what it waited for is no divergence: its client could not know of it
    return compared.word
