"""What is a harness told of the turn before, if that was cut off and somebody says something new?

Once for each time that something was cut off: with the first turn after it. It is told beside where
the conversation happens, and is no part of what anybody said.
"""

from typing import Final

from sqlalchemy import Connection, bindparam, select

from domain import events as e
from domain.dispatch.outcomes import Begin, Step
from domain.lanes.recovery import KNOWN_REASONS
from domain.state import Head
from infrastructure import tables as t
from infrastructure.command_handler import Target
from infrastructure.hosting.became import Dispatched
from infrastructure.lanes.lookup import followed
from infrastructure.lanes.marks import newest_addressed
from infrastructure.prepared import Prepared

AUTHOR: Final = {"subject_id": "turnlog", "display": "turnlog"}
"""Who says what turnlog itself says, as a message names its author."""
CUT_OFF: Final = (
    "# What happened before\n"
    "- The turn before this one was cut off: what ran it, or what passed it on, was stopped or"
    " killed.\n"
    "- Answer the new message first. Make no calls again that were made already; where the outcome"
    " of one is not known, find out before you rely on it.\n"
    "- A restart that somebody asked for in the conversation has happened: do not begin another."
)
_NEWEST: Final = Prepared(
    lambda _: select(t.turns.c.turn_id, t.turns.c.status, t.turns.c.started_at).where(
        t.turns.c.session_key == bindparam("session_key"),
        t.turns.c.number
        == newest_addressed(bindparam("session_key"), bindparam("number"), bindparam("branch")),
    )
)
"""The newest turn in which more was said than among people."""


def told_of_cut_off(connection: Connection, target: Target, done: Dispatched) -> str | None:
    """Return what a harness is told that starts for a turn; None if nothing was cut off before.

    Nor is it told with turnlog's own words, which say it themselves.
    """
    start = None if done.ask.start is None else done.ask.start.event
    if not isinstance(done.decision, Begin) or not isinstance(start, e.TurnStarted):
        return None
    if done.ask.rewind is not None or any(is_ours(each.author) for each in start.messages):
        return None
    if Step.INTERRUPT_LOST in done.decision.before:
        return CUT_OFF
    head, key = done.found.state.head, done.found.key
    cut_off = key is not None and _was_cut_off(connection, target, done.ask.lane_id, head, key)
    return CUT_OFF if cut_off else None


def _was_cut_off(
    connection: Connection, target: Target, lane_id: str | None, head: Head, key: int
) -> bool:
    """Tell whether the newest turn is one that is marked, by its session or by its lane."""
    marked_at = 0
    if head.resume_turn is None:
        marked_at = 0 if lane_id is None else _marked_at(connection, target, lane_id)
        if not marked_at:
            return False
    place = {"session_key": key, "number": head.turn_tip, "branch": head.branch}
    newest = _NEWEST.run(connection, place).first()
    if newest is None:
        return False
    if head.resume_turn is not None:
        return bool(newest.turn_id == head.resume_turn)
    return newest.status in {"failed", "interrupted"} and newest.started_at <= marked_at


def _marked_at(connection: Connection, target: Target, lane_id: str) -> int:
    found = followed(connection, target.project_id, lane_id)
    if found is None or found.lane.session_id != target.session_id:
        return 0
    return found.lane.resume_at if found.lane.resume_reason in KNOWN_REASONS else 0


def is_ours(author: object) -> bool:
    """Tell whether nobody said it, but turnlog itself, to have a turn go on."""
    return getattr(author, "subject_id", None) == AUTHOR["subject_id"]
