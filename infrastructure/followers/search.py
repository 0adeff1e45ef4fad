"""How does `search` follow the log? A row for each text that can be found, and its words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, bindparam, delete, func, select

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
    )

    def begin(self, connection: Connection, generation: int) -> None:
        """Make an empty index."""
        index.begin(connection, generation)

    def fold(self, facts: Sequence[Found]) -> Write:
        """Take the texts out of the facts; a partial message gives way to its successor."""
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
            first = _next_document(connection, generation)
            rows = list(enumerate(kept, first))
            _INSERT.many(connection, [_row(generation, number, text) for number, text in rows])
            index.add(connection, generation, [(number, text.lexemes) for number, text in rows])

        return write

    def remove(self, connection: Connection, generation: int, limit: int) -> bool:
        """Remove the texts of the next sessions; the index goes first. See `Follower`."""
        index.drop(connection, generation)
        return remove_sessions(connection, t.search_documents, generation, limit)


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
