"""What is a session after a restart cut it off, or after somebody saw to that?"""

from typing import assert_never

from domain import events as e
from domain.draft import Draft
from domain.state import Status


def restart_changed(draft: Draft, event: e.RestartEvent) -> None:
    """Note what there is to go on with, and whether the session takes turns."""
    head = draft.head
    status: Status = head.status
    match event:
        case e.ResumeMarked(turn_id=turn_id, reason=reason):
            at = draft.fact.envelope.recorded_at
            head = head._replace(resume_turn=turn_id, resume_reason=reason, resume_at=at)
        case e.ResumeCleared():
            head = head._replace(resume_turn=None, resume_reason=None, resume_at=0)
        case e.SessionSuspended():
            status = "suspended" if head.status == "open" else head.status
            head = head._replace(
                status=status, suspended=True, resume_turn=None, resume_reason=None, resume_at=0
            )
        case e.SessionUnsuspended():
            status = "open" if head.status == "suspended" else head.status
            head = head._replace(status=status, suspended=False, cut_off=0)
        case _:
            assert_never(event)
    draft.head = head
