"""Where has something been said? The newest first, each text at most once.

The index proposes, the text itself decides. How much is looked at for one answer is bounded: a
page can have fewer texts than asked for, and says where to go on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Row, TextClause, bindparam, select, text
from sqlalchemy.exc import DBAPIError

from infrastructure import tables as t
from infrastructure.followers import search_index as index
from infrastructure.followers import tracking
from infrastructure.prepared import Prepared
from infrastructure.serialization import decode
from projections.search import Document, Snippet, Term, documents, find

VIEW: Final = "search"
PROPOSED: Final = 100
LOOKED_AT: Final = 1_000
_NEWEST: Final = 2**62
_D: Final = t.search_documents.c
_M: Final = t.messages.c
_MESSAGE: Final = Prepared(
    lambda _: (
        select(_M.message_id, _M.role, _M.turn_id)
        .where(
            _M.session_key == bindparam("session_key"),
            _M.version <= bindparam("version"),
            (_M.version < bindparam("version")) | (_M.item <= bindparam("item")),
        )
        .order_by(_M.version.desc(), _M.index.desc())
        .limit(1)
    )
)


class IndexBrokenError(Exception):
    """The index is not there, or cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """What is looked for; `before` is the (position, item) of the last text before, exclusive.

    Attributes:
        first: Only what was said at this moment or later.
        last: Only what was said before this moment.
    """

    project_id: str
    terms: Sequence[Term]
    session_key: int | None = None
    role: str | None = None
    first: int | None = None
    last: int | None = None
    before: tuple[int, int] | None = None
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A text that was found, and where it stands."""

    session_id: str
    version: int
    item: int
    position: int
    at: int
    role: str
    turn_id: str | None
    message_id: str | None
    snippet: Snippet


@dataclass(frozen=True, slots=True)
class Hits:
    """A page of what was found; `more` is where to go on, or None at the end."""

    hits: Sequence[Hit]
    more: tuple[int, int] | None


def search(connection: Connection, query: SearchQuery) -> Hits:
    """Return a page of texts that have every term.

    Raises:
        IndexBrokenError: until it is built anew.
    """
    read = tracking.live(connection, VIEW)
    if read is None or not query.terms:
        return Hits((), None)
    statement = _statement(connection.dialect.name, read.generation, query)
    below = _below(connection, read.generation, query.before)
    hits: list[Hit] = []
    looked_at = 0
    most = query.limit  # more only if some of these turn out not to have what is looked for
    while True:
        params = _params(connection, read.generation, query, below) | {"most": most}
        proposed = _propose(connection, statement, params)
        for row in proposed:
            hit = _hit(connection, row, query)
            hits += [] if hit is None else [hit]
            if len(hits) == query.limit:
                return Hits(hits, (row.position, row.item))
        looked_at += len(proposed)
        if len(proposed) < most:
            return Hits(hits, None)
        if looked_at >= LOOKED_AT:
            return Hits(hits, (proposed[-1].position, proposed[-1].item))
        below = proposed[-1].document
        most = PROPOSED


def _propose(
    connection: Connection, statement: TextClause, params: dict[str, object]
) -> Sequence[Row[Any]]:
    try:
        return connection.execute(statement, params).all()
    except DBAPIError as error:
        if error.connection_invalidated:
            raise
        raise IndexBrokenError from error


def _statement(dialect: str, generation: int, query: SearchQuery) -> TextClause:
    name = index.name_of(generation)
    proposed, matches = (
        ("i.rowid", f"i.{name} MATCH :match")
        if dialect == "sqlite"
        else ("i.document", "i.lexemes @@ CAST(:match AS tsquery)")
    )
    filters = [
        condition
        for condition, value in (
            ("d.session_key = :session_key", query.session_key),
            ("d.role = :role", query.role),
            ("d.at >= :first", query.first),
            ("d.at < :last", query.last),
        )
        if value is not None
    ]
    # Crosswise, so that SQLite asks the index first; it is the one that leaves little.
    join = "CROSS JOIN" if dialect == "sqlite" else "JOIN"
    return text(
        "SELECT d.document, d.session_key, d.version, d.item, d.position, d.role, d.at, "  # noqa: S608 - made of constants
        "s.session_id, e.type, e.schema, e.turn_id, b.body "
        f"FROM {name} i "
        f"{join} search_documents d ON d.generation = :generation AND d.document = {proposed} "
        "JOIN streams s ON s.session_key = d.session_key "
        "JOIN heads h ON h.session_key = d.session_key "
        "JOIN events e ON e.session_key = d.session_key AND e.version = d.version "
        "JOIN bodies b ON b.session_key = d.session_key AND b.version = d.version "
        f"WHERE {matches} AND {proposed} < :below "
        "AND s.project_id = :project_id AND h.status <> 'deleted' "
        f"{''.join(f'AND {each} ' for each in filters)}"
        f"ORDER BY {proposed} DESC LIMIT :most"
    )


def _params(
    connection: Connection, generation: int, query: SearchQuery, below: int
) -> dict[str, object]:
    every = [index.of_project(query.project_id)]
    if query.session_key is not None:
        every.append(index.of_session(query.session_key))
    if query.role is not None:
        every.append(index.of_role(query.role))
    terms = [term.alternatives() for term in query.terms]
    return {
        "match": index.match(connection.dialect.name, every, terms),
        "below": below,
        "generation": generation,
        "project_id": query.project_id,
        "session_key": query.session_key,
        "role": query.role,
        "first": query.first,
        "last": query.last,
    }


def _below(connection: Connection, generation: int, before: tuple[int, int] | None) -> int:
    """Return the number that only documents before this place are below."""
    if before is None:
        return _NEWEST
    position, item = before
    statement = (
        select(_D.document)
        .where(
            _D.generation == generation,
            (_D.position > position) | ((_D.position == position) & (_D.item >= item)),
            _D.position >= position,
        )
        .order_by(_D.position, _D.item)
        .limit(1)
    )
    return connection.execute(statement).scalar_one_or_none() or _NEWEST


def _hit(connection: Connection, row: Row[Any], query: SearchQuery) -> Hit | None:
    document = _document(row)
    snippet = None if document is None else find(document.text, query.terms)
    if snippet is None:
        return None
    return Hit(
        session_id=row.session_id,
        version=row.version,
        item=row.item,
        position=row.position,
        at=row.at,
        role=row.role,
        turn_id=row.turn_id,
        message_id=_message_id(connection, row),
        snippet=snippet,
    )


def _document(row: Row[Any]) -> Document | None:
    found = documents(decode(row.type, row.schema, bytes(row.body)))
    return next((each for each in found if each.item == row.item), None)


def _message_id(connection: Connection, row: Row[Any]) -> str | None:
    """Return the name of the transcript's message that the text is in."""
    params = {"session_key": row.session_key, "version": row.version, "item": row.item}
    found = _MESSAGE.run(connection, params).first()
    if found is None or (found.role, found.turn_id) != (row.role, row.turn_id):
        return None
    return str(found.message_id)
