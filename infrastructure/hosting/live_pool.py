"""What does this process itself know of the harnesses that it keeps?

The log tells of the seats of every process; this tells which of them are here, and how full it is.
"""

from collections.abc import Sequence
from typing import Protocol


class LiveCounts(Protocol):
    """How full a pool is."""

    @property
    def capacity(self) -> int:
        """Return how many seats there are at most."""
        ...

    @property
    def busy(self) -> int:
        """Return how many a turn has."""
        ...

    @property
    def idle(self) -> int:
        """Return how many wait for a turn."""
        ...

    @property
    def awaiting_approval(self) -> int:
        """Return how many wait for a decision."""
        ...

    @property
    def ending(self) -> int:
        """Return how many are let go and have not ended."""
        ...

    @property
    def waiting(self) -> int:
        """Return how many turns wait for room."""
        ...


class LiveSeat(Protocol):
    """A seat that is here."""

    @property
    def seat_id(self) -> str:
        """Return its id, as the log has it."""
        ...


class LivePool(Protocol):
    """The seats of one process, in memory."""

    def counts(self) -> LiveCounts:
        """Return how full it is."""
        ...

    def seats(self) -> Sequence[LiveSeat]:
        """Return every seat that is not gone."""
        ...
