"""How does a runner with a pool of its own get its decision, and its turn, by one call?

With a place in its producer's sequence the decision is carried out: the turn's start, what is told
of its harness and the lease are one batch of that producer. The same batch again is `Replayed`.
"""

from dataclasses import replace

from domain.dispatch.decision import dispatch
from domain.dispatch.outcomes import Decision, Deliver, Refuse
from domain.standing import running_turn
from domain.state import GONE, State
from infrastructure.hosting.asking import Ask
from infrastructure.hosting.became import Dispatched, Request
from infrastructure.hosting.beginning import begin
from infrastructure.hosting.redispatching import Replayed, replayed
from infrastructure.hosting.situating import look, situate
from infrastructure.producers import current_epoch


def dispatched(request: Request, *, carry_out: bool) -> Dispatched | Replayed:
    """Return what comes of a runner's request; recorded only if `carry_out` says so.

    Of answers with text beside them, whose turn has to go on to its end first, only the answers are
    carried out: the `ask` of what is returned then has no start.

    Raises:
        Refusal: a rule of the log forbids it; nothing is recorded.
        Contended: another writer came first.
    """
    handler, attempt, target = request.handler, request.attempt, request.target
    batch = request.ask.batch
    if carry_out:
        request = _in_epoch(request)
    known = look(handler, attempt, target, request.ask)
    if batch is not None and carry_out:
        before = replayed(request, known)
        if before is not None:
            return before
    _check_continued(request, known)
    if not carry_out:
        found = situate(handler, attempt, target, request.ask, request.means.facets, known)
        handler.check_current(attempt, target, found.state.head)
        decision = dispatch(found.situation)
        return Dispatched(found=found, decision=decision, ask=request.ask, new=request.means.new)
    done = begin(request, known)
    if done.deferred:
        return begin(replace(request, ask=_answers_alone(request.ask)), known)
    return done


def dispatched_before(request: Request) -> Replayed | None:
    """Return what came of the same batch, if it came before; nothing is recorded.

    Raises:
        Refusal: its number was used for something else, or a newer epoch exists.
    """
    request = _in_epoch(request)
    known = look(request.handler, request.attempt, request.target, request.ask)
    return replayed(request, known)


def _in_epoch(request: Request) -> Request:
    """Return the request with the newest epoch of the producer whose batch it is."""
    batch = request.ask.batch
    if batch is None:
        return request
    project_id, now = request.target.project_id, request.handler.now()
    epoch = current_epoch(request.attempt.commit, project_id, batch.producer_id, now)
    return replace(request, ask=replace(request.ask, batch=replace(batch, current=epoch)))


def _check_continued(request: Request, known: tuple[int | None, State]) -> None:
    """Refuse to go on with a turn that does not run."""
    key, state = known
    turn_id = request.ask.continued
    if turn_id is None or key is None or state.head.status in GONE:
        return
    request.handler.check_current(request.attempt, request.target, state.head)
    running_turn(state, turn_id)


def _answers_alone(ask: Ask) -> Ask:
    shape = replace(ask.shape, kind="answer", prior=(), fresh=None)
    return replace(ask, shape=shape, start=None, prior=None, claim=None, configure=None)


def word(decision: Decision) -> str:
    """Return the one word for a decision."""
    match decision:
        case Refuse():
            return "refuse"
        case Deliver(continuation=continuation, outcome=None):
            return continuation
        case _:
            outcome = getattr(decision, "outcome", None) or decision
            return type(outcome).__name__.lower()
