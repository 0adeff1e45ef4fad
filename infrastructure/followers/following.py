"""Who keeps the async views up to date, and how does a reader wait until one is?

One thread of a serving process takes the followers' steps: woken by this process's own commits, and
by looking now and then for those of others. What fails is tried again, ever more rarely, and harms
neither the other followers nor any writer.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Condition, Event, Thread
from time import monotonic
from typing import Final, TypeAlias
from uuid import uuid4

from infrastructure.database import Database
from infrastructure.followers import tracking
from infrastructure.followers.errors import ErrorsFollower
from infrastructure.followers.follower import Follower
from infrastructure.followers.search import SearchFollower
from infrastructure.followers.stepping import Stepped, Stepper
from infrastructure.followers.tracking import Lag, Standing
from infrastructure.followers.usage import UsageFollower
from infrastructure.reading.whole_log import visible_through
from infrastructure.runner import Runner

GAP_S: Final = 0.2
"""What is recorded within so long is taken together: a step costs the same for one fact or many."""
QUICK_S: Final = 0.02
SLOW_S: Final = 0.25
LOOK_S: Final = 0.005
LATEST_RETRY_S: Final = 30.0
_LOGGER: Final = logging.getLogger("turnlog")


Progress: TypeAlias = Callable[[int], None]


class StillBehindError(Exception):
    """The view did not come as far as it was waited for."""


def followers(*, search: bool) -> Sequence[Follower]:
    """Return the followers of this build."""
    always = (UsageFollower(), ErrorsFollower())
    return (*always, SearchFollower()) if search else always


@dataclass(slots=True)
class _Failing:
    """A follower that failed: when it is tried again."""

    again_at: float = 0.0
    wait_s: float = 0.5


class Following:
    """The followers of one open log. Stop it before the log is closed."""

    def __init__(
        self,
        database: Database,
        runner: Runner,
        wanted: Sequence[Follower],
        now: Callable[[], int],
    ) -> None:
        self._database: Final = database
        self._now: Final = now
        owner = uuid4().hex
        self._steppers: Final[Mapping[str, Stepper]] = {
            each.name: Stepper(database, runner, each, owner, now) for each in wanted
        }
        self._failing: Final[dict[str, _Failing]] = {}
        self._stopping: Final = Event()
        self._moved: Final = Condition()
        self._wanted: Final = Event()
        self._thread: Thread | None = None
        self.bell: Final = Event()
        """Rung when there may be something to do."""

    @property
    def names(self) -> Sequence[str]:
        """Return the followers' names."""
        return tuple(self._steppers)

    @property
    def errors(self) -> Mapping[tuple[str, str], int]:
        """Return how many errors this process has folded, by source and kind."""
        found = [s.follower for s in self._steppers.values()]
        nothing: dict[tuple[str, str], int] = {}
        return next((dict(f.counted) for f in found if isinstance(f, ErrorsFollower)), nothing)

    def failing(self, name: str) -> bool:
        """Tell whether a follower's last step in this process failed."""
        return name in self._failing

    def start(self) -> None:
        """Follow from now on, in a thread."""
        if self._thread is None:
            self._stopping.clear()
            self._thread = Thread(target=self._follow, name="followers", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop following; a step that was begun is finished."""
        self._stopping.set()
        self._wanted.set()
        self.bell.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def lags(self) -> Mapping[str, Lag]:
        """Return how far each view is behind."""
        now = self._now()
        with self._database.read() as connection:
            return {name: tracking.lag(connection, name, now) for name in self._steppers}

    def wait_for(self, name: str, position: int, timeout_s: float = 10.0) -> None:
        """Wait until a view has come as far as `position`; whoever takes it there.

        Raises:
            StillBehindError: it has not, in that time.
        """
        deadline = monotonic() + timeout_s
        while True:
            with self._moved:
                if self._position(name) >= position:
                    return
                if monotonic() >= deadline:
                    raise StillBehindError(name)
                self.hurry()
                self._moved.wait(LOOK_S)

    def hurry(self) -> None:
        """Have the next steps taken at once: somebody waits for them."""
        self._wanted.set()
        self.bell.set()

    def take_steps(self) -> Sequence[Stepped]:
        """Take a step with each view that is behind; one look tells which are."""
        wanted = [name for name in self._steppers if self._is_due(name)]
        try:
            with self._database.read() as connection:
                through, found = visible_through(connection), tracking.every(connection)
        except Exception as error:  # noqa: BLE001 - as a step
            for name in wanted:
                self._note(name, error)
            return ()
        return [self._step(name, found.get(name, ()), through) for name in wanted]

    def catch_up(self, name: str, progress: Progress = lambda _: None) -> None:
        """Take a view's steps until it has all that can be read now.

        Raises:
            SQLAlchemyError: a step failed.
        """
        with self._database.read() as connection:
            target = visible_through(connection)
        stepper = self._steppers[name]
        self._until(lambda: self._position(name) >= target, stepper.step, progress)

    def rebuild(self, name: str, progress: Progress = lambda _: None) -> None:
        """Fold a view anew beside the one that is read, swap, and clear away what it replaces.

        Raises:
            SQLAlchemyError: a step failed.
        """
        stepper = self._steppers[name]
        before = stepper.read_at()
        if before is None:
            self.catch_up(name, progress)
            return
        stepper.begin_again()

        def is_swapped() -> bool:
            read = stepper.read_at()
            return read is not None and read.generation > before.generation

        self._until(is_swapped, stepper.build, progress)
        self._until(lambda: not stepper.clear(), stepper.build, progress)

    def _until(
        self, is_done: Callable[[], bool], step: Callable[[], Stepped], progress: Progress
    ) -> None:
        steps = 0
        while not is_done():
            if step() == "elsewhere":
                self._stopping.wait(LOOK_S)
            steps += 1
            progress(steps)

    def _position(self, name: str) -> int:
        read = self._steppers[name].read_at()
        return -1 if read is None else read.position

    def _follow(self) -> None:
        pause = QUICK_S
        while not self._stopping.is_set():
            self.bell.clear()
            self._wanted.clear()
            states = self.take_steps()
            if "more" in states:
                pause = QUICK_S
                continue
            # What comes in quick succession is taken together, unless somebody waits for it.
            self._wanted.wait(GAP_S)
            pause = QUICK_S if self.bell.wait(pause) else min(pause * 2, SLOW_S)

    def _is_due(self, name: str) -> bool:
        failing = self._failing.get(name)
        return failing is None or monotonic() >= failing.again_at

    def _step(self, name: str, found: Sequence[Standing], through: int) -> Stepped:
        stepper = self._steppers[name]
        try:
            state = "done" if stepper.has_all(found, through) else stepper.step_from(found)
        except Exception as error:  # noqa: BLE001 - the edge of the thread: the others go on
            self._note(name, error)
            return "done"
        self._failing.pop(name, None)
        with self._moved:
            self._moved.notify_all()
        return state

    def _note(self, name: str, error: Exception) -> None:
        if self._stopping.is_set():
            return
        failing = self._failing.setdefault(name, _Failing())
        failing.wait_s = min(failing.wait_s * 2, LATEST_RETRY_S)
        failing.again_at = monotonic() + failing.wait_s
        kind = type(getattr(error, "orig", None) or error).__qualname__
        _LOGGER.warning("the view %s could not be brought up to date: %s", name, kind)
