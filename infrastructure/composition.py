"""How is one running turnlog put together? Here, and nowhere else."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event
from time import monotonic
from types import TracebackType
from typing import Final, Self, TypeVar

from sqlalchemy import Connection, select

from domain.readiness import Policy
from infrastructure import clock
from infrastructure import tables as t
from infrastructure.arrivals import Arrivals
from infrastructure.command_handler import CommandHandler
from infrastructure.commit import Commit
from infrastructure.database import Database, open_database
from infrastructure.deltas import Deltas
from infrastructure.event_log import EventLog
from infrastructure.feeds import Feeds
from infrastructure.followers.following import Following, followers
from infrastructure.harness.memory import MachineMemory, Memory
from infrastructure.hosting.counting import Counting
from infrastructure.hosting.live_pool import LivePool
from infrastructure.lanes.resolving import Lanes
from infrastructure.runner import Attempt, Runner, Work
from infrastructure.settings import Settings

Answer = TypeVar("Answer")
_LOOK_S: Final = 0.05


@dataclass(slots=True)
class Written:
    """How much was written by requests since the start: counts for an operator.

    Attributes:
        retired: Ended sessions that were deleted since they are kept no longer.
        pruned: Lanes that were given up since nothing came for long.
    """

    appends: int = 0
    events: int = 0
    commits: int = 0
    retired: int = 0
    pruned: int = 0
    _newest: Commit | None = None

    def note(self, commit: Commit | None, events: int) -> None:
        """Count what was committed; on the event loop only."""
        if commit is not None and events:
            self.appends += 1
            self.events += events
            self.commits += commit is not self._newest  # several appends may share one
            self._newest = commit


class Turnlog:
    """The log of one database, opened for reading and writing. Close it when done.

    Attributes:
        live_pool: The harnesses that this process keeps, if it keeps any.
        memory: What this process and its harnesses use of the machine's.
    """

    live_pool: LivePool | None = None
    memory: Memory = MachineMemory()

    def __init__(
        self, settings: Settings, database: Database, now: Callable[[], int] = clock.now
    ) -> None:
        self.settings: Final = settings
        self.database: Final = database
        self.now: Final = now
        self.log: Final = EventLog(database)
        self.runner: Final = Runner(database, threads=max(1, settings.pool_size // 2))
        self.handler: Final = CommandHandler(
            self.log,
            now,
            unverified_turns=settings.allow_unverified_turns,
            require_agreement=settings.require_agreement,
            spawning_tools=settings.spawning_tools,
        )
        self.lanes: Final = Lanes(self.handler, self.log)
        self.arrivals: Final = Arrivals()
        self.deltas: Final = Deltas()
        self.following: Final = Following(
            database, self.runner, followers(search=settings.search), now
        )
        self.arrivals.ring(self.following.bell)
        self.written: Final = Written()
        self.counting: Final = Counting()
        self.stopping: Final = Event()
        self.feeds: Final = Feeds(self.arrivals)
        self._readers: Final = ThreadPoolExecutor(settings.pool_size, thread_name_prefix="reader")

    async def write(self, work: Work[Answer]) -> Answer:
        """Have `work` run in a write transaction; wait for its commit without blocking the loop."""
        wrote: set[tuple[str, str]] = set()
        events = 0
        commit: Commit | None = None

        def noted(attempt: Attempt) -> Answer:
            nonlocal events, commit
            commit = attempt.commit
            before = commit.events
            answer = work(attempt)
            events = commit.events - before
            wrote.update(commit.sessions)
            return answer

        answer = await asyncio.wrap_future(self.runner.submit(noted))
        self.arrivals.announce(wrote)
        self.written.note(commit, events)
        return answer

    def stop(self) -> None:
        """Have every stream end; what is being written is still finished."""
        self.stopping.set()
        self.feeds.nudge_all()

    async def pause(self, seconds: float) -> bool:
        """Wait so long; False, and at once, if the server stops before that is over."""
        deadline = monotonic() + seconds
        while not self.stopping.is_set():
            left = deadline - monotonic()
            if left <= 0:
                return True
            await asyncio.sleep(min(left, _LOOK_S))
        return False

    async def read(self, look: Callable[[Connection], Answer], *, long: bool = False) -> Answer:
        """Return what `look` sees in one moment of the database.

        SQLite answers at once, on the event loop, which is quicker than to change threads; what can
        be `long` there has a thread of its own, as everything has on PostgreSQL.
        """
        if self.database.kind == "sqlite" and not long:
            return self.read_now(look)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self.read_now, look)

    def read_now(self, look: Callable[[Connection], Answer]) -> Answer:
        """Return what `look` sees in one moment of the database."""
        with self.database.read() as connection:
            return look(connection)

    def policy(self, known_after: int) -> Policy:
        """Return what readiness asks for, given the position at the last restore."""
        return Policy(
            unverified_turns=self.settings.allow_unverified_turns,
            known_after=known_after,
            require_agreement=self.settings.require_agreement,
        )

    def known_after(self, connection: Connection) -> int:
        """Return the position at the last restore; 0 if there was none."""
        return int(connection.execute(select(t.store.c.known_after)).scalar_one())

    def close(self) -> None:
        """Finish what was submitted and let go of the database."""
        self.following.stop()
        self.runner.close()
        self._readers.shutdown()
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def open_turnlog(settings: Settings, now: Callable[[], int] = clock.now) -> Turnlog:
    """Open the database that the settings name, creating an embedded one that is absent.

    Raises:
        UnfitDatabase: with what mends it.
    """
    database = open_database(
        settings.database_url,
        pool_size=settings.pool_size,
        allow_unsafe=settings.allow_unsafe_durability,
        create=settings.embedded,
    )
    return Turnlog(settings, database, now)
