"""What is a session after a restart cut it off, or after somebody saw to that?"""

from typing import assert_never

from domain import events as e
from domain.draft import Draft
from domain.restarts import UNCLEAN, status_of
from domain.state import GONE, Head


def restart_changed(draft: Draft, event: e.RestartEvent) -> None:
    """Note what there is to go on with, and whether the session takes turns.

    What is counted is what was marked here: what an import tells of lost turns is not.
    """
    head = draft.head
    match event:
        case e.ResumeMarked(turn_id=turn_id, reason=reason):
            head = head._replace(
                resume_turn=turn_id,
                resume_reason=reason,
                resume_at=draft.fact.envelope.recorded_at,
                cut_off=head.cut_off + (reason in UNCLEAN),
            )
        case e.ResumeCleared():
            head = _cleared(head)
        case e.SessionSuspended(count=count):
            head = _standing(_cleared(head)._replace(suspended=True, cut_off=count))
        case e.SessionUnsuspended():
            head = _standing(head._replace(suspended=False, cut_off=0))
        case _:
            assert_never(event)
    draft.head = head


def _cleared(head: Head) -> Head:
    return head._replace(resume_turn=None, resume_reason=None, resume_at=0)


def _standing(head: Head) -> Head:
    return head if head.status in GONE else head._replace(status=status_of(head))
