"""How does what works on a whole database work within one transaction of it?"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final, TypeVar

from sqlalchemy import Connection

from infrastructure.commit import Commit
from infrastructure.runner import Attempt, Work

Answer = TypeVar("Answer")


class Inside:
    """An open transaction in place of a database and of a runner."""

    def __init__(self, connection: Connection) -> None:
        self._connection: Final = connection

    @contextmanager
    def read(self) -> Generator[Connection]:
        """Give the transaction."""
        yield self._connection

    def run(self, work: Work[Answer]) -> Answer:
        """Have `work` run in the transaction."""
        return work(Attempt(Commit(self._connection), patient=True))
