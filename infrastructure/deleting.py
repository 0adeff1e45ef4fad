"""How is a session taken out of sight, with all that waits or runs in it?

In one transaction: what waits in its queue is recalled, what runs is interrupted, its gates first,
and whoever held its turn holds it no more. A turn of another server is asked to stop before.
"""

from typing import Final

from sqlalchemy import Connection

from domain import commands as c
from domain import events as e
from domain.keys import keys_of
from domain.state import GONE
from infrastructure import runs
from infrastructure.command_handler import Caller, CommandHandler, Target
from infrastructure.hosting.attending_places import HOST
from infrastructure.hosting.queueing import waiting
from infrastructure.lookup import find_head
from infrastructure.runner import Attempt
from infrastructure.subagents import children_of

DELETED: Final = "session-deleted"
"""Why inputs were recalled, gates withdrawn, a turn interrupted and a harness let go."""


def delete(  # noqa: PLR0913 - who asks, of which session, and how
    handler: CommandHandler,
    attempt: Attempt,
    target: Target,
    caller: Caller,
    *,
    version: int | None = None,
    owner: str | None = None,
    at_once: bool = False,
) -> bool:
    """Delete a session; or ask the server that runs its turn to stop it, and return False.

    The sessions of its sub-agents are deleted with it.

    `version` is where the session has to be, if that was said; `owner` the server that deletes:
    what it runs itself is stopped already. `at_once` another server's turn is ended here.

    Raises:
        NoSuchSession: there is none, or it is deleted.
        VersionMoved: it is not at `version`.
    """
    if not _delete(handler, attempt, target, caller, version=version, owner=owner, at_once=at_once):
        return False
    for child in children_of(attempt.connection, target.project_id, target.session_id):
        if child.status not in GONE:
            below = Target(project_id=target.project_id, session_id=child.session_id)
            delete(handler, attempt, below, caller, owner=owner, at_once=True)
    return True


def restore(handler: CommandHandler, attempt: Attempt, target: Target, caller: Caller) -> None:
    """Bring a deleted session back, and those of its sub-agents that went with it.

    Raises:
        NoSuchSession: there never was one, or it is purged.
        SessionNotDeleted: it is there.
    """
    key, state = handler.state(attempt, target)
    gone_at = state.head.updated_at
    handler.carry_out(attempt, target, [c.RestoreSession()], caller=caller, known=(key, state))
    for child in children_of(attempt.connection, target.project_id, target.session_id):
        if child.status == "deleted" and child.updated_at >= gone_at:
            below = Target(project_id=target.project_id, session_id=child.session_id)
            restore(handler, attempt, below, caller)


def _delete(  # noqa: PLR0913 - as `delete`
    handler: CommandHandler,
    attempt: Attempt,
    target: Target,
    caller: Caller,
    *,
    version: int | None,
    owner: str | None,
    at_once: bool,
) -> bool:
    begin = c.BeginBatch(expected_version=version, events=0)  # a full session can be deleted too
    key, state = handler.state(attempt, target)
    if key is None or (not state.head.queued and state.head.turn_id is None):
        steps: list[c.SessionCommand] = [begin, c.DeleteSession()]
        handler.carry_out(attempt, target, steps, caller=caller, known=(key, state))
        return True
    turn_id = state.head.turn_id
    run = None if turn_id is None else runs.find(attempt.connection, key)
    live = run if runs.is_live(run, handler.now()) else None
    if turn_id is not None and live is not None and _is_elsewhere(live, owner) and not at_once:
        asked = e.InterruptRequested(turn_id=turn_id, reason=DELETED, by=caller.actor)
        steps = [begin, c.Note(event=asked)]
        handler.carry_out(attempt, target, steps, caller=caller, known=(key, state))
        return False
    recalled = [
        c.Note(event=e.InputRecalled(queue_id=each.queue_id, reason=DELETED))
        for each in (waiting(attempt.connection, key) if state.head.queued else ())
    ]
    steps = [begin, *recalled, c.DeleteSession()]
    handler.carry_out(attempt, target, steps, keys_of(steps), caller=caller)
    if live is not None:
        runs.revoke(attempt.connection, live, handler.now())
    return True


def runs_elsewhere(connection: Connection, target: Target, owner: str | None, now: int) -> bool:
    """Tell whether another server still runs the session's turn."""
    key, state = find_head(connection, target.project_id, target.session_id)
    if key is None or state.head.turn_id is None:
        return False
    run = runs.find(connection, key)
    return run is not None and runs.is_live(run, now) and _is_elsewhere(run, owner)


def _is_elsewhere(run: runs.Run, owner: str | None) -> bool:
    """Tell whether another server holds a lease; a runner's turn is ended without it."""
    return run.owner.startswith(HOST) and run.owner != owner
