"""How do chunks that are not stored come to who follows their session in this process?

Each follower has an inbox, which is bounded: who reads slowly loses deltas, and is told how many,
but never an event. A delta says after which version it was sent, so that it is shown there.
"""

from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Final, NamedTuple

from infrastructure.arrivals import Name

MOST: Final = 1_000
MOST_BYTES: Final = 1024 * 1024


class Delta(NamedTuple):
    """A chunk of a turn.

    Attributes:
        version: The session's when it was sent.
        data: Its JSON.
        shared: The frame that shows it, once somebody made it for all followers.
        lost: How many before it were not kept for this follower.
    """

    version: int
    turn_id: str
    data: bytes
    shared: list[bytes]
    lost: int = 0


class Inbox:
    """What waits for one follower; filled from any thread."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake: Final = wake
        self._lock: Final = Lock()
        self._waiting: Final[deque[Delta]] = deque()
        self._size = 0
        self._lost = 0

    def put(self, deltas: Sequence[Delta]) -> None:
        """Keep deltas for the follower, as many of the newest as there is room for."""
        with self._lock:
            self._waiting.extend(deltas)
            self._size += sum(len(delta.data) for delta in deltas)
            while len(self._waiting) > MOST or self._size > MOST_BYTES:
                gone = self._waiting.popleft()
                self._size -= len(gone.data)
                self._lost += 1
        self._wake()

    def take(self, version: int) -> list[Delta]:
        """Return what was sent up to this version of the session, in order; it waits no longer."""
        taken: list[Delta] = []
        with self._lock:
            while self._waiting and self._waiting[0].version <= version:
                delta = self._waiting.popleft()
                self._size -= len(delta.data)
                taken.append(delta._replace(lost=self._lost) if self._lost else delta)
                self._lost = 0
        return taken

    def is_empty(self) -> bool:
        """Tell whether nothing waits."""
        return not self._waiting

    def newest(self) -> int:
        """Return the version at which the last of what waits was sent; 0 if nothing does."""
        with self._lock:
            return self._waiting[-1].version if self._waiting else 0


class Deltas:
    """The inboxes of this process, by session."""

    def __init__(self) -> None:
        self._inboxes: Final[dict[Name, set[Inbox]]] = {}

    @contextmanager
    def listen(self, name: Name, wake: Callable[[], None]) -> Generator[Inbox]:
        """Give an inbox for the session (project id, session id)."""
        inbox = Inbox(wake)
        self._inboxes.setdefault(name, set()).add(inbox)
        try:
            yield inbox
        finally:
            inboxes = self._inboxes[name]
            inboxes.discard(inbox)
            if not inboxes:
                del self._inboxes[name]

    def send(self, name: Name, version: int, turn_id: str, deltas: Sequence[bytes]) -> None:
        """Have who follows the session get the JSON of these chunks; from any thread."""
        inboxes = tuple(self._inboxes.get(name, ()))
        if inboxes:
            found = [Delta(version, turn_id, data, []) for data in deltas]
            for inbox in inboxes:
                inbox.put(found)
