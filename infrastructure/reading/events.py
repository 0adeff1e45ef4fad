"""Which facts does a session's log hold, as they were recorded, and where do answers go?"""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, select

from infrastructure import tables as t
from infrastructure.lineages import Lineage, parts
from infrastructure.mapper import StoredFact
from infrastructure.recorder import ADDRESS, COLUMNS, WITH_TURNS, addressed_fact, stream_facts

Stream = tuple[str, str, int]
NEWEST_VERSION: Final = 2**31 - 1


def history(  # noqa: PLR0913 - as `facts`
    connection: Connection,
    stream: Stream,
    lineage: Lineage,
    *,
    after: int = 0,
    before: int | None = None,
    limit: int,
    types: Sequence[str] = (),
    descending: bool = False,
) -> list[StoredFact]:
    """Return the same of a session with the history that it shares, each fact from whose it is."""
    project_id, session_id, key = stream
    every = parts(key, lineage, NEWEST_VERSION)
    found: list[StoredFact] = []
    for part in reversed(every) if descending else every:
        end = part.through + 1 if before is None else min(before, part.through + 1)
        if len(found) < limit and max(after, part.after) + 1 < end:
            found += facts(
                connection,
                (project_id, session_id, part.key),
                after=max(after, part.after),
                before=end,
                limit=limit - len(found),
                types=types,
                descending=descending,
            )
    return found


def facts(  # noqa: PLR0913 - what a page of the log can be asked for
    connection: Connection,
    stream: Stream,
    *,
    after: int = 0,
    before: int | None = None,
    limit: int,
    types: Sequence[str] = (),
    descending: bool = False,
) -> list[StoredFact]:
    """Return up to `limit` facts between two versions, of these types if any are named.

    `stream` is (project id, session id, session key); both bounds are exclusive. `previous` is
    right only without `types`.
    """
    through = NEWEST_VERSION if before is None else before - 1
    if not types:
        return stream_facts(
            connection,
            stream,
            gt=after,
            lte=through,
            desc=descending,
            limit=limit,
            addressed=True,
        )
    version = t.events.c.version
    statement = (
        select(*COLUMNS, *ADDRESS)
        .select_from(WITH_TURNS)
        .where(
            t.events.c.session_key == stream[2],
            t.events.c.type.in_(types),
            version > after,
            version <= through,
        )
        .order_by(version.desc() if descending else version)
        .limit(limit)
    )
    return [addressed_fact(row, stream, b"") for row in connection.execute(statement)]
