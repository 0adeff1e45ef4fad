"""How does a session go on whose turn a restart cut off, if nobody says anything?

By a turn that turnlog itself asks for, in words of its own and under a name of its own, so that
nobody takes them for a person's. It is asked for once, whichever server is first.
"""

import logging
from typing import Final

from domain import commands as c
from domain import events as e
from domain.dispatch.outcomes import Refuse
from domain.keys import keys
from domain.raw_json import dumped
from domain.refusals import NoSuchSession, Refusal
from domain.state import Head
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog
from infrastructure.hosting.asking import NOWHERE, Address
from infrastructure.hosting.attending_places import Place
from infrastructure.hosting.cut_off import AUTHOR
from infrastructure.hosting.hosts import Hosting
from infrastructure.hosting.queueing import PASSING
from infrastructure.reading.sessions import session_head
from infrastructure.runner import Attempt

NOTE: Final = (
    "[turnlog] Nobody wrote this. The turn before it was cut off, because the server that ran it "
    "was stopped or killed. Go on from where the conversation stands: do not make calls again that "
    "were made already, least of all one that restarts something, and where the outcome of a call "
    "is not known, find out before you rely on it. If nothing is left to do, say in one sentence "
    "where things stand."
)
STALE: Final = "stale"
_PASSING: Final = PASSING | {"head-behind"}
_LOGGER: Final = logging.getLogger("turnlog")


class Resuming:
    """The turns that go on with what restarts cut off."""

    def __init__(self, log: Turnlog, hosting: Hosting) -> None:
        """Take what runs turns here."""
        self._log: Final = log
        self._hosting: Final = hosting
        self._refused: Final[set[tuple[str, str, str]]] = set()

    async def resume(self, place: Place) -> None:
        """Begin the turn that goes on with one, on the history as it is known to be now."""
        target = Target(project_id=place.project_id, session_id=place.session_id)
        try:
            _, head, _ = await self._log.read(lambda connection: session_head(connection, target))
        except NoSuchSession:
            return
        if head.resume_turn == place.name and head.turn_id is None and not head.queued:
            await self.begin(place, head)

    async def begin(self, place: Place, head: Head, address: Address = NOWHERE) -> bool:
        """Begin the turn that goes on with one; False if that could be tried again.

        One that is refused for good is not tried again here.
        """
        asked = (place.project_id, place.session_id, place.name)
        if asked in self._refused:
            return True
        target = Target(project_id=place.project_id, session_id=place.session_id)
        try:
            took = await self._hosting.begin(target, request(head, place.name), address)
        except NoSuchSession:
            return True
        except Refusal as refusal:
            self._refused.add(asked)
            _LOGGER.warning("a turn is not gone on with: %s", type(refusal).__qualname__)
            return True
        if not isinstance(took.decision, Refuse):
            return took.full is None
        if took.decision.code not in _PASSING:
            self._refused.add(asked)
        return took.decision.code not in _PASSING

    async def clear(self, place: Place) -> None:
        """Record that it is too long ago."""
        target = Target(project_id=place.project_id, session_id=place.session_id)

        def write(attempt: Attempt) -> None:
            cleared = e.ResumeCleared(turn_id=place.name, reason=STALE)
            known = self._log.handler.state(attempt, target, keys([cleared]))
            if known[1].head.resume_turn == place.name:
                steps = [c.Note(event=cleared)]
                self._log.handler.carry_out(attempt, target, steps, caller=Caller(), known=known)

        await self._log.write(write)


def request(head: Head, name: str) -> bytes:
    """Return the request that goes on with what was cut off, as a client would send it.

    Its message has an id that follows from what is gone on with, so that it is said once.
    """
    message = {
        "role": "user",
        "message_id": f"resume-{name}"[:128],
        "content": NOTE,
        "author": AUTHOR,
    }
    claim = {"history_version": head.history_version, "fingerprint": head.fingerprint.hex()}
    return dumped({"messages": [message], "head": claim})
