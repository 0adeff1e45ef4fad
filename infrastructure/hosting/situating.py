"""How do a request and a session stand to each other? All that the decision depends on, looked up.

In one moment of the database, and by keys: nothing of it grows with the session, but for the
comparison of what the client itself sent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from domain import commands as c
from domain import events as e
from domain.dispatch.kinds import WITH_PRIOR
from domain.dispatch.situation import (
    Claim,
    Policies,
    Situation,
    Standing,
    Told,
)
from domain.dispatch.situation import Prior as PriorWord
from domain.keys import keys_of
from domain.messages import Message
from domain.readiness import Readiness
from domain.state import GONE, Head, State, Turn
from domain.state import Seat as SeatRecord
from infrastructure import runs
from infrastructure.command_handler import CommandHandler, Target
from infrastructure.hosting.answered import Answered, answered, first_gate, open_after, worst
from infrastructure.hosting.asking import Ask, Wanted
from infrastructure.hosting.compared import Compared
from infrastructure.hosting.holding import Holding
from infrastructure.hosting.looking import moved_since_claim, subagents_run
from infrastructure.hosting.priors import compared_prior
from infrastructure.hosting.seating import Seated, differing_facets, seat_for, seated_in
from infrastructure.run_rows import FIND
from infrastructure.runner import Attempt


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


class _Seen(NamedTuple):
    """What was looked up in a session that is there, in the order in which it is.

    `after` and `readiness` are as they will be once the request's rewind is made.
    """

    answered: Sequence[Answered]
    after: Head
    readiness: Readiness
    compared: Compared | None
    seated: Seated
    wanted: Wanted
    holding: Holding
    claim: Claim
    policies: Policies


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
    if key is None or state.head.status in GONE:
        return _nowhere(state, ask, handler.readiness(attempt, state, None))
    seen = _seen(handler, attempt, target, ask, (key, state))
    return Found(
        key=key,
        state=state,
        situation=_situation(state, ask, seen, facets),
        readiness=seen.readiness,
        run=seen.holding.run,
        seat=seen.seated.seat,
        kept=seen.seated.kept,
        moved=seen.seated.moved,
        asides=seen.seated.asides,
        answered=seen.answered,
        compared=seen.compared,
        wanted=seen.wanted,
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


def _seen(
    handler: CommandHandler, attempt: Attempt, target: Target, ask: Ask, known: tuple[int, State]
) -> _Seen:
    (key, state), now = known, handler.now()
    lease = FIND.send(attempt.connection, {"key": key})  # answered with whatever is read next
    answers = [answered(attempt.connection, key, state, each, now) for each in ask.answers]
    after, readiness = _after_rewind(handler, attempt, target, ask, known)
    compared = _compared(attempt, target, ask)
    seated = seated_in(attempt, known, ask)
    wanted = _wanted(attempt, key, state.head, ask)
    return _Seen(
        answered=answers,
        after=after,
        readiness=readiness,
        compared=compared,
        seated=seated,
        wanted=wanted,
        holding=Holding(ask, _open_turn(state), runs.found(lease), now),
        claim=_claim(attempt, key, state.head, ask),
        policies=_policies(attempt, target, state.head, ask),
    )


def _situation(state: State, ask: Ask, seen: _Seen, facets: Mapping[str, str]) -> Situation:
    head, wanted, holding = state.head, seen.wanted, seen.holding
    waiting = open_after(state, seen.answered)
    gate = waiting[0].gate_id if waiting else first_gate(seen.answered)
    return Situation(
        kind=ask.shape.kind,
        readiness=seen.readiness,
        session="suspended" if holding.is_suspended(head) else _standing(head, ask, wanted),
        claim=seen.claim,
        answers="same-again" if ask.continues and not seen.answered else worst(seen.answered),
        run=holding.word(),
        gates_open=bool(waiting),
        rewind=ask.rewind is not None,
        prior=_prior(seen, ask),
        seat=seat_for(seen.seated.seat, ask, seen.seated.lacks, wanted, facets),
        policies=seen.policies,
        continued_by=holding.continued_by(),
        told=_told(head, ask, seen, gate, differing_facets(wanted, facets)),
    )


def _told(head: Head, ask: Ask, seen: _Seen, gate: str | None, differing: tuple[str, ...]) -> Told:
    seat, compared = seen.seated.seat, seen.compared
    return Told(
        turn_id=head.turn_id,
        gate=gate,
        claimed_version=ask.claim.history_version if ask.claim else None,
        history_version=head.history_version,
        pinned_version=seat.pin_history_version if seat else None,
        facets=differing,
        difference=None if compared is None else compared.difference,
        asides=len(seen.seated.asides),
    )


def _compared(attempt: Attempt, target: Target, ask: Ask) -> Compared | None:
    if ask.prior is None or ask.shape.kind not in WITH_PRIOR:
        return None
    return compared_prior(attempt.connection, target, ask.prior, rewind=ask.rewind)


def _wanted(attempt: Attempt, key: int, head: Head, ask: Ask) -> Wanted:
    if isinstance(ask.config, Wanted):
        return ask.config
    return ask.config(attempt.connection, key, head)


def _open_turn(state: State) -> Turn | None:
    turn_id = state.head.turn_id
    return None if turn_id is None else state.turns.get(turn_id)


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


def _prior(seen: _Seen, ask: Ask) -> PriorWord:
    compared = seen.compared
    if compared is None:
        return "absent"
    if seen.after.messages == 0:
        return "nothing-known"
    if compared.word == "behind" and ask.queue_id is not None:
        return "window"  # what it waited for is no divergence: its client could not know of it
    return compared.word
