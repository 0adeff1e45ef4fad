"""How does `search` follow the log? A row for each text that can be found, and its words."""

import logging
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, bindparam, delete, func, select
from sqlalchemy.exc import DBAPIError

from infrastructure import tables as t
from infrastructure.followers import search_index as index
from infrastructure.followers.follower import Write
from infrastructure.followers.usage import remove_sessions
from infrastructure.mapper import recorded_of
from infrastructure.prepared import Prepared
from infrastructure.reading.facts import fact_at
from infrastructure.reading.whole_log import Found
from projections.search import FOLD_VERSION, Document, documents

_D: Final = t.search_documents.c
_LOGGER: Final = logging.getLogger("turnlog")
_INSERT: Final = Prepared(lambda _: t.search_documents.insert())
_NAMED: Final = Prepared(
    lambda _: (
        select(t.search_documents, t.streams.c.project_id)
        .join_from(
            t.search_documents,
            t.streams,
            t.streams.c.session_key == t.search_documents.c.session_key,
        )
        .where(
            _D.generation == bindparam("generation"),
            _D.session_key == bindparam("session_key"),
            _D.message_id == bindparam("message_id"),
        )
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """A document, where it is from, and what the index keeps of it."""

    found: Found
    document: Document
    lexemes: Sequence[str]

    @property
    def name(self) -> tuple[int, str] | None:
        """What a later document that replaces it is called by."""
        message_id = self.document.message_id
        return None if message_id is None else (self.found.session_key, message_id)


class SearchFollower:
    """Keeps `search_documents` and the index; see `Follower`."""

    name = "search"
    fold_version = FOLD_VERSION
    types: Sequence[str] = (
        "message-recorded",
        "tool-call-completed",
        "tool-call-requested",
        "turn-started",
        "session-purged",
    )

    whole = True

    def begin(self, connection: Connection, generation: int) -> None:
        """Make an empty index."""
        index.begin(connection, generation)

    def fold(self, facts: Sequence[Found]) -> Write:
        """Take the texts out of the facts; a partial message gives way to its successor.

        Of a session that is purged meanwhile nothing is written; what was, goes.
        """
        purged = [f for f in facts if f.stored.envelope.type == "session-purged"]
        texts = list(_texts(facts))
        newest = {text.name: text for text in texts if text.name is not None}
        kept = [
            text
            for text in texts
            if not text.document.partial or text.name is None or newest[text.name] is text
        ]

        def write(connection: Connection, generation: int) -> None:
            for session_key, message_id in newest:
                _replace(connection, generation, session_key, message_id)
            if connection.dialect.name == "postgresql":  # another may have written meanwhile
                for found in purged:
                    remove_texts(connection, found.session_key, 0, found.stored.envelope.version)
            gone = _purged(connection, {text.found.session_key for text in kept})
            told = [text for text in kept if text.found.session_key not in gone]
            first = _next_document(connection, generation)
            rows = list(enumerate(told, first))
            _INSERT.many(connection, [_row(generation, number, text) for number, text in rows])
            index.add(connection, generation, [(number, text.lexemes) for number, text in rows])

        return write

    def remove(self, connection: Connection, generation: int, limit: int) -> bool:
        """Remove the texts of the next sessions; the index goes first. See `Follower`."""
        index.drop(connection, generation)
        return remove_sessions(connection, t.search_documents, generation, limit)


def remove_texts(connection: Connection, session_key: int, after: int, through: int) -> int:
    """Remove what can be found of a session's facts between two versions; return how many texts.

    In every generation. While their bodies are there: SQLite's index wants to be told the words.
    """
    f = t.followers.c
    generations = select(f.generation).where(f.follower == SearchFollower.name)
    return sum(
        _remove(connection, generation, session_key, (after, through))
        for generation in connection.execute(generations).scalars().all()
    )


def _remove(
    connection: Connection, generation: int, session_key: int, between: tuple[int, int]
) -> int:
    ours = select(t.events.c.position).where(
        t.events.c.session_key == session_key,
        t.events.c.version > between[0],
        t.events.c.version <= between[1],
    )
    mine = (_D.generation == generation, _D.position.in_(ours))
    rows = connection.execute(select(_D.document, _D.version, _D.item).where(*mine)).all()
    if not rows:
        return 0
    numbers = {(row.version, row.item): row.document for row in rows}
    try:
        with connection.begin_nested():
            for place, lexemes in _words(connection, session_key, numbers):
                index.remove(connection, generation, numbers[place], lexemes)
    except DBAPIError as error:  # an index that is broken is made anew, without them
        _LOGGER.warning("texts stay in a broken index: %s", type(error).__qualname__)
    connection.execute(delete(t.search_documents).where(*mine))
    return len(rows)


def _words(
    connection: Connection, session_key: int, places: Collection[tuple[int, int]]
) -> Iterator[tuple[tuple[int, int], Sequence[str]]]:
    """Yield the lexemes of texts by their versions and items; PostgreSQL's index wants none."""
    if connection.dialect.name == "postgresql":
        for place in places:
            yield place, ()
        return
    of = select(t.streams.c.project_id).where(t.streams.c.session_key == session_key)
    project_id = str(connection.execute(of).scalar_one())
    for version in sorted({version for version, _ in places}):
        fact = fact_at(connection, session_key, version)
        for document in documents(fact) if fact is not None else ():
            place = (version, document.item)
            if place in places:
                yield place, _lexemes(document, project_id, session_key)


def _purged(connection: Connection, keys: Collection[int]) -> Collection[int]:
    purged = select(t.heads.c.session_key).where(
        t.heads.c.session_key.in_(keys), t.heads.c.status == "purged"
    )
    return connection.execute(purged).scalars().all() if keys else ()


def _texts(facts: Sequence[Found]) -> Iterator[_Text]:
    for found in facts:
        envelope = found.stored.envelope
        for document in documents(recorded_of(found.stored).event):
            lexemes = _lexemes(document, envelope.project_id, found.session_key)
            yield _Text(found=found, document=document, lexemes=lexemes)


def _lexemes(document: Document, project_id: str, session_key: int) -> list[str]:
    return [
        index.of_project(project_id),
        index.of_session(session_key),
        index.of_role(document.role),
        *document.lexemes(),
    ]


def _replace(connection: Connection, generation: int, session_key: int, message_id: str) -> None:
    """Remove the partial texts of this name."""
    params = {"generation": generation, "session_key": session_key, "message_id": message_id}
    for row in _NAMED.run(connection, params):
        fact = fact_at(connection, session_key, row.version)
        for document in documents(fact) if fact is not None else ():
            if document.item == row.item:
                lexemes = _lexemes(document, row.project_id, session_key)
                index.remove(connection, generation, row.document, lexemes)
        connection.execute(
            delete(t.search_documents).where(
                _D.generation == generation, _D.document == row.document
            )
        )


def _next_document(connection: Connection, generation: int) -> int:
    newest = select(func.max(_D.document)).where(_D.generation == generation)
    return int(connection.execute(newest).scalar_one() or 0) + 1


def _row(generation: int, number: int, text: _Text) -> dict[str, object]:
    envelope = text.found.stored.envelope
    return {
        "generation": generation,
        "document": number,
        "session_key": text.found.session_key,
        "version": envelope.version,
        "item": text.document.item,
        "position": text.found.stored.position,
        "role": text.document.role,
        "at": envelope.occurred_at or envelope.recorded_at,
        "message_id": text.document.message_id if text.document.partial else None,
    }
