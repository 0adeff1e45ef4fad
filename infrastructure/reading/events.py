"""Which facts does a session's log hold, as they were recorded?"""

from collections.abc import Sequence

from sqlalchemy import Connection, select

from infrastructure import tables as t
from infrastructure.mapper import StoredFact
from infrastructure.recorder import COLUMNS, WITH_BODIES, stored_fact, stream_facts

Stream = tuple[str, str, int]


def facts(
    connection: Connection,
    stream: Stream,
    *,
    after: int | None,
    limit: int,
    types: Sequence[str] = (),
    descending: bool = False,
) -> list[StoredFact]:
    """Return up to `limit` facts beyond version `after`, of these types if any are named.

    `stream` is (project id, session id, session key). `previous` is right only without `types`.
    """
    if not types:
        if descending:
            through = None if after is None else after - 1
            return stream_facts(
                connection,
                stream,
                limit=limit,
                desc=True,
                **({} if through is None else {"lte": through}),
            )
        return stream_facts(connection, stream, gt=after or 0, limit=limit)
    version = t.events.c.version
    statement = (
        select(*COLUMNS)
        .select_from(WITH_BODIES)
        .where(t.events.c.session_key == stream[2], t.events.c.type.in_(types))
        .order_by(version.desc() if descending else version)
        .limit(limit)
    )
    if after is not None:
        statement = statement.where(version < after if descending else version > after)
    return [stored_fact(row, stream, b"") for row in connection.execute(statement)]
