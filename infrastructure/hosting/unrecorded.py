"""What of a turn is not in the log yet, and when is it to be?

Facts in the order in which they happened, the message that is under way, and notes and titles, of
which only the newest of a kind counts.
"""

from collections.abc import Callable, Iterator
from typing import Final

from domain import events as e
from domain.events import SessionEvent
from domain.raw_json import RawJson
from infrastructure.harness.port import Said, Shown
from infrastructure.hosting.spoken import Spoken

WAIT_MS: Final = 2_000
"""A fact waits so long for others to be recorded with."""
MOST_EVENTS: Final = 100
MOST_BYTES: Final = 2**20


class Unrecorded:
    """What one turn has for the log."""

    def __init__(self, turn_id: str, mint: Callable[[], str], clock: Callable[[], float]) -> None:
        """Take what makes up the id of a message that is recorded before it is whole."""
        self._turn_id: Final = turn_id
        self._mint: Final = mint
        self._clock: Final = clock
        self._events: list[SessionEvent] = []
        self._bytes = 0
        self._since: float | None = None
        self._spoken: Spoken | None = None
        self._joins = False
        self._notes: Final[dict[str, RawJson]] = {}
        self._noted: Final[dict[str, RawJson]] = {}
        self._title: str | None = None
        self._called: str | None = None

    @property
    def speaks(self) -> bool:
        """Tell whether a message is under way."""
        return self._spoken is not None

    @property
    def is_full(self) -> bool:
        """Tell whether it is so much that it has to be recorded now."""
        large = self._spoken is not None and self._spoken.is_large
        return large or len(self._events) >= MOST_EVENTS or self._bytes >= MOST_BYTES

    @property
    def due(self) -> float | None:
        """Return when it is to be recorded at the latest; None if there is nothing to record."""
        waiting = None if self._since is None else self._since + WAIT_MS
        partial = None if self._spoken is None else self._spoken.partial_due
        return min((at for at in (waiting, partial) if at is not None), default=None)

    def add(self, event: SessionEvent, size: int = 0) -> None:
        """Take a fact, after all those before; `size` is about how long it is, if it is long."""
        match event:
            case e.MessageRecorded() | e.ToolCallRequested() | e.GateOpened():
                self._joins = True
            case e.ToolCallCompleted():
                self._joins = False
            case _:
                pass
        self._events.append(event)
        self._bytes += size
        self._since = self._clock() if self._since is None else self._since

    def go_on(self) -> None:
        """Take the last message of the transcript for one that the agent may still be at."""
        self._joins = True

    def heard(self) -> None:
        """Begin a message of its own from now on: somebody else said something."""
        self._joins = False

    def say(self, piece: Said | Shown) -> None:
        """Take a piece of a message; one of another message ends the one before."""
        if self._spoken is not None and not self._spoken.takes(piece):
            self.end_message()
        if self._spoken is None:
            self._spoken = Spoken(self._clock(), begins=not self._joins)
        self._spoken.add(piece, self._clock())

    def end_message(self) -> None:
        """Take the message that is under way for whole."""
        spoken, self._spoken = self._spoken, None
        if spoken is not None:
            said = e.MessageRecorded(turn_id=self._turn_id, message=spoken.whole())
            self.add(said, spoken.size)

    def note(self, kind: str, data: RawJson) -> bool:
        """Take a note in the place of the one before of its kind; False if it says the same."""
        known = self._notes.get(kind, self._noted.get(kind))
        if known is not None and known.parsed() == data.parsed():
            return False
        self._notes[kind] = data
        self._since = self._clock() if self._since is None else self._since
        return True

    def call(self, title: str | None) -> None:
        """Take a title of the session in the place of the one before; None is none."""
        if title is not None and title != self._called:
            self._title = self._called = title
            self._since = self._clock() if self._since is None else self._since

    def drain(self) -> tuple[SessionEvent, ...]:
        """Return what is to be recorded now: also a message so far, if it takes long."""
        spoken = self._spoken
        due = None if spoken is None else spoken.partial_due
        if spoken is not None and due is not None and (due <= self._clock() or spoken.is_large):
            so_far = spoken.so_far(self._mint)
            self._events.append(e.MessageRecorded(turn_id=self._turn_id, message=so_far))
        events = (*self._events, *self._drained_notes(), *self._drained_title())
        self._events, self._bytes, self._since = [], 0, None
        return events

    def _drained_notes(self) -> Iterator[e.DataRecorded]:
        for kind, data in self._notes.items():
            self._noted[kind] = data
            yield e.DataRecorded(kind=kind, data=data, turn_id=self._turn_id)
        self._notes.clear()

    def _drained_title(self) -> Iterator[e.SessionRenamed]:
        title, self._title = self._title, None
        if title is not None:
            yield e.SessionRenamed(title=title, by="harness")
