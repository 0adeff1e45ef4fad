"""The variants on PostgreSQL: a server from the test extra, with fsync on."""

import sys
import warnings
from contextlib import ExitStack
from pathlib import Path

from eventsourcing.postgres import PostgresApplicationRecorder, PostgresDatastore
from log import LibraryRecorder, Ours, PlainPostgres, Variant
from sqlalchemy import make_url

sys.path.insert(0, str(Path(__file__).parent.parent))

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from tests.databases import forced_writes, postgresql_databases


def empty_database(stack: ExitStack) -> str:
    """Return the URL of a database without any table, on a server of its own."""
    server = stack.enter_context(postgresql_databases())
    stack.enter_context(forced_writes(server))
    return server.empty()


def ready_database(stack: ExitStack) -> str:
    """Return the URL of a database with turnlog's tables, on a server of its own."""
    server = stack.enter_context(postgresql_databases())
    stack.enter_context(forced_writes(server))
    return server.ready()


def postgres_variants(stack: ExitStack) -> dict[str, Variant]:
    """Return the three ways on PostgreSQL."""
    server = stack.enter_context(postgresql_databases())
    stack.enter_context(forced_writes(server))
    library = make_url(server.empty())
    datastore = PostgresDatastore(
        dbname=library.database or "",
        host=str(library.query["host"]),
        port="5432",
        user=library.username or "",
        password="",
        originator_id_type="text",
    )
    return {
        "turnlog": Ours(server.empty()),
        "one statement": PlainPostgres(server.empty()),
        "eventsourcing.postgres": LibraryRecorder(
            PostgresApplicationRecorder(datastore, events_table_name="library_events"),
            datastore.close,
        ),
    }
