"""Where has something been said? The newest first, each text at most once.

The index proposes, the text itself decides. How much is looked at for one answer is bounded: a
page can have fewer texts than asked for, and says where to go on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Row, TextClause, select, text
from sqlalchemy.exc import DBAPIError

from infrastructure import tables as t
from infrastructure.followers import search_index as index
from infrastructure.followers import tracking
from infrastructure.serialization import decode
from projections.search import Document, Snippet, Term, documents, find

VIEW: Final = "search"
PROPOSED: Final = 100
LOOKED_AT: Final = 1_000
_NEWEST: Final = 2**62
_D: Final = t.search_documents.c
# The name of the transcript's message that a text is in, if it is in one of its role.
_MESSAGE_ID: Final = (
    "(SELECT CASE WHEN m.role = d.role AND m.turn_id = e.turn_id THEN m.message_id END "
    "FROM messages m WHERE m.session_key = d.session_key AND m.version <= d.version "
    "AND (m.version < d.version OR m.item <= d.item) "
    'ORDER BY m.version DESC, m."index" DESC LIMIT 1) AS message_id'
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
            hit = _hit(row, query)
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
    # What is shown of a text is joined only once it is known which few are shown.
    return text(
        "SELECT d.*, e.type, e.schema, e.turn_id, b.body, "  # noqa: S608 - made of constants
        f"{_MESSAGE_ID} FROM ("
        "SELECT d.document, d.session_key, d.version, d.item, d.position, d.role, d.at, "
        f"s.session_id FROM {name} i "
        f"{join} search_documents d ON d.generation = :generation AND d.document = {proposed} "
        "JOIN streams s ON s.session_key = d.session_key "
        "JOIN heads h ON h.session_key = d.session_key "
        f"WHERE {matches} AND {proposed} < :below "
        "AND s.project_id = :project_id AND h.status <> 'deleted' "
        f"{''.join(f'AND {each} ' for each in filters)}"
        f"ORDER BY {proposed} DESC LIMIT :most) d "
        "JOIN events e ON e.session_key = d.session_key AND e.version = d.version "
        "LEFT JOIN bodies b ON b.session_key = d.session_key AND b.version = d.version "
        "ORDER BY d.document DESC"
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


def _hit(row: Row[Any], query: SearchQuery) -> Hit | None:
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
        message_id=row.message_id,
        snippet=snippet,
    )


def _document(row: Row[Any]) -> Document | None:
    body = None if row.body is None else bytes(row.body)
    found = documents(decode(row.type, row.schema, body))
    return next((each for each in found if each.item == row.item), None)
