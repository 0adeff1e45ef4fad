"""What becomes of a turn whose holder was not heard of until its lease ended?

It is interrupted, once, by whichever server comes first. A server does so only after it has looked
on, without its clock stepping, for as long as the lease lasts: whoever was cut off while the server
was away, or held up as the machine slept, has had the time to come back.
"""

import asyncio
from functools import partial
from typing import Final

from domain.commands import InterruptTurn
from domain.keys import keys_of
from domain.refusals import Refusal
from domain.restarts import OWNER_LOST, RESTARTED
from domain.state import Turn
from infrastructure import runs
from infrastructure.command_handler import Caller, CommandHandler, Target
from infrastructure.commit import Contended
from infrastructure.composition import Turnlog
from infrastructure.hosting.seeds import unconsumed
from infrastructure.run_rows import SECOND
from infrastructure.runner import Attempt
from infrastructure.runs import Expired

AT_ONCE: Final = 100
STEP_US: Final = 2 * SECOND
"""A clock that went so much further, or less far, than time did was set, or stood still."""


class Watch:
    """For how long this server has looked on. Microseconds; `ticks` never step."""

    def __init__(self) -> None:
        self._since: int | None = None
        self._now = 0
        self._ticks = 0

    def look(self, now: int, ticks: int) -> int:
        """Return for how long nothing kept holders from being heard, as far as is known here."""
        stepped = abs((now - self._now) - (ticks - self._ticks)) > STEP_US
        if self._since is None or stepped:
            self._since = ticks
        self._now, self._ticks = now, ticks
        return ticks - self._since

    def interrupted(self) -> None:
        """Begin anew: holders could not be heard."""
        self._since = None


async def recover(log: Turnlog, watch: Watch, ticks: int) -> int:
    """Interrupt the turns whose leases ended; return how many."""
    now = log.now()
    watched = watch.look(now, ticks)
    if await log.read(lambda connection: runs.any_ahead(connection, now)):
        await log.write(lambda attempt: runs.set_back(attempt.connection, now))
    if await log.read(lambda connection: runs.any_compaction_over(connection, now)):
        await log.write(lambda attempt: runs.end_compactions(attempt.connection, now))
    expired = await log.read(lambda connection: runs.expired(connection, now, AT_ONCE))
    ended = 0
    for each in expired:
        if each.run.lease_s * SECOND <= watched:
            ended += await _ended(log, each)
    return ended


async def recover_from(log: Turnlog, owner: str) -> bool:
    """Interrupt the turns of a server that is known to be gone, their leases ended or not.

    Tell whether none is left.
    """
    await log.write(lambda attempt: runs.end_compactions(attempt.connection, log.now(), owner))
    before: object = None
    while held := await log.read(lambda connection: runs.held_by(connection, owner, AT_ONCE)):
        if held == before:
            return False  # somebody else is at it: it is looked at again soon
        before = held
        await asyncio.gather(*(_ended(log, each, RESTARTED) for each in held))
    return True


async def _ended(log: Turnlog, expired: Expired, reason: str = OWNER_LOST) -> bool:
    run = expired.run
    try:
        return await log.write(partial(interrupt, log.handler, expired, reason=reason))
    except Contended:
        return False  # it is looked at again soon
    except Refusal:  # the session is gone, or damaged: nobody could go on with its turn
        await log.write(
            lambda attempt: runs.release(attempt.connection, run.session_key, run.fence)
        )
        return False


def interrupt(
    handler: CommandHandler, expired: Expired, attempt: Attempt, *, reason: str = OWNER_LOST
) -> bool:
    """Interrupt a turn unless its holder was heard of, or somebody else came first.

    One that is paused stays: its gates outlive whoever waits at them. So does one of a server whose
    gates are decided and no harness was told yet: whoever looks for such turns goes on with it.

    Raises:
        Contended: that happens at this moment; look again.
        Refusal: the session is gone, or damaged.
    """
    run = expired.run
    if runs.find(attempt.connection, run.session_key) != run:
        return False
    target = Target(project_id=run.project_id, session_id=expired.session_id)
    steps = [InterruptTurn(turn_id=run.turn_id, reason=reason)]
    key, state = handler.state(attempt, target, keys_of(steps))
    turn = state.turns.get(run.turn_id)
    if turn is not None and (turn.paused or _is_decided(attempt, key, turn)):
        runs.release(attempt.connection, run.session_key, run.fence)
        return False
    done = handler.carry_out(attempt, target, steps, caller=Caller(), known=(key, state))
    if done.facts:
        runs.revoke(attempt.connection, run, handler.now())
    return bool(done.facts)


def _is_decided(attempt: Attempt, key: int | None, turn: Turn) -> bool:
    """Tell whether a hosted turn waits for nothing but being told what was decided."""
    if key is None or turn.producer_id is not None or turn.open_gates:
        return False
    return bool(unconsumed(attempt.connection, key, turn.turn_id))
