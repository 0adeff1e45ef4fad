"""How does what happens in a turn get into the log, in order, whatever the log does meanwhile?

One commit at a time. While the log is away the facts wait, and so does the turn; if it stays away,
or has another owner for the turn by now, nothing more is recorded.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from domain.approval_modes import ModeVerdict
from domain.events import SessionEvent
from domain.refusals import (
    Fenced,
    NoSuchSession,
    NoSuchTurn,
    Refusal,
    SessionDamaged,
    SessionIsArchived,
    TurnFenced,
    TurnOver,
)
from domain.state import Head
from infrastructure.hosting.by_mode import Question
from infrastructure.hosting.journal_port import Journal, Stood, StoreAway
from infrastructure.hosting.timing import Timing

PATIENCE_MS: Final = 20_000
"""So long a turn waits for the log."""
_FIRST_WAIT_S: Final = 0.05
_LONGEST_WAIT_S: Final = 1.0
_ANOTHERS: Final = (
    Fenced,
    NoSuchSession,
    NoSuchTurn,
    SessionDamaged,
    SessionIsArchived,
    TurnFenced,
    TurnOver,
)
"""The turn is over for this run; any other refusal is about what was to be recorded."""
AWAY: Final = "store-away"
BROKEN: Final = "broken"


class Gone(Exception):
    """Nothing more can be recorded.

    Attributes:
        anothers: Whether the turn is no longer this run's; else it can still be ended.
    """

    def __init__(self, reason: str, *, anothers: bool) -> None:
        """Take `store-away`, `broken`, or the refusal's name."""
        super().__init__(reason)
        self.reason: Final = reason
        self.anothers: Final = anothers


class Recording:
    """The one way from a run to the log.

    Attributes:
        head: As of the last commit; an empty one before the first.
        gone: Why nothing more is recorded; None while it is.
    """

    def __init__(
        self,
        journal: Journal,
        timing: Timing,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        """Take the log."""
        self.head = Head()
        self.gone: Gone | None = None
        self._journal: Final = journal
        self._timing: Final = timing
        self._clock: Final = clock
        self._sleep: Final = sleep
        self._one: Final = asyncio.Lock()
        self._commits: Final[set[asyncio.Task[ModeVerdict]]] = set()

    async def record(
        self,
        drain: Callable[[], Sequence[SessionEvent]],
        *,
        release: bool = False,
        question: Question | None = None,
        optional: bool = False,
    ) -> ModeVerdict:
        """Record what `drain` returns once it is this commit's turn; nothing if that is nothing.

        Whoever waits may be cancelled: the commit goes on. Returns what the session's approval
        mode makes of the question that this ends with, if it does.

        Raises:
            Gone: nothing can be recorded any more.
            Refusal: what is `optional` is against a rule, and was not recorded.
        """
        commit = asyncio.create_task(
            self._in_turn(drain, question, release=release, optional=optional)
        )
        self._commits.add(commit)
        commit.add_done_callback(self._commits.discard)
        commit.add_done_callback(_seen)
        return await asyncio.shield(commit)

    async def _in_turn(
        self,
        drain: Callable[[], Sequence[SessionEvent]],
        question: Question | None,
        *,
        release: bool,
        optional: bool,
    ) -> ModeVerdict:
        async with self._one:
            if self.gone is not None:
                raise Gone(self.gone.reason, anothers=self.gone.anothers)
            events = tuple(drain())
            if events or release:
                since = self._clock()
                try:
                    stood = await self._recorded(
                        events, question, release=release, optional=optional
                    )
                except Gone as gone:
                    self.gone = gone
                    raise
                except Refusal:
                    raise  # what is optional is not recorded, and the turn goes on
                except BaseException:  # what is in the log, nobody knows
                    self.gone = Gone(BROKEN, anothers=False)
                    raise
                finally:
                    self._timing.recorded(since)
                self.head = stood.head
                return stood.verdict
            return "ask"

    async def _recorded(
        self,
        events: Sequence[SessionEvent],
        question: Question | None,
        *,
        release: bool,
        optional: bool,
    ) -> Stood:
        deadline, wait = self._clock() + PATIENCE_MS, _FIRST_WAIT_S
        while True:
            try:
                return await self._journal.record(events, release=release, question=question)
            except StoreAway:
                if self._clock() >= deadline:
                    raise Gone(AWAY, anothers=True) from None
            except Refusal as refusal:
                anothers = isinstance(refusal, _ANOTHERS)
                if optional and not anothers:
                    raise
                raise Gone(type(refusal).__name__, anothers=anothers) from None
            await self._sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT_S)

    async def caught_up(self) -> None:
        """Wait for what is being recorded, whoever asked for it."""
        if self._commits:
            await asyncio.wait(self._commits)

    async def end_refused(self, events: Sequence[SessionEvent]) -> None:
        """Record the end of a turn of which something was refused.

        Raises:
            Gone: that neither.
        """
        self.gone = None
        await self.record(lambda: events, release=True)


def _seen(commit: asyncio.Task[ModeVerdict]) -> None:
    """Take what a commit failed by: whoever waited was told, and `gone` says it to the rest."""
    if not commit.cancelled():
        commit.exception()
