"""How does a lane's session go on whose turn was cut off, if nobody says anything?

What may be gone on with is asked again right before each turn is begun, as those before may take
long. What may not is counted once, by why; when its gateway connects it is looked at at once.
"""

import logging
from collections.abc import Collection
from typing import Final

from sqlalchemy import Connection

from domain.lanes.recovery import HeldBack
from domain.refusals import NoSuchSession, Refusal
from domain.state import Head
from infrastructure.command_handler import Target
from infrastructure.composition import Turnlog
from infrastructure.hosting.asking import Address
from infrastructure.hosting.attending_places import Place
from infrastructure.hosting.hosts import Hosting
from infrastructure.hosting.recovery import AWAY
from infrastructure.hosting.resuming import Resuming
from infrastructure.lanes.recovery import After, CutOff, cut_off_in, page
from infrastructure.reading.sessions import session_head

LOOK_EACH: Final = 5
"""In every so many rounds, all of it is looked at; the first one is one of them."""
CLEAR_EACH: Final = 30
"""As often where nothing is gone on with."""
_LOGGER: Final = logging.getLogger("turnlog")


class LaneResuming:
    """The turns that go on with what was cut off in the sessions of lanes."""

    def __init__(self, log: Turnlog, hosting: Hosting, resuming: Resuming) -> None:
        """Take what begins such turns."""
        self._log: Final = log
        self._hosting: Final = hosting
        self._resuming: Final = resuming
        self._told: dict[tuple[str, str, str], HeldBack] = {}
        self._again = False

    async def look(self, number: int, *, resumes: bool) -> None:
        """Do what is to be done in a round: all of it, or what platforms that connected need.

        Unless it `resumes`, marks are only taken away that are too old.
        """
        connected = self._hosting.connected_now()
        if self._again or number % (LOOK_EACH if resumes else CLEAR_EACH) == 1:
            await self._see_to_all(None, resumes=resumes)
        elif connected and resumes:
            await self._see_to_all(connected, resumes=True)

    async def _see_to_all(self, only: Collection[tuple[str, str]] | None, *, resumes: bool) -> None:
        told, self._again = self._told, False
        self._told = {} if only is None else told
        after: After | None = After()
        while after is not None:
            at = after
            try:
                found = await self._log.read(lambda c: page(c, self._log.now(), at))  # noqa: B023
            except AWAY as error:
                _LOGGER.info("what was cut off has to wait: %s", type(error).__qualname__)
                self._told, self._again = told, True
                return
            for each in found.found:
                if only is None or (each.project_id, each.platform) in only:
                    await self._see_to(each, told, resumes=resumes)
            after = found.after

    async def _see_to(
        self, each: CutOff, told: dict[tuple[str, str, str], HeldBack], *, resumes: bool
    ) -> None:
        try:
            if each.is_stale and not each.of_lane:
                await self._resuming.clear(_place(each))
            elif each.held is not None:
                self._note(each, each.held, told)
            elif resumes:
                self._again |= not await self._resume(each, told)
        except NoSuchSession:
            return
        except (Refusal, *AWAY) as error:  # it keeps no other from being looked after
            _LOGGER.info("something has to wait: %s", type(error).__qualname__)
            self._again = True

    async def _resume(self, each: CutOff, told: dict[tuple[str, str, str], HeldBack]) -> bool:
        """Begin the turn that goes on with it; False if that is to be tried again."""
        target = Target(project_id=each.project_id, session_id=each.session_id)

        def look(connection: Connection) -> tuple[CutOff | None, Head]:
            found = cut_off_in(connection, each.project_id, each.session_id, self._log.now())
            same = next((now for now in found if now.name == each.name), None)
            return same, session_head(connection, target)[1]

        now, head = await self._log.read(look)
        if now is None or now.lane_id is None:
            return True
        if now.held is not None:
            self._note(now, now.held, told)
            return True
        address = Address(lane_id=now.lane_id, reply_to=now.reply_to)
        return await self._resuming.begin(_place(now), head, address)

    def _note(
        self, each: CutOff, held: HeldBack, told: dict[tuple[str, str, str], HeldBack]
    ) -> None:
        """Count what is held back, once for each reason that it has."""
        name = (each.project_id, each.session_id, each.name)
        if told.get(name) != held:
            self._log.counting.held_back(held)
        self._told[name] = held


def _place(each: CutOff) -> Place:
    return Place(each.project_id, each.session_id, each.name)
