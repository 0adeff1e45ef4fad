"""From where does a command read lanes? As of sessions: the database, or a server."""

from collections.abc import Iterator
from typing import Protocol

from api.cli.wanted import LaneWanted, PruneWanted, ResolveWanted


class LaneSource(Protocol):
    """Where lanes are read from; every answer is one JSON document."""

    def find(self, wanted: LaneWanted) -> Iterator[bytes]:
        """Yield lanes, newest activity first."""
        ...

    def read(self, lane_id: str) -> bytes:
        """Return a lane, whatever became of it."""
        ...

    def sessions(self, lane_id: str) -> Iterator[bytes]:
        """Yield the sessions that it has or had, the newest first."""
        ...

    def events(self, lane_id: str, after: int) -> Iterator[bytes]:
        """Yield its facts after a version, the first one first."""
        ...

    def resolve(self, wanted: ResolveWanted) -> bytes:
        """Return which session a source has; open one if need be."""
        ...

    def reset(self, lane_id: str, *, interrupt: bool) -> bytes:
        """Begin a new session; return it, and what was stopped for it."""
        ...

    def purge(self, lane_id: str, *, dry_run: bool) -> bytes:
        """Destroy what is known of a lane, or tell what would go."""
        ...

    def prune(self, wanted: PruneWanted) -> bytes:
        """Give up lanes that rest, or tell which would go."""
        ...
