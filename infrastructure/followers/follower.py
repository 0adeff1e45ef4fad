"""What is an async view to whoever keeps it up to date?"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from sqlalchemy import Connection

from infrastructure.reading.whole_log import Found

Write: TypeAlias = Callable[[Connection, int], None]
"""Writes the rows of a generation, in the transaction that moves its checkpoint."""


class Follower(Protocol):
    """A view that is folded from the whole log, in order, each fact once."""

    @property
    def name(self) -> str:
        """Its permanent name."""
        ...

    @property
    def fold_version(self) -> int:
        """Raised with every change of what it makes of a fact: older rows are folded anew."""
        ...

    @property
    def types(self) -> Sequence[str]:
        """The types of the facts that it wants."""
        ...

    @property
    def whole(self) -> bool:
        """Tell whether it reads also what is kept beside the facts' bodies."""
        ...

    def begin(self, connection: Connection, generation: int) -> None:
        """Make what a new generation needs."""
        ...

    def fold(self, facts: Sequence[Found]) -> Write:
        """Read facts, outside of any transaction; return what writes what comes of them."""
        ...

    def remove(self, connection: Connection, generation: int, limit: int) -> bool:
        """Remove some `limit` rows of a generation that nobody reads; True once nothing is left."""
        ...
