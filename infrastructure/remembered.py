"""What does this process still know of a session from its own last commit?

What a look-up would find: only the newest of what every append asks for. On SQLite it holds while
nobody else wrote: another process moves `PRAGMA data_version`, other work of this one is counted;
what was undone is forgotten together with everything else. On PostgreSQL anybody may have written:
what is decided on it is written, or refused, only if the head's last writer is still the one that
is remembered.
"""

from collections.abc import Callable
from threading import Lock
from typing import Final, NamedTuple

from sqlalchemy import Connection

from domain.recorded import ProducerStamp
from domain.state import Head, Placed, State, Tail, Turn
from infrastructure.prepared import run_driver

SESSIONS: Final = 1_000
PRODUCERS: Final = 16
TAIL: Final = 32 * 1024
"""A last message that says more, in characters or bytes, is looked up again."""


class Remembered(NamedTuple):
    """A session's head, and what belongs to its end.

    Attributes:
        turn: The turn that has not ended, if it is known.
        message: The last message, with what it is made of in `tail`, if both are known.
        producers: The last batch of some producers.
        writer: The id of the transaction that wrote it, on PostgreSQL.
    """

    key: int
    head: Head
    turn: Turn | None = None
    message: Placed | None = None
    tail: Tail | None = None
    producers: dict[str, ProducerStamp] = {}  # noqa: RUF012 - never changed, always replaced
    writer: int = 0


class Memory:
    """Sessions by project and id; on SQLite with what the open transaction wrote.

    Attributes:
        epochs: The epoch of a producer, by project and producer.
    """

    def __init__(self, written: Callable[[], int]) -> None:
        """Take what counts the transactions that this process has begun, on SQLite."""
        self.epochs: Final[dict[tuple[str, str], int]] = {}
        self._lock: Final = Lock()
        self._written: Final = written
        self._sessions: Final[dict[tuple[str, str], Remembered]] = {}
        self._holds: tuple[object, int, int] | None = None

    def begin(self, connection: Connection) -> None:
        """Forget everything unless the transaction follows the last one that was remembered."""
        driver = connection.connection.driver_connection
        (version,) = run_driver(connection, "PRAGMA data_version").fetchone()
        written = self._written()
        if self._holds != (driver, version, written - 1):
            self.clear()
        self._holds = (driver, version, written)

    def find(self, project_id: str, session_id: str) -> Remembered | None:
        """Return what is known of a session."""
        return self._sessions.get((project_id, session_id))

    def keep(
        self, project_id: str, session_id: str, key: int, state: State, seen: int, writer: int = 0
    ) -> None:
        """Keep a session as it was just written, by whoever had seen it at version `seen`."""
        with self._lock:
            before = self._sessions.pop((project_id, session_id), None)
            if before is not None and before.head.version > state.head.version:
                self._sessions[project_id, session_id] = before  # committed later, and came first
                return
            if len(self._sessions) >= SESSIONS:
                del self._sessions[next(iter(self._sessions))]
            if before is not None and before.head.version != seen:
                before = None  # somebody else wrote between, of whom nothing is known
            self._sessions[project_id, session_id] = _remembered(key, state, before, writer)

    def keep_epoch(self, project_id: str, producer_id: str, epoch: int) -> None:
        """Keep the epoch of a producer."""
        with self._lock:
            if len(self.epochs) >= SESSIONS:
                self.epochs.clear()
            self.epochs[project_id, producer_id] = epoch

    def forget(self, project_id: str, session_id: str) -> None:
        """Forget a session, and every epoch."""
        with self._lock:
            self._sessions.pop((project_id, session_id), None)
            self.epochs.clear()

    def sessions(self) -> list[tuple[tuple[str, str], Remembered]]:
        """Return what is known of each session, by project and id."""
        with self._lock:
            return [*self._sessions.items()]

    def forget_if(self, name: tuple[str, str], known: Remembered) -> bool:
        """Forget a session if nothing else is known of it meanwhile; tell whether it was so."""
        with self._lock:
            if self._sessions.get(name) is not known:
                return False
            del self._sessions[name]
            return True

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._sessions.clear()
            self.epochs.clear()


def _remembered(key: int, state: State, before: Remembered | None, writer: int) -> Remembered:
    head, producers = state.head, state.producers
    if before is not None and before.producers.keys() - producers.keys():
        producers = before.producers | producers
    # Only what looked the tail up has any of its pieces.
    known = head.tail_open and 0 < _size(state.tail) <= TAIL
    return Remembered(
        key,
        head,
        None if head.turn_id is None else state.turns.get(head.turn_id),
        state.messages.get(head.tip) if known else None,
        state.tail if known else None,
        producers if len(producers) <= PRODUCERS else {},
        writer,
    )


def _size(tail: Tail) -> int:
    """Return about how much a message says; what has members of its own says too much."""
    said = (value for piece in tail.pieces for value in piece.part.values())
    return sum(map(_length, said))


def _length(value: object) -> int:
    if isinstance(value, str | bytes):
        return len(value) + 1
    return TAIL + 1 if isinstance(value, dict | list | tuple) else 1
