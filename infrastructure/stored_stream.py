"""What is stored of a session or a lane, fact by fact, in memory that does not grow with it?

As it lies in the tables: nothing is lifted or read, so that export, verification and rebuilding
see what there is and not what this build makes of it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnElement, Connection, func, select

from domain.recorded import GENESIS
from domain.refusals import NoSuchSession
from infrastructure import tables as t
from infrastructure.database import Readable
from infrastructure.mapper import StoredFact
from infrastructure.recorder import find_key, stream_facts

LANE: Final = "lane:"
"""What the stream of a lane is called begins so; no session's id can."""
IS_LANE: Final = t.streams.c.session_id.startswith(LANE, autoescape=True)
PAGE: Final = 128
"""Facts read at once: with each as large as one can be, still no more than some 100 MiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """One session's place in the log, or one lane's.

    Attributes:
        key: What names it in the tables.
        last: The version of its newest stored fact; 0 if there is none.
    """

    project_id: str
    session_id: str
    key: int
    last: int


def find_stream(connection: Connection, project_id: str, session_id: str) -> Stream:
    """Return where a session is.

    Raises:
        NoSuchSession: the log has no such session.
    """
    key = find_key(connection, project_id, session_id)
    if key is None:
        raise NoSuchSession
    return Stream(
        project_id=project_id, session_id=session_id, key=key, last=last_version(connection, key)
    )


def stream_of(connection: Connection, key: int) -> Stream:
    """Return the session that has this key in the tables."""
    row = connection.execute(select(t.streams).where(t.streams.c.session_key == key)).one()
    return Stream(
        project_id=row.project_id,
        session_id=row.session_id,
        key=key,
        last=last_version(connection, key),
    )


def streams(
    database: Readable, project_id: str | None = None, session_id: str | None = None
) -> Iterator[Stream]:
    """Yield each session of the log, or of a project, or the one, oldest first."""
    yield from _streams(database, ~IS_LANE, project_id, session_id)


def lane_streams(database: Readable, project_id: str | None = None) -> Iterator[Stream]:
    """Yield each lane of the log, or of a project, oldest first."""
    yield from _streams(database, IS_LANE, project_id)


def _streams(
    database: Readable,
    which: ColumnElement[bool],
    project_id: str | None = None,
    session_id: str | None = None,
) -> Iterator[Stream]:
    after = 0
    statement = select(t.streams).where(which).order_by(t.streams.c.session_key).limit(PAGE)
    if project_id is not None:
        statement = statement.where(t.streams.c.project_id == project_id)
    if session_id is not None:
        statement = statement.where(t.streams.c.session_id == session_id)
    while True:
        with database.read() as connection:
            page = [
                Stream(
                    project_id=row.project_id,
                    session_id=row.session_id,
                    key=row.session_key,
                    last=last_version(connection, row.session_key),
                )
                for row in connection.execute(statement.where(t.streams.c.session_key > after))
            ]
        yield from page
        if len(page) < PAGE:
            return
        after = page[-1].key


def last_version(connection: Connection, key: int) -> int:
    """Return the version of a session's newest stored fact; 0 if there is none."""
    newest = select(func.max(t.events.c.version)).where(t.events.c.session_key == key)
    return int(connection.execute(newest).scalar_one() or 0)


def hash_at(connection: Connection, key: int, version: int) -> bytes | None:
    """Return the stored hash of a session's fact; before the first stands the genesis."""
    if version == 0:
        return GENESIS
    found = connection.execute(
        select(t.events.c.hash).where(t.events.c.session_key == key, t.events.c.version == version)
    ).scalar_one_or_none()
    return None if found is None else bytes(found)


def stored_facts(connection: Connection, stream: Stream, *, after: int = 0) -> Iterator[StoredFact]:
    """Yield a session's stored facts after version `after`, oldest first, in one transaction."""
    return _paged(lambda start: _page(connection, stream, start), after)


def stored_pages(database: Readable, stream: Stream, *, after: int = 0) -> Iterator[StoredFact]:
    """Yield the same; no transaction is held open between pages."""

    def page_after(start: int) -> list[StoredFact]:
        with database.read() as connection:
            return _page(connection, stream, start)

    return _paged(page_after, after)


def _page(connection: Connection, stream: Stream, after: int) -> list[StoredFact]:
    names = (stream.project_id, stream.session_id, stream.key)
    return stream_facts(connection, names, gt=after, lte=stream.last, limit=PAGE)


def _paged(page_after: Callable[[int], list[StoredFact]], after: int) -> Iterator[StoredFact]:
    while True:
        page = page_after(after)
        yield from page
        if len(page) < PAGE:
            return
        after = page[-1].envelope.version
