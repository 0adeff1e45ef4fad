"""What did a session look like at a version, besides what the event changed?"""

from typing import Final

from api.cli.source import Source

NEWEST: Final = 5


class Then:
    """One session, asked as of a version."""

    def __init__(self, found: Source, session_id: str) -> None:
        self._source: Final = found
        self._session_id: Final = session_id

    def messages(self, version: int, newest: int = NEWEST) -> list[bytes]:
        """Return the transcript's newest messages as they stood."""
        return list(
            self._source.messages(self._session_id, at=str(version), newest=newest, archived=True)
        )

    def readiness(self, version: int) -> bytes:
        """Return whether a client could have sent its newest message alone."""
        return self._source.readiness(self._session_id, at=str(version))
