"""How does a request go on? The one decision, pure and total.

Each step sees head, seat and readiness as they are after what the steps before it record. No seat
is given up but for a harness that starts in its place, and none starts without a history.
"""

from domain.dispatch.admission import admit
from domain.dispatch.explaining import short_of
from domain.dispatch.kinds import PURE_ANSWERS
from domain.dispatch.outcomes import (
    MOVING,
    Begin,
    Blocked,
    Cold,
    Decision,
    Deliver,
    Label,
    Refuse,
    Resume,
    Source,
    Step,
    Steps,
)
from domain.dispatch.reconciling import lacking, reconciled
from domain.dispatch.seats import unusable
from domain.dispatch.situation import Situation


def dispatch(situation: Situation) -> Decision:
    """Return what comes of a request in this situation; each has exactly one answer."""
    admitted = admit(situation)
    return begun(situation, admitted) if isinstance(admitted, tuple) else admitted


def begun(situation: Situation, before: Steps) -> Refuse | Deliver | Begin:
    """Return how an admitted request goes on: the decision's steps 6 to 9."""
    found = reconciled(situation, before)
    match found:
        case "history-diverged":
            return _declined(situation, found, "the prior and the log's history differ")
        case "history-behind":
            return _declined(situation, found, "the prior is only the beginning of the history")
        case _:
            steps = before if found is None else (*before, found)
    moved = not MOVING.isdisjoint(steps)
    if moved:
        steps = tuple(step for step in steps if step is not Step.FINISH_TURN)
    seat = situation.seat
    label = None if seat is None else unusable(situation, seat, steps)
    if seat is not None and label is None:
        return _granted(situation, Resume(asides=seat.lacks == "asides"), steps)
    reasons = lacking(situation, steps)
    if reasons:
        return _declined(situation, "history-not-ready", short_of(label, reasons), label, reasons)
    source: Source = "client" if Step.ASSERT_PRIOR in steps else "log"
    return _granted(situation, Cold(source=source, evict=label), steps)


def _granted(situation: Situation, outcome: Resume | Cold, steps: Steps) -> Deliver | Begin:
    if situation.kind in PURE_ANSWERS:
        return Deliver(continuation="started", before=steps, outcome=outcome)
    return Begin(outcome=outcome, before=steps)


def _declined(
    situation: Situation,
    code: Blocked,
    detail: str,
    label: Label | None = None,
    reasons: tuple[str, ...] = (),
) -> Refuse | Deliver:
    """Refuse what has text; an answer alone stays taken, and its turn waits."""
    if situation.kind not in PURE_ANSWERS:
        return Refuse(code=code, detail=detail, seat=label, reasons=reasons)
    taken = (Step.TAKE_ANSWERS,) if situation.answers == "open" else ()
    return Deliver(
        continuation="blocked", before=taken, blocked_by=code, seat=label, reasons=reasons
    )
