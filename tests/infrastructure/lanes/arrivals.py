"""How do tests come to a place? As the routes do."""

from domain.json_text import JsonValue
from domain.lanes.source import read_source
from infrastructure.lanes.arriving import arrival
from infrastructure.lanes.resolving import Lanes, Resolved
from infrastructure.runner import Attempt
from tests.infrastructure.writing import NOBODY, Store

TELEGRAM: dict[str, JsonValue] = {"platform": "telegram", "chat_id": "99", "user_id": "42"}


def lanes(store: Store) -> Lanes:
    """Return the lanes of an open log."""
    return Lanes(store.handler, store.log)


def resolve(
    store: Store,
    source: dict[str, JsonValue] | None = None,
    *,
    force_new: bool = False,
    touches: bool = True,
) -> Resolved:
    """Resolve a source in a transaction of its own."""
    read = read_source(source or TELEGRAM)

    def work(attempt: Attempt) -> Resolved:
        came = arrival(attempt.connection, "default", read, force_new=force_new, touches=touches)
        return lanes(store).resolve(attempt, came, NOBODY)

    return store.runner.run(work)
