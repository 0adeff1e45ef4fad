"""What does a server look after between requests: what it promised, and what others did?

Every second or so, and for what concerns this server alone: questions whose time is over, turns
whose gates are decided and that nobody goes on with, inputs that wait for nothing, and seats here
whose sessions went on elsewhere. All of it is in the log, so a restart forgets none of it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, and_, bindparam, or_, select, text
from sqlalchemy.exc import SQLAlchemyError

from domain import commands as c
from domain import events as e
from domain.dispatch.kinds import Shape
from domain.keys import Keys
from domain.refusals import Refusal
from infrastructure import tables as t
from infrastructure.command_handler import Caller, Target
from infrastructure.commit import Contended
from infrastructure.composition import Turnlog
from infrastructure.connecting import UnfitDatabase
from infrastructure.harness.memory import used_mb
from infrastructure.hosting.asking import Ask
from infrastructure.hosting.hosts import Hosting
from infrastructure.hosting.launching import LEASE_S
from infrastructure.pool.seats import SeatKey
from infrastructure.prepared import Prepared
from infrastructure.runner import Attempt

EVERY_S: Final = 1.0
RENEW_EACH: Final = 8
"""In so many rounds leases are renewed once: three times while one lasts."""
RELIEVE_EACH: Final = 5
BURY_EACH: Final = 30
HOSTS: Final = "host-%"
"""The owners of seats that are servers, not runners."""
PATIENCE_S: Final = 60
"""So long after its time a seat of another server is taken for lost, with its server."""
SECOND: Final = 1_000_000
AT_ONCE: Final = 100
_LOGGER: Final = logging.getLogger("turnlog")
_AWAY: Final = (SQLAlchemyError, UnfitDatabase, Contended)


class _Place(NamedTuple):
    project_id: str
    session_id: str
    name: str


def _in_session(*of: Any) -> Any:  # noqa: ANN401 - SQLAlchemy's own generics
    return select(t.streams.c.project_id, t.streams.c.session_id, *of)


def _of_turn(of: Any) -> Any:  # noqa: ANN401 - SQLAlchemy's own generics
    return (of.session_key == t.turns.c.session_key) & (of.turn_id == t.turns.c.turn_id)


_EXPIRED: Final = Prepared(
    lambda _: (
        _in_session(t.gates.c.gate_id)
        .join(t.streams, t.streams.c.session_key == t.gates.c.session_key)
        .where(
            text("gates.status = 'open'"),
            t.gates.c.expires_at <= bindparam("now"),
            t.gates.c.inherited.is_(False),
        )
        .order_by(t.gates.c.expires_at)
        .limit(AT_ONCE)
    )
)
_DECIDED: Final = Prepared(
    lambda _: (
        _in_session(t.turns.c.turn_id)
        .select_from(t.turns)
        .join(t.runs, _of_turn(t.runs.c))
        .join(t.heads, _of_turn(t.heads.c))
        .join(t.streams, t.streams.c.session_key == t.turns.c.session_key)
        .where(
            text("turns.status = 'running'"),
            t.turns.c.producer_id.is_(None),
            t.runs.c.lease_until == 0,
            t.runs.c.kind == "turn",
            t.heads.c.open_gates == 0,
            t.heads.c.status == "open",
        )
        .limit(AT_ONCE)
    )
)
_WAITING: Final = Prepared(
    lambda _: (
        _in_session(t.queue.c.queue_id)
        .join(t.streams, t.streams.c.session_key == t.queue.c.session_key)
        .join(t.heads, t.heads.c.session_key == t.queue.c.session_key)
        .where(
            text("queue.status = 'waiting'"),
            t.heads.c.turn_id.is_(None),
            t.heads.c.status == "open",
        )
        .order_by(t.queue.c.queued_at)
        .limit(AT_ONCE)
    )
)
_RENEW: Final = Prepared(
    lambda _: (
        t.runs.update()
        .where(t.runs.c.owner == bindparam("owner"), t.runs.c.lease_until > 0)
        .values(lease_until=bindparam("until"))
    )
)
_LOST: Final = Prepared(
    lambda _: (
        _in_session(t.seats.c.seat_id)
        .join(t.streams, t.streams.c.session_key == t.seats.c.session_key)
        .join(t.heads, t.heads.c.session_key == t.seats.c.session_key)
        .where(
            text("seats.state <> 'gone'"),
            t.seats.c.owner.like(HOSTS),
            t.seats.c.owner != bindparam("owner"),
            t.heads.c.status != "deleted",
            or_(
                t.seats.c.changed_at + (t.seats.c.ttl_s + PATIENCE_S) * SECOND < bindparam("now"),
                and_(
                    t.seats.c.ttl_s.is_(None),
                    t.seats.c.changed_at + PATIENCE_S * SECOND < bindparam("now"),
                    or_(t.heads.c.turn_id.is_(None), t.heads.c.turn_id != t.seats.c.turn_id),
                ),
            ),
        )
        .limit(AT_ONCE)
    )
)
_LEFT_BEHIND: Final = Prepared(
    lambda _: (
        _in_session(t.seats.c.seat_id)
        .join(t.streams, t.streams.c.session_key == t.seats.c.session_key)
        .join(t.heads, t.heads.c.session_key == t.seats.c.session_key)
        .where(
            t.seats.c.owner == bindparam("owner"),
            text("seats.state <> 'gone'"),
            t.seats.c.pin_history_version.is_not(None),
            t.heads.c.fingerprint != t.seats.c.pin_fingerprint,
        )
        .limit(AT_ONCE)
    )
)
_INTERRUPTED: Final = Prepared(
    lambda _: (
        _in_session(t.turns.c.turn_id)
        .select_from(t.turns)
        .join(t.runs, _of_turn(t.runs.c))
        .join(t.streams, t.streams.c.session_key == t.turns.c.session_key)
        .join(
            t.events,
            (t.events.c.session_key == t.turns.c.session_key)
            & (t.events.c.version > t.turns.c.started_version),
        )
        .where(
            text("turns.status = 'running'"),
            t.turns.c.producer_id.is_(None),
            t.runs.c.owner == bindparam("owner"),
            t.events.c.type == "interrupt-requested",
        )
        .limit(AT_ONCE)
    )
)


class Attending:
    """The rounds of one server."""

    def __init__(self, log: Turnlog, hosting: Hosting) -> None:
        """Take what it looks after."""
        self._log: Final = log
        self._hosting: Final = hosting
        self._round = 0

    async def rounds(self, every: float = EVERY_S) -> None:
        """Look around until cancelled."""
        while True:
            await self.look_around()
            await asyncio.sleep(every)

    async def look_around(self) -> None:
        """Do what is to be done now."""
        launching = self._hosting.launching
        self._round += 1
        if launching.busy() and self._round % RENEW_EACH == 0:
            await self._renew()
        if self._round % RELIEVE_EACH == 0 and self._log.settings.pool.memory_limit_mb:
            await launching.pool.relieve(await asyncio.to_thread(used_mb))
        await self._each(_EXPIRED, self._expire)
        if launching.pool.seats():
            await self._each(_LEFT_BEHIND, self._let_go)
        if launching.busy():
            await self._each(_INTERRUPTED, self._interrupt)
        if self._round % BURY_EACH == 1:
            await self._each(_LOST, self._bury)
        await self._each(_DECIDED, self._go_on)
        await self._each(_WAITING, self._promote)

    async def _each(self, look: Prepared, act: Callable[[_Place], Awaitable[None]]) -> None:
        params = {"now": self._log.now(), "owner": self._hosting.owner}
        try:
            found = await self._log.read(lambda connection: _places(connection, look, params))
            for place in found:
                await act(place)
        except (Refusal, *_AWAY) as error:
            _LOGGER.info("what was to be looked after has to wait: %s", type(error).__qualname__)

    async def _renew(self) -> None:
        """Renew the leases of the turns that run here, however long their harnesses are silent."""
        params = {"owner": self._hosting.owner, "until": self._log.now() + LEASE_S * SECOND}
        try:
            await self._log.write(lambda attempt: _RENEW.run(attempt.connection, params))
        except _AWAY as error:
            _LOGGER.warning("leases are not renewed: %s", type(error).__qualname__)

    async def _expire(self, place: _Place) -> None:
        """End the questions whose time is over; a harness that waits is told that nobody did."""
        target = Target(project_id=place.project_id, session_id=place.session_id)

        def write(attempt: Attempt) -> None:
            known = self._log.handler.state(attempt, target)
            steps = [c.ExpireGates(now=self._log.now())]
            self._log.handler.carry_out(attempt, target, steps, caller=Caller(), known=known)

        await self._log.write(write)
        await self._hosting.expired(target, place.name)

    async def _let_go(self, place: _Place) -> None:
        """Let a harness go that remembers a history that is not the session's any more."""
        pool = self._hosting.launching.pool
        seat = pool.find(SeatKey(place.project_id, place.session_id))
        if seat is not None and seat.seat_id == place.name and seat.state != "busy":
            await pool.evict(seat, "history")

    async def _bury(self, place: _Place) -> None:
        """Record that a seat is gone whose server was killed with it."""
        target = Target(project_id=place.project_id, session_id=place.session_id)

        def write(attempt: Attempt) -> None:
            key, state = self._log.handler.state(
                attempt, target, Keys(seats=frozenset({place.name}))
            )
            seat = state.seats.get(place.name)
            if seat is not None and seat.state != "gone":
                lost = e.HarnessEvicted(seat_id=seat.seat_id, owner=seat.owner, reason="seat-lost")
                steps = [c.Note(event=lost)]
                known = (key, state)
                self._log.handler.carry_out(attempt, target, steps, caller=Caller(), known=known)

        await self._log.write(write)

    async def _interrupt(self, place: _Place) -> None:
        """Stop a turn here that was asked to stop elsewhere."""
        target = Target(project_id=place.project_id, session_id=place.session_id)
        if self._hosting.runs(target, place.name) is not None:
            await self._hosting.interrupt(target, "cancelled", Caller())

    async def _go_on(self, place: _Place) -> None:
        """Go on with a turn whose gates are decided, and that nobody runs."""
        hosting = self._hosting
        target = Target(project_id=place.project_id, session_id=place.session_id)
        if hosting.runs(target, place.name) is None:
            ask = Ask(
                shape=Shape(kind="answer"),
                turn_id=hosting.launching.mint(),
                owner=hosting.owner,
                hosted=True,
                continues=True,
            )
            await hosting.take(target, ask, Caller())

    async def _promote(self, place: _Place) -> None:
        target = Target(project_id=place.project_id, session_id=place.session_id)
        await self._hosting.promote(target)


def _places(connection: Connection, look: Prepared, params: dict[str, object]) -> Sequence[_Place]:
    return [_Place(*row) for row in look.run(connection, params)]
