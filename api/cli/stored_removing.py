"""How is a session removed in the database itself, as the REST interface would?"""

from threading import Event
from time import monotonic
from typing import Final

from api.cli.wanted import PruneWanted
from api.purge_shapes import purge_shape
from api.retention_shapes import pruned_shape
from domain.raw_json import dumped
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog
from infrastructure.deleting import delete, restore, runs_elsewhere
from infrastructure.purging import begin_purge, finish, foreseen
from infrastructure.retention import Pruning, prune, would_prune

LOCAL: Final = Caller(actor="local")
LOOK_S: Final = 0.05


def stored_delete(log: Turnlog, target: Target) -> None:
    """Take a session out of sight; a server that runs its turn is given the time to end it."""
    if log.runner.run(lambda attempt: delete(log.handler, attempt, target, LOCAL)):
        return
    until, pause = monotonic() + log.settings.delete_wait_s, Event()
    while monotonic() < until and log.read_now(
        lambda connection: runs_elsewhere(connection, target, None, log.now())
    ):
        pause.wait(LOOK_S)
    log.runner.run(lambda attempt: delete(log.handler, attempt, target, LOCAL, at_once=True))


def stored_undelete(log: Turnlog, target: Target) -> None:
    """Bring a deleted session back."""
    log.runner.run(lambda attempt: restore(log.handler, attempt, target, LOCAL))


def stored_purge(log: Turnlog, target: Target, *, dry_run: bool) -> bytes:
    """Destroy what was said in a deleted session, or tell what would go."""
    would = log.read_now(lambda connection: foreseen(connection, target))
    if not dry_run:
        handler = log.handler
        begun = log.runner.run(lambda attempt: begin_purge(handler, attempt, target, LOCAL))
        finish(log.runner, begun)
    return dumped(purge_shape(target.session_id, would, dry_run=dry_run))


def stored_prune(log: Turnlog, project_id: str, wanted: PruneWanted) -> bytes:
    """Delete sessions that ended long ago, or tell which would go."""
    asked = Pruning(
        project_id=project_id,
        days=wanted.older_than_days,
        include_pinned=wanted.include_pinned,
        limit=wanted.limit,
    )
    if wanted.dry_run:
        would = log.read_now(lambda connection: would_prune(connection, asked, log.now()))
        return dumped(pruned_shape(would, dry_run=True))
    done = log.runner.run(lambda attempt: prune(log.handler, attempt, asked, LOCAL))
    return dumped(pruned_shape(done, dry_run=False))
