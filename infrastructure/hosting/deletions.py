"""Which sessions are about to be deleted here? Nothing begins in them meanwhile.

A mark lasts as long as whoever deletes is at it, whatever that comes to: it is never left behind.
"""

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from domain.refusals import SessionDeleting
from infrastructure.pool.seats import SeatKey


class Deletions:
    """The marks of one server: on sessions, and on whole projects."""

    def __init__(self) -> None:
        """Begin with none."""
        self._marks: Final[Counter[SeatKey | str]] = Counter()

    @contextmanager
    def mark(self, of: SeatKey | str) -> Generator[None]:
        """Have a session, or all of a project's by its id, be marked within the block."""
        self._marks[of] += 1
        try:
            yield
        finally:
            self._marks[of] -= 1
            if not self._marks[of]:
                del self._marks[of]

    def covers(self, key: SeatKey) -> bool:
        """Tell whether a session is about to be deleted."""
        return bool(self._marks) and (key in self._marks or key.project_id in self._marks)

    def check(self, key: SeatKey) -> None:
        """Refuse to begin anything in a session that is about to be deleted.

        Raises:
            SessionDeleting: it is.
        """
        if self.covers(key):
            raise SessionDeleting
