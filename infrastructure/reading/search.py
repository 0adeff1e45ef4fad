"""Where has something been said? The newest first, each text at most once.

The index proposes, the text itself decides. How much is looked at for one answer is bounded: a
page can have fewer texts than asked for, and says where to go on. What a rewind took out of sight
stays in the index, and is passed over until a redo brings it back.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Row, TextClause, bindparam, select, text
from sqlalchemy.exc import DBAPIError

from domain.paths import FindBranch, Spot, turn_in_sight
from infrastructure import tables as t
from infrastructure.blobs import whole
from infrastructure.followers import search_index as index
from infrastructure.followers import tracking
from infrastructure.lanes.earlier import OF_NOW
from infrastructure.lineages import NOBODY, lineage_of
from infrastructure.reading.sight import finding
from infrastructure.serialization import decode
from projections.search import Document, Snippet, Term, documents, find

VIEW: Final = "search"
PROPOSED: Final = 100
LOOKED_AT: Final = 1_000
CHARACTERS_LOOKED_AT: Final = 2_000_000
RECENT: Final = 40
"""Where one of so many texts has the words, PostgreSQL finds them without its index."""
_NEWEST: Final = 2**62
_D: Final = t.search_documents.c
_PLACE: Final = (
    "d.document, d.session_key, d.version, d.item, d.position, d.role, d.at, s.session_id, "
    "h.turns <> h.started AS parted, h.branch, h.turn_tip, h.tip, h.base_version"
)
# The turn that a text is of, where there are turns out of sight.
_TURN: Final = (
    "(CASE WHEN d.parted THEN (SELECT x.number FROM turns x WHERE x.session_key = d.session_key "
    "AND x.turn_id = e.turn_id) END) AS turn_number"
)
# The last one, of every 16th message, that begins at or before a text: they have an index.
_NEAR: Final = (
    '(SELECT n."index" FROM messages n WHERE n.session_key = d.session_key '
    "AND n.version <= d.version AND (n.version < d.version OR n.item <= d.item) "
    'AND (n."index" & 15) = 0 ORDER BY n.version DESC, n."index" DESC LIMIT 1)'
)
# Those of a fork do not begin with the first.
_FROM: Final = (
    f'coalesce({_NEAR}, (SELECT f."index" FROM messages f WHERE f.session_key = d.session_key '  # noqa: S608
    'ORDER BY f."index" LIMIT 1))'
)
# The name of the transcript's message that a text is in, if it is in one of its role.
_MESSAGE_ID: Final = (
    "(SELECT CASE WHEN m.role = d.role AND m.turn_id = e.turn_id THEN "  # noqa: S608 - made of constants
    "CASE WHEN m.named THEN m.message_id ELSE m.turn_id || m.message_id END END "
    f'FROM messages m WHERE m.session_key = d.session_key AND m."index" >= {_FROM} '
    f'AND m."index" <= {_FROM} + 15 AND m.version <= d.version '
    "AND (m.version < d.version OR m.item <= d.item) "
    'ORDER BY m."index" DESC LIMIT 1) AS message_id'
)


class IndexBrokenError(Exception):
    """The index is not there, or cannot be read."""


class Whose(NamedTuple):
    """The lanes whose conversation goes on in one, and whose that one is.

    Attributes:
        keys: Of their streams.
    """

    keys: tuple[int, ...]
    owner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """What is looked for; `before` is the (position, item) of the last text before, exclusive.

    Attributes:
        lane: Only sessions that these lanes have or had, or one of the same owner.
        first: Only what was said at this moment or later.
        last: Only what was said before this moment.
    """

    project_id: str
    terms: Sequence[Term]
    session_key: int | None = None
    lane: Whose | None = None
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
    asking = _Asking(connection, query, read.generation)
    sight = _Sight(connection)
    hits: list[Hit] = []
    size = 0
    for row in asking.proposed(_below(connection, read.generation, query.before)):
        document = _document(connection, row) if sight.has(row) else None
        if document is None:
            continue
        snippet = find(document.text, query.terms)
        hits += [] if snippet is None else [_hit(row, snippet)]
        size += len(document.text)
        if len(hits) == query.limit or size > CHARACTERS_LOOKED_AT:
            return Hits(hits, (row.position, row.item))
    return Hits(hits, asking.more)


class _Sight:
    """Tells what is in sight of sessions of which not everything is."""

    def __init__(self, connection: Connection) -> None:
        self._connection: Final = connection
        self._branches: Final[dict[int, FindBranch]] = {}

    def has(self, row: Row[Any]) -> bool:
        """Tell whether a text's turn is in sight; what is of no turn is."""
        if row.turn_number is None:
            return True
        find = self._branches.get(row.session_key)
        if find is None:
            lineage = lineage_of(self._connection, row.session_key) if row.base_version else NOBODY
            find = finding(self._connection, row.session_key, {}, lineage)
            self._branches[row.session_key] = find
        return turn_in_sight(find, Spot(row.branch, row.turn_tip, row.tip), row.turn_number)


class _Asking:
    """Asks an index; `more` is where to go on once all that was proposed has been looked at."""

    def __init__(self, connection: Connection, query: SearchQuery, generation: int) -> None:
        self.more: tuple[int, int] | None = None
        self._connection: Final = connection
        self._limit: Final = query.limit
        self._params: Final = _params(connection, generation, query)
        self._sources: Final = _sources(connection.dialect.name, generation, query)

    def proposed(self, below: int) -> Iterator[Row[Any]]:
        """Yield texts that have the words, the newest first, with what is shown of them."""
        # Mostly all that have the words have what is looked for.
        rows = self._newest(below, self._limit, shown=True)
        yield from rows
        if len(rows) < self._limit:
            return
        # If not, there may be many that have not: the index is asked once for all of them.
        places = self._newest(rows[-1].document, LOOKED_AT, shown=False)
        for first in range(0, len(places), PROPOSED):
            numbers = [place.document for place in places[first : first + PROPOSED]]
            yield from self._execute(_NUMBERED, {"numbers": numbers})
        if len(places) == LOOKED_AT:
            self.more = (places[-1].position, places[-1].item)

    def _newest(self, below: int, most: int, *, shown: bool) -> Sequence[Row[Any]]:
        params = {"below": below, "most": most, "recent": most * RECENT}
        rows: Sequence[Row[Any]] = ()
        for source in self._sources:
            rows = self._execute(text(_shown(source) if shown else source), params)
            if len(rows) == most:
                break
        return rows

    def _execute(self, statement: TextClause, params: dict[str, Any]) -> Sequence[Row[Any]]:
        try:
            return self._connection.execute(statement, self._params | params).all()
        except DBAPIError as error:
            if error.connection_invalidated:
                raise
            raise IndexBrokenError from error


def _shown(places: str) -> str:
    """Return the statement that joins what is shown of a text to the few that are."""
    return (
        f"SELECT d.*, e.type, e.schema, e.turn_id, b.body, {_TURN}, {_MESSAGE_ID} "  # noqa: S608 - made of constants
        f"FROM ({places}) d "
        "JOIN events e ON e.session_key = d.session_key AND e.version = d.version "
        "LEFT JOIN bodies b ON b.session_key = d.session_key AND b.version = d.version "
        "ORDER BY d.document DESC"
    )


_NUMBERED: Final = text(
    _shown(
        f"SELECT {_PLACE} FROM search_documents d "  # noqa: S608 - as above
        "JOIN streams s ON s.session_key = d.session_key "
        "JOIN heads h ON h.session_key = d.session_key "
        "WHERE d.generation = :generation AND d.document IN :numbers"
    )
).bindparams(bindparam("numbers", expanding=True))


def _sources(dialect: str, generation: int, query: SearchQuery) -> Sequence[str]:
    """Return the ways to ask for the newest texts, each only if the one before has too few."""
    name = index.name_of(generation)
    if dialect == "sqlite":
        # Crosswise, so that the index is asked first; it is the one that leaves little.
        source = (
            f"{name} i CROSS JOIN search_documents d "
            "ON d.generation = :generation AND d.document = i.rowid"
        )
        matches = f"i.{name} MATCH :match AND i.rowid < :below"
        return [_places(source, matches, "i.rowid", query)]
    # What many have, some of the newest have: to look through those is quicker than the index,
    # which would collect all that there are. What few have is left to it. Each step by itself:
    # the planner takes a word for more common than it is, and would go through all the newest.
    matches = "lexemes @@ CAST(:match AS tsquery)"
    newest = (
        f"SELECT document FROM (SELECT document, lexemes FROM {name} WHERE document < :below "  # noqa: S608 - as above
        f"ORDER BY document DESC LIMIT :recent) n WHERE {matches} ORDER BY document DESC"
    )
    every = (
        f"WITH found AS MATERIALIZED (SELECT document FROM {name} WHERE {matches} "  # noqa: S608 - as above
        "AND document < :below) SELECT document FROM found ORDER BY document DESC"
    )
    numbered = (
        "(SELECT * FROM search_documents "
        "WHERE generation = :generation AND document = i.document OFFSET 0) d"
    )
    return [
        _places(f"({each}) i CROSS JOIN LATERAL {numbered}", "TRUE", "i.document", query)
        for each in (newest, every)
    ]


_OWN_SESSIONS: Final = (
    "d.session_key IN (SELECT own.session_key FROM lanes l "
    "JOIN lane_sessions b ON b.session_key = l.session_key "
    "JOIN streams own ON own.project_id = l.project_id AND own.session_id = b.session_id "
    "WHERE l.project_id = :project_id AND l.session_key IN ("
    "SELECT session_key FROM lanes WHERE session_key IN ({keys}) UNION ALL "
    "SELECT session_key FROM lanes WHERE project_id = :project_id AND owner = :owner "
    "AND owner <> '' AND status <> 'moved') AND {now})"
)


def _own_sessions(whose: Whose | None) -> str:
    if whose is None:
        return ""
    keys, now = ", ".join(map(str, whose.keys)), OF_NOW.format(lanes="l", bound="b")
    return _OWN_SESSIONS.format(keys=keys, now=now)


def _places(source: str, matches: str, number: str, query: SearchQuery) -> str:
    filters = [
        condition
        for condition, value in (
            ("d.session_key = :session_key", query.session_key),
            (_own_sessions(query.lane), query.lane),
            ("d.role = :role", query.role),
            ("d.at >= :first", query.first),
            ("d.at < :last", query.last),
        )
        if value is not None
    ]
    return (
        f"SELECT {_PLACE} FROM {source} "  # noqa: S608 - made of constants
        "JOIN streams s ON s.session_key = d.session_key "
        "JOIN heads h ON h.session_key = d.session_key "
        f"WHERE {matches} "
        "AND s.project_id = :project_id AND h.status <> 'deleted' "
        f"{''.join(f'AND {each} ' for each in filters)}"
        f"ORDER BY {number} DESC LIMIT :most"
    )


def _params(connection: Connection, generation: int, query: SearchQuery) -> dict[str, Any]:
    every = [index.of_project(query.project_id)]
    if query.session_key is not None:
        every.append(index.of_session(query.session_key))
    if query.role is not None:
        every.append(index.of_role(query.role))
    terms = [term.alternatives() for term in query.terms]
    return {
        "match": index.match(connection.dialect.name, every, terms),
        "generation": generation,
        "project_id": query.project_id,
        "session_key": query.session_key,
        "owner": None if query.lane is None else query.lane.owner,
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


def _hit(row: Row[Any], snippet: Snippet) -> Hit:
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


def _document(connection: Connection, row: Row[Any]) -> Document | None:
    body = whole(connection, row.session_key, row.body)
    found = documents(decode(row.type, row.schema, body))
    return next((each for each in found if each.item == row.item), None)
