"""How is what was decided recorded, and the lease given with it?

All steps are one batch of one commit; what was decided of another history is not carried out.
"""

from collections.abc import Sequence

from domain import commands as c
from domain import events as e
from domain.dispatch.outcomes import Step, Steps
from domain.keys import keys_of
from domain.refusals import Refusal
from infrastructure import runs
from infrastructure.command_handler import Appended
from infrastructure.commit import Contended
from infrastructure.hosting.asking import Ask
from infrastructure.hosting.became import Request
from infrastructure.hosting.placing import place_in_request
from infrastructure.hosting.situating import Found


def lease(request: Request, found: Found, turn_id: str, before: Steps) -> int | None:
    """Give the lease to the one who asks; as it was found, unless a turn is ended on purpose.

    So whoever held it before, and was heard of meanwhile, keeps it.
    """
    if found.key is None:
        return None
    ask, project_id = request.ask, request.target.project_id
    connection, now = request.attempt.connection, request.handler.now()
    run = found.run
    if run is not None and run.kind == "turn" and Step.INTERRUPT_RUNNING not in before:
        return runs.take_over(connection, run, turn_id, ask.owner, ask.lease_s, now)
    return runs.begin(connection, found.key, project_id, turn_id, ask.owner, ask.lease_s, now)


def carried_out(request: Request, found: Found, steps: Sequence[c.SessionCommand]) -> Appended:
    """Carry out `steps`; what the look-up for the decision did not bring is looked up again."""
    handler, ask = request.handler, request.ask
    begun: list[c.SessionCommand] = []
    if ask.batch is not None:
        begun = [c.BeginBatch(batch=ask.batch, events=len(steps))]
    known = (found.key, found.state)
    if _brings_more(steps, ask):
        known = handler.state(request.attempt, request.target, keys_of([*begun, *steps]))
        if known[1].head != found.state.head:
            raise Contended  # what was decided was decided of another history
    whole = [*begun, *steps]
    own = [step for step in steps if _is_own(step)]
    try:
        return handler.carry_out(
            request.attempt,
            request.target,
            whole,
            caller=request.caller,
            producer=ask.producer,
            batch=len(own) if begun else None,
            known=known,
        )
    except Refusal as refusal:
        refusal.at = place_in_request(ask, whole, refusal.at)
        raise


def _is_own(step: c.SessionCommand) -> bool:
    """Tell whether a step is a fact of the producer's batch."""
    match step:
        case c.Record(imported=imported):
            return not imported
        case c.Note(proposed=proposed):
            return proposed
        case _:
            return False


def _brings_more(steps: Sequence[c.SessionCommand], ask: Ask) -> bool:
    """Tell whether anything is recorded that the request did not name itself."""
    known = {id(ask.start), *(id(answer) for answer in ask.answers)}
    for step in steps:
        match step:
            case c.Record(proposal=c.Proposal(event=e.HarnessResumed())):
                pass
            case c.Note(event=e.HarnessResumed()):
                pass
            case c.Record(proposal=proposal) if id(proposal) in known:
                pass
            case c.Record() | c.Note():
                return True
            case _:
                pass
    return False
