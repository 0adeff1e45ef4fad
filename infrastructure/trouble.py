"""What keeps the database from doing what it was asked, where that is no defect of ours?

Told by the codes of the two databases, never by the words of an error.
"""

import sqlite3
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

Trouble: TypeAlias = Literal["full", "read-only", "busy", "away"]

_OF_SQLITE: Final[Mapping[int, Trouble]] = {
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_READONLY: "read-only",
    sqlite3.SQLITE_BUSY: "busy",
    sqlite3.SQLITE_LOCKED: "busy",
}
_OF_POSTGRESQL: Final[Mapping[str, Trouble]] = {
    "25006": "read-only",  # read_only_sql_transaction
    "25P03": "away",  # idle_in_transaction_session_timeout: the server hung up
    "25P04": "away",  # transaction_timeout: as 25P03
    "53100": "full",  # disk_full
    "55P03": "busy",  # lock_not_available
}


def trouble(error: Exception) -> Trouble | None:
    """Return what is wrong with the database; None if the error is a defect of ours."""
    if not isinstance(error, DBAPIError):
        return None
    cause = error.orig
    found: Trouble | None = None
    if isinstance(cause, sqlite3.Error):
        found = _OF_SQLITE.get(getattr(cause, "sqlite_errorcode", 0) & 0xFF)
    else:
        found = _OF_POSTGRESQL.get(str(getattr(cause, "sqlstate", "")))
    if found is None and isinstance(error, OperationalError | InterfaceError):
        return "away"
    return found
