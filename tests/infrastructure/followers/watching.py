"""How do tests follow the log, and read what was folded?"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Table, select

from domain.commands import Proposal
from infrastructure import tables as t
from infrastructure.followers import search_index, tracking
from infrastructure.followers.follower import Follower
from infrastructure.followers.following import Following, followers
from infrastructure.reading.search import Hits, SearchQuery, search
from infrastructure.reading.usage import By, UsageItem, UsageQuery, usage_by
from infrastructure.reading.whole_log import visible_through
from projections.search import terms
from tests.infrastructure.writing import Store, propose


def said(turn_id: str, text: str, role: str = "user", message_id: str | None = None) -> Proposal:
    """Return a message of a turn."""
    named = "" if message_id is None else f',"message_id":"{message_id}"'
    body = f'{{"turn_id":"{turn_id}","message":{{"role":"{role}","content":"{text}"{named}}}}}'
    return propose("message-recorded", body.encode())


def begun(turn_id: str, text: str) -> Proposal:
    """Return the start of a turn."""
    body = f'{{"turn_id":"{turn_id}","messages":[{{"role":"user","content":"{text}"}}]}}'
    return propose("turn-started", body.encode())


def spent(turn_id: str, tokens: int, model: str = "m1", cost: str = '"0.1"') -> Proposal:
    """Return the usage of a model."""
    body = (
        f'{{"turn_id":"{turn_id}","model":"{model}","input_tokens":{tokens},'
        f'"output_tokens":1,"cost":{cost}}}'
    )
    return propose("usage-recorded", body.encode())


@contextmanager
def following(store: Store, wanted: Sequence[Follower] | None = None) -> Generator[Following]:
    """Give the followers of a log, which do nothing by themselves until they are started."""
    found = Following(
        store.database,
        store.runner,
        followers(search=True) if wanted is None else wanted,
        store.clock,
    )
    try:
        yield found
    finally:
        found.stop()


def visible(store: Store) -> int:
    """Return how far the log can be read."""
    with store.database.read() as connection:
        return visible_through(connection)


def position(store: Store, name: str) -> int:
    """Return how far a follower has come."""
    with store.database.read() as connection:
        read = tracking.live(connection, name)
        return -1 if read is None else read.position


def used(store: Store, by: By = "session", project_id: str = "default") -> list[UsageItem]:
    """Return usage by key."""
    query = UsageQuery(project_id=project_id, by=by, limit=200)
    with store.database.read() as connection:
        return usage_by(connection, query)


def searched(store: Store, query: str, limit: int = 50, **more: Any) -> Hits:  # noqa: ANN401
    """Return what a search finds."""
    wanted = SearchQuery(project_id="default", terms=terms(query), limit=limit, **more)
    with store.database.read() as connection:
        return search(connection, wanted)


def found(store: Store, query: str, **more: Any) -> list[tuple[str, int]]:  # noqa: ANN401
    """Return the sessions and versions that a search finds."""
    return [(hit.session_id, hit.version) for hit in searched(store, query, **more).hits]


def rows(store: Store, table: Table) -> list[Mapping[str, Any]]:
    """Return a view's rows of the generation that is read, without its number."""
    with store.database.read() as connection:
        name = "search" if table is t.search_documents else table.name
        read = tracking.live(connection, name)
        assert read is not None
        statement = select(table).where(table.c.generation == read.generation)
        statement = statement.order_by(*table.primary_key.columns)
        return [
            {str(key): value for key, value in row.items() if key != "generation"}
            for row in connection.execute(statement).mappings()
        ]


def indexes(store: Store) -> list[int]:
    """Return the generations that have an index."""
    with store.database.read() as connection:
        names = {search_index.name_of(number): number for number in range(1, 10)}
        present: list[int] = []
        for name, number in names.items():
            if store.database.kind == "sqlite":
                statement = f"SELECT 1 FROM sqlite_schema WHERE name = '{name}'"
            else:
                statement = f"SELECT 1 FROM pg_tables WHERE tablename = '{name}'"
            if connection.exec_driver_sql(statement).first() is not None:
                present.append(number)
        return present
