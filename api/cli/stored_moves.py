"""What does a rewind or a redo of the database itself answer, as the REST interface would?"""

from typing import Final

from api.cli.wanted import Claim, RedoWanted, RewindWanted
from api.going_back import Move, foreseen, move, moved_shape, with_target
from domain import commands as c
from domain.raw_json import dumped
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog

LOCAL: Final = Caller(actor="local")


def stored_rewind(log: Turnlog, target: Target, wanted: RewindWanted) -> bytes:
    """Take turns out of sight, or tell what that would do."""
    command = c.Rewind(
        turns=wanted.turns,
        to_turn=wanted.to_turn,
        before_message=wanted.before_message,
        to_version=wanted.to_version,
        interrupt=wanted.interrupt,
        claim=_claim(wanted.head),
    )
    if wanted.dry_run:
        return _foreseen(log, target, command)
    answer = _moved(log, target, command)
    return log.read_now(lambda connection: with_target(connection, target, answer))


def stored_redo(log: Turnlog, target: Target, wanted: RedoWanted) -> bytes:
    """Bring turns back into sight, or tell what that would do."""
    command = c.Redo(
        rewind_version=wanted.rewind_version, interrupt=wanted.interrupt, claim=_claim(wanted.head)
    )
    return (_foreseen if wanted.dry_run else _moved)(log, target, command)


def _claim(head: Claim | None) -> c.HeadClaim | None:
    if head is None:
        return None
    return c.HeadClaim(history_version=head.history_version, fingerprint=head.fingerprint)


def _foreseen(log: Turnlog, target: Target, command: Move) -> bytes:
    return log.read_now(lambda connection: foreseen(log, connection, target, command))[0]


def _moved(log: Turnlog, target: Target, command: Move) -> bytes:
    done = log.runner.run(lambda attempt: move(log, attempt, target, command, LOCAL))
    return dumped(moved_shape(done, command))
