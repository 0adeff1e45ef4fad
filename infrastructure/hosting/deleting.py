"""How does this server delete a session in which a turn runs, a harness starts, or a gate is open?

It is marked, so that nothing begins in it any more; what runs here is stopped, another server is
asked to; the harness that is parked is let go; then it is deleted, whoever was too slow. A session
in which nothing of all this is takes one transaction.
"""

import asyncio
import logging
from collections.abc import Awaitable
from typing import Final

from sqlalchemy import Connection

from domain.refusals import Refusal, VersionMoved
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog
from infrastructure.deleting import DELETED, delete, runs_elsewhere
from infrastructure.hosting.deletions import Deletions
from infrastructure.hosting.hosts import Hosting
from infrastructure.pool.seats import SeatKey
from infrastructure.reading.sessions import session_head

LOOK_S: Final = 0.05
_LOGGER: Final = logging.getLogger("turnlog")


class Deleting:
    """What deletes sessions on one server."""

    def __init__(self, log: Turnlog, hosting: Hosting | None) -> None:
        """Take the log, and what runs turns; None if nothing does, or does any more."""
        self._log: Final = log
        self._hosting: Final = hosting
        self._owner: Final = None if hosting is None else hosting.owner
        self.deletions: Final = Deletions() if hosting is None else hosting.launching.here.deletions

    async def delete(self, target: Target, caller: Caller, version: int | None = None) -> None:
        """Delete a session, once what runs in it has ended, or had its time to.

        Raises:
            NoSuchSession: there is none, or it is deleted.
            VersionMoved: it is not at `version`; nothing was stopped.
        """
        key = SeatKey(target.project_id, target.session_id)
        hosting = self._hosting
        with self.deletions.mark(key):
            here = hosting is not None and _is_here(hosting, key)
            if here:
                await self._log.read(lambda connection: _check(connection, target, version))
            elif await self._deleted(target, caller, version):
                return
            until = asyncio.get_running_loop().time() + self._log.settings.delete_wait_s
            if hosting is not None:
                if here:  # gates are withdrawn, then the turn ends
                    await self._in_time(until, hosting.interrupt(target, DELETED, caller))
                await self._in_time(until, _let_go(hosting, key))
            await self._in_time(until, self._over_elsewhere(target))
            await self._deleted(target, caller, None, at_once=True)

    async def _deleted(
        self, target: Target, caller: Caller, version: int | None, *, at_once: bool = False
    ) -> bool:
        return await self._log.write(
            lambda attempt: delete(
                self._log.handler,
                attempt,
                target,
                caller,
                version=version,
                owner=self._owner,
                at_once=at_once,
            )
        )

    async def _in_time(self, until: float, work: Awaitable[object]) -> None:
        """Wait for something, but no longer: whatever it comes to, the session is deleted."""
        try:
            async with asyncio.timeout_at(until):
                await work
        except TimeoutError:
            _LOGGER.warning("a session is deleted although something in it has not ended")
        except Refusal as refusal:  # it ended by itself
            _LOGGER.info("nothing had to be stopped: %s", type(refusal).__qualname__)

    async def _over_elsewhere(self, target: Target) -> None:
        while await self._log.read(  # noqa: ASYNC110 - what another server does wakes nobody here
            lambda connection: runs_elsewhere(connection, target, self._owner, self._log.now())
        ):
            await asyncio.sleep(LOOK_S)


def _is_here(hosting: Hosting, key: SeatKey) -> bool:
    return hosting.is_busy(key) or hosting.launching.pool.find(key) is not None


async def _let_go(hosting: Hosting, key: SeatKey) -> None:
    """Let the parked harness go, once no request has it in hand."""
    here = hosting.launching.here
    async with hosting.lock(key):
        live = here.live(key)
        if live is not None:  # it began before the session was marked
            await hosting.launching.stop(live, DELETED, None)
        held = here.checked_out(key)
        if held is not None:
            await here.pool.release(held.seat, DELETED)


def _check(connection: Connection, target: Target, version: int | None) -> None:
    _, head, _ = session_head(connection, target)
    if version not in {None, head.version}:
        raise VersionMoved(version or 0, head.version)
