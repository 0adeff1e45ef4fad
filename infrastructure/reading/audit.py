"""What happened in a session, fact by fact?

Facts are read by version, within the versions that the asked time lies between; filters but that by
tool are looked at along the way. Which tool a result or an answer is about is found by its keys.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

from sqlalchemy import Connection, Select, select

from domain.events import Fact
from domain.recorded import Envelope
from domain.registry import Affects
from infrastructure import tables as t
from infrastructure.database import Readable
from infrastructure.inside import Inside
from infrastructure.reading.moment import Moment, version_at
from infrastructure.reading.rewinds import RewindsThen, rewinds_then
from infrastructure.reading.tools import about_tool, tools_of
from infrastructure.recorder import stored_fact
from infrastructure.serialization import decode
from projections.audit import Shape, audit_shape, tool_in
from projections.audit_sentences import TELLING

PAGE: Final = 128
"""Facts read at once for the whole: each as large as can be, they are still some 100 MiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine:
    """A fact's envelope and hash, and the fact itself where its name does not say enough.

    Attributes:
        tool: The name of the tool that it is about.
        rewound_by: The version of the rewind by which its turn is out of sight.
    """

    envelope: Envelope
    hash: bytes
    fact: Fact | None
    tool: str | None = None
    rewound_by: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditQuery:
    """Which facts, after which version: oldest first if `ascending`.

    Attributes:
        types: Of any of these types, if there are any.
        since, until: Recorded at or after the one, and before the other; microseconds.
    """

    types: Sequence[str] = ()
    actor: str | None = None
    turn_id: str | None = None
    tool: str | None = None
    effect: Affects | None = None
    since: int | None = None
    until: int | None = None
    after: int | None = None
    ascending: bool = True
    limit: int = 50


def line_shape(line: AuditLine) -> Shape:
    """Return a line as the contract shows it."""
    return audit_shape(line.envelope, line.hash, line.fact, line.tool, line.rewound_by)


def audit(connection: Connection, moment: Moment, query: AuditQuery) -> Sequence[AuditLine]:
    """Return a page of the audit, through the version that is looked at."""
    return list(islice(_pages(Inside(connection), moment, query), query.limit))


def whole_audit(database: Readable, moment: Moment, query: AuditQuery) -> Iterator[AuditLine]:
    """Yield all that a query finds, whatever its limit, through the version that is looked at.

    No transaction is held open meanwhile, and no more than a page in memory.
    """
    return _pages(database, moment, replace(query, limit=PAGE))


def _pages(database: Readable, moment: Moment, query: AuditQuery) -> Iterator[AuditLine]:
    """Yield lines, read by as many as the query's limit at a time."""
    with database.read() as connection:
        least, last = _between(connection, moment, query)
        rewinds = rewinds_then(connection, moment)
        about = None if query.tool is None else about_tool(connection, moment.key, query.tool)
    if about is None:
        yield from _following(database, rewinds, query, least, last)
        return
    versions = sorted(
        (version for version in about if least <= version <= last), reverse=not query.ascending
    )
    for start in range(0, len(versions), PAGE):
        some = t.events.c.version.in_(versions[start : start + PAGE])
        with database.read() as connection:
            lines = _lines(connection, rewinds, _facts(moment.key, query).where(some))
        yield from (line for line in lines if line.tool == query.tool)


def _following(
    database: Readable, rewinds: RewindsThen, query: AuditQuery, least: int, last: int
) -> Iterator[AuditLine]:
    while True:
        among = t.events.c.version.between(least, last)
        statement = _facts(rewinds.moment.key, query).where(among).limit(query.limit)
        with database.read() as connection:
            lines = _lines(connection, rewinds, statement)
        yield from lines
        if len(lines) < query.limit:
            return
        version = lines[-1].envelope.version
        least, last = (version + 1, last) if query.ascending else (least, version - 1)


def _between(connection: Connection, moment: Moment, query: AuditQuery) -> tuple[int, int]:
    """Return the least and the last version to be told; no fact outside of a search is read."""
    key, through = moment.key, moment.through
    least, last = 1, through
    if query.until is not None:
        last = version_at(connection, key, through, query.until - 1, moment.lineage)
    if query.since is not None:
        least = version_at(connection, key, through, query.since - 1, moment.lineage) + 1
    if query.after is not None and query.ascending:
        least = max(least, query.after + 1)
    elif query.after is not None:
        last = min(last, query.after - 1)
    return least, last


def _facts(key: int, query: AuditQuery) -> Select[Any]:
    events, bodies = t.events.c, t.bodies.c
    said = (
        (bodies.session_key == events.session_key)
        & (bodies.version == events.version)
        & events.type.in_(sorted(TELLING))
    )
    columns = [column for column in events if column.name != "session_key"]
    statement = (
        select(*columns, bodies.salt, bodies.body)
        .select_from(t.events.outerjoin(t.bodies, said))
        .where(events.session_key == key)
        .order_by(events.version if query.ascending else events.version.desc())
    )
    for column, wanted in ((events.actor, query.actor), (events.turn_id, query.turn_id)):
        if wanted is not None:
            statement = statement.where(column == wanted)
    if query.types:
        statement = statement.where(events.type.in_(query.types))
    if query.effect is not None:
        statement = statement.where(events.history.is_(query.effect == "history"))
    return statement


def _lines(connection: Connection, rewinds: RewindsThen, statement: Select[Any]) -> list[AuditLine]:
    moment = rewinds.moment
    stream = (moment.target.project_id, moment.target.session_id, moment.key)
    stored = [(row, stored_fact(row, stream, b"")) for row in connection.execute(statement)]
    facts = {
        fact.envelope.version: (
            # What was cut off says nothing that an audit tells.
            decode(row.type, row.schema, None if fact.gone else fact.state)
            if fact.topic in TELLING
            else None
        )
        for row, fact in stored
    }
    tools = tools_of(connection, moment.key, facts)
    out = rewinds.that_took_out(connection, (fact.envelope.turn_id for _, fact in stored))
    return [
        AuditLine(
            envelope=fact.envelope,
            hash=fact.hash,
            fact=told,
            tool=tool_in(told) or tools.get(fact.envelope.version),
            rewound_by=(
                None  # it names a turn, and stays in sight itself
                if fact.topic == "history-rewound"
                else out.get(fact.envelope.turn_id or "")
            ),
        )
        for (_, fact), told in zip(stored, facts.values(), strict=True)
    ]
