"""How does a lane leave a session in which something may run on this server?

What runs here is stopped first, so that what it said is kept; then all is recorded in one
transaction. Meanwhile nothing begins here in the session: what waits there is not begun either.
"""

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias, TypeVar

from sqlalchemy import Connection

from infrastructure.command_handler import Target
from infrastructure.composition import Turnlog
from infrastructure.hosting.hosts import Hosting
from infrastructure.lanes.leaving import Departure, Left, foreseen
from infrastructure.lanes.lookup import FoundLane, the_lane
from infrastructure.pool.seats import SeatKey
from infrastructure.runner import Attempt

Answer = TypeVar("Answer")
Find: TypeAlias = Callable[[Attempt], FoundLane]
"""Finds the lane that leaves its session, in the transaction in which it does."""
Leaves: TypeAlias = Callable[[Connection, FoundLane], bool]
"""Tells whether a lane leaves its session."""
Record: TypeAlias = Callable[[Find, str | None], Awaitable[tuple[Answer, Left]]]
"""Records it, given the turn that was stopped for it."""


class WentOn(Exception):
    """The lane got another session meanwhile: what runs there has to be looked at first."""


def always(_: Connection, __: FoundLane) -> bool:
    """Tell that a lane leaves its session, whichever that is."""
    return True


class Departing:
    """What has lanes leave their sessions on this server."""

    def __init__(self, log: Turnlog, hosting: Hosting) -> None:
        """Take the log, and what runs turns here."""
        self._log: Final = log
        self._hosting: Final = hosting

    async def depart(
        self,
        place: tuple[str, str],
        departure: Departure,
        record: Record[Answer],
        leaves: Leaves = always,
    ) -> Answer:
        """Have what runs in a lane's session stop, and then have it recorded that it is left.

        `place` is the lane's project and its id. If the lane does not leave its session after all,
        nothing is stopped.

        Raises:
            NoSuchLane: there is none.
            TurnInProgress: a turn runs, and is not to be interrupted.
        """
        while True:
            key = await self._log.read(lambda connection: _key(connection, place))
            async with self._hosting.lock(key):
                try:
                    return await self._departed(place, key, departure, record, leaves)
                except WentOn:
                    continue

    async def _departed(
        self,
        place: tuple[str, str],
        key: SeatKey,
        departure: Departure,
        record: Record[Answer],
        leaves: Leaves,
    ) -> Answer:
        def find(connection: Connection) -> FoundLane:
            found = the_lane(connection, *place)
            if found.lane.session_id != key.session_id:
                raise WentOn
            return found

        def look(connection: Connection) -> str | None:
            found = find(connection)
            return (
                foreseen(connection, found, departure).decided.stops
                if leaves(connection, found)
                else None
            )

        stopped = await self._stop(key, await self._log.read(look), departure)
        answer, left = await record(lambda attempt: find(attempt.connection), stopped)
        await self._let_go(key, left, departure)
        return answer

    async def _stop(self, key: SeatKey, turn_id: str | None, departure: Departure) -> str | None:
        """Stop a turn if it runs here, and wait for its end; return it then."""
        live = self._hosting.launching.here.live(key)
        if live is None or live.turn_id != turn_id:
            return None
        await self._hosting.launching.stop(live, departure.because, departure.caller.actor)
        return turn_id

    async def _let_go(self, key: SeatKey, left: Left, departure: Departure) -> None:
        """Let the parked harness go: nobody comes back to it soon, or its history is another."""
        launching = self._hosting.launching
        if not (left.ended or left.interrupted):
            return
        held = launching.here.checked_out(key)
        if held is not None:
            await launching.pool.release(held.seat, "history" if left.interrupted else "request")
        target = Target(project_id=key.project_id, session_id=key.session_id)
        if left.ended and launching.compacting.of(target) is not None:
            by = departure.caller.actor
            launching.here.spawn(launching.compacting.stop(target, departure.because, by))


def _key(connection: Connection, place: tuple[str, str]) -> SeatKey:
    found = the_lane(connection, *place)
    return SeatKey(found.project_id, found.lane.session_id)
