"""What do the views that follow the log say, once they have all of it?

No server may be running, so the command itself brings a view up to date first; if one is, they
share the work.
"""

from collections.abc import Iterator
from functools import partial
from typing import Final

from sqlalchemy.exc import DBAPIError

from api.cli.failures import NOT_SO, Failure
from api.cli.progress import bar
from api.cli.wanted import ErrorFilter, TextFilter, UsageFilter
from api.error_shapes import error_shape
from api.search_shapes import hit_shape
from api.usage_shapes import day_number, item_shape
from domain.raw_json import dumped
from domain.times import microseconds
from infrastructure.command_handler import Target
from infrastructure.composition import Turnlog
from infrastructure.reading.errors import ErrorQuery, errors
from infrastructure.reading.search import IndexBrokenError, SearchQuery, search
from infrastructure.reading.sessions import session_head
from infrastructure.reading.usage import Key, UsageQuery, usage_by
from projections.search import terms

PAGE: Final = 200


def stored_usage(log: Turnlog, project_id: str, wanted: UsageFilter) -> Iterator[bytes]:
    """Yield what was used, in the order of its keys."""
    key = _session_key(log, project_id, wanted.session_id)
    _catch_up(log, "usage")
    after: Key | None = None
    while True:
        query = UsageQuery(
            project_id=project_id,
            by=wanted.by,
            session_key=key,
            first_day=None if wanted.first is None else day_number(wanted.first),
            last_day=None if wanted.last is None else day_number(wanted.last),
            after=after,
            limit=PAGE,
        )
        found = log.read_now(partial(usage_by, query=query, prices=log.settings.prices))
        yield from (dumped(item_shape(item, wanted.by)) for item in found)
        if len(found) < PAGE:
            return
        after = found[-1].key


def stored_errors(log: Turnlog, project_id: str, wanted: ErrorFilter) -> Iterator[bytes]:
    """Yield errors, newest first."""
    key = _session_key(log, project_id, wanted.session_id)
    _catch_up(log, "errors")
    before: int | None = None
    while True:
        query = ErrorQuery(
            project_id=project_id,
            source=wanted.source,
            code=wanted.code,
            kind=wanted.kind,
            session_key=key,
            since=microseconds(wanted.since),
            before=before,
            limit=PAGE,
        )
        found = log.read_now(partial(errors, query=query))
        yield from (dumped(error_shape(item)) for item in found)
        if len(found) < PAGE:
            return
        before = found[-1].errors.position


def stored_texts(log: Turnlog, project_id: str, wanted: TextFilter) -> Iterator[bytes]:
    """Yield the texts that have the words, newest first."""
    if not log.settings.search:
        raise Failure("search-off", "TURNLOG_SEARCH is off", NOT_SO)
    key = _session_key(log, project_id, wanted.session_id)
    try:
        try:
            _catch_up(log, "search")
        except DBAPIError:
            # It tells only that the database refused it; a look tells whether it is the index.
            next(_texts(log, project_id, key, wanted), None)
            raise
        yield from _texts(log, project_id, key, wanted)
    except IndexBrokenError:
        raise broken() from None


def broken() -> Failure:
    """Return the failure that tells of an index that is missing or broken."""
    sentence = "the search index is missing or broken; run: turnlog rebuild --view search"
    return Failure("index-unavailable", sentence, NOT_SO)


def _texts(log: Turnlog, project_id: str, key: int | None, wanted: TextFilter) -> Iterator[bytes]:
    before: tuple[int, int] | None = None
    while True:
        query = SearchQuery(
            project_id=project_id,
            terms=terms(wanted.query),
            session_key=key,
            role=wanted.role,
            first=microseconds(wanted.first),
            last=microseconds(wanted.last),
            before=before,
            limit=PAGE,
        )
        found = log.read_now(partial(search, query=query))
        yield from (dumped(hit_shape(hit)) for hit in found.hits)
        if found.more is None:
            return
        before = found.more


def _session_key(log: Turnlog, project_id: str, session_id: str | None) -> int | None:
    if session_id is None:
        return None
    target = Target(project_id=project_id, session_id=session_id)
    return log.read_now(lambda connection: session_head(connection, target)[0])


def _catch_up(log: Turnlog, view: str) -> None:
    with bar(f"bringing {view} up to date") as shown:
        log.following.catch_up(view, shown.done)
