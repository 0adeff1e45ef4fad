"""May the request be acted on now, and what has to give way first? The decision's steps 1 to 5."""

from typing import Final

from domain.dispatch.kinds import ANSWERING, PURE_ANSWERS
from domain.dispatch.outcomes import (
    ENDING,
    Code,
    Continuation,
    Deliver,
    Live,
    Queue,
    Refuse,
    Resume,
    Steer,
    Step,
    Steps,
)
from domain.dispatch.seats import usable
from domain.dispatch.situation import Answers, Claim, Situation, Standing

_STANDING: Final[dict[Standing, tuple[Code, str]]] = {
    "absent": ("no-such-session", "there is no such session in this project"),
    "deleted": ("no-such-session", "there is no such session in this project"),
    "archived": ("session-archived", "the session is archived"),
    "suspended": ("session-suspended", "the session is suspended"),
    "workspace-missing": ("workspace-missing", "the session's workspace is gone"),
    "shutting-down": ("shutting-down", "the server is stopping"),
}
_CLAIM: Final[dict[Claim, tuple[Code, str]]] = {
    "ahead": ("head-ahead-of-log", "the request claims more history than the log has"),
    "mismatch": ("head-mismatch", "the claimed fingerprint is not the log's at this version"),
    "behind": ("head-behind", "the history moved on since the claimed version"),
}
_ANSWERS: Final[dict[Answers, tuple[Code, str]]] = {
    "none": ("no-such-gate", "the answer names no gate of this session"),
    "unknown": ("no-such-gate", "the answer names no gate of this session"),
    "ambiguous": ("ambiguous-gate", "more than one open gate has this name; use its gate_id"),
    "decided-otherwise": (
        "gate-already-decided",
        "the gate was decided otherwise; the first decision stands",
    ),
    "gone": ("gate-gone", "the gate expired or was withdrawn before the answer"),
}


def admit(situation: Situation) -> Steps | Refuse | Queue | Steer | Deliver:
    """Return what comes first if the request is to be acted on now, else what becomes of it."""
    refused = _refused(situation)
    if refused is not None:
        return refused
    taken = _taken(situation)
    if situation.kind in PURE_ANSWERS:
        return _continued(situation, taken)
    freed = _freed(situation, taken)
    return freed if not isinstance(freed, tuple) else _past_gates(situation, freed)


def _refused(situation: Situation) -> Refuse | None:
    """Steps 1 to 3: the session, the claimed head, the answers."""
    found = _STANDING.get(situation.session)
    if found is None and situation.kind not in PURE_ANSWERS:
        found = _CLAIM.get(situation.claim)
    if found is None and situation.kind in ANSWERING:
        found = _ANSWERS.get(situation.answers)
    return None if found is None else Refuse(code=found[0], detail=found[1])


def _taken(situation: Situation) -> Steps:
    decides = situation.kind in ANSWERING and situation.answers == "open"
    return (Step.TAKE_ANSWERS,) if decides else ()


def _continued(situation: Situation, taken: Steps) -> Steps | Deliver:
    """An answer without text starts no turn, so nothing is in its way but the turn's own gates."""
    if situation.continued_by == "runner" or situation.run == "external-run":
        return Deliver(continuation="external", before=taken)
    if situation.run == "live-turn":
        continuation: Continuation = "pending" if situation.gates_open else "started"
        return Deliver(continuation=continuation, before=taken, outcome=Live())
    if situation.gates_open:
        told = situation.run == "idle" and usable(situation, taken)
        return Deliver(continuation="pending", before=taken, outcome=Resume() if told else None)
    if situation.run == "live-compaction":
        return Deliver(continuation="blocked", before=taken, blocked_by="compacting")
    if situation.run == "expired-lease":
        return (*taken, Step.INTERRUPT_LOST)
    return taken


def _freed(situation: Situation, taken: Steps) -> Steps | Refuse | Queue | Steer:
    """Step 4: something runs, and the request starts a turn."""
    run = situation.run
    if run == "expired-lease":
        return (*taken, Step.INTERRUPT_LOST)
    if run == "idle" and not (taken and situation.continued_by == "runner"):
        return taken
    compacting = run == "live-compaction"
    match situation.policies.on_busy:
        case "steer" if run == "live-turn" and _steers(situation):
            return Steer(before=taken)
        case "queue" | "steer":
            return Queue(behind="compaction" if compacting else "turn", before=taken)
        case "interrupt":
            stop = Step.STOP_COMPACTION if compacting else Step.INTERRUPT_RUNNING
            return (*taken, stop)
        case _:
            return _busy(compacting=compacting)


def _steers(situation: Situation) -> bool:
    """Tell whether a request is words that the turn which runs can be told, and nothing else."""
    match situation.kind:
        case "minimal":
            alone = not situation.rewind
        case "answer+text":
            alone = not situation.rewind and situation.prior == "absent"
        case _:
            alone = False
    return alone and situation.continued_by == "us"


def _busy(*, compacting: bool) -> Refuse:
    if compacting:
        return Refuse(code="compacting", detail="the history is being summed up")
    return Refuse(code="turn-in-progress", detail="a turn has not ended; one runs at a time")


def _past_gates(situation: Situation, before: Steps) -> Steps | Refuse | Queue:
    """Step 5: a gate is open, and the request has fresh text; and the rewind, if one is asked."""
    if situation.rewind:
        return (*before, Step.REWIND)
    if not situation.gates_open or not ENDING.isdisjoint(before):
        # It is dropped again where the history moves: then the turn that waited is over.
        return (*before, Step.FINISH_TURN) if Step.TAKE_ANSWERS in before else before
    match situation.policies.on_gate:
        case "queue":
            return Queue(behind="gate", before=before)
        case "withdraw":
            return (*before, Step.WITHDRAW_GATES)
        case _:
            return Refuse(code="gate-open", detail="a gate is open; it waits for an answer")
