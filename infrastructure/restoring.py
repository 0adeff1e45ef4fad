"""How does a backup become a store again, so that everybody who knew the old one can go on?

Into an empty database, all of it in one transaction: what does not verify leaves nothing behind.
New positions lie above every one that the old store can have given since, whatever the transaction
ids of this cluster are. History of before is not known until it is made known again, since what was
said after the backup was taken is missing from it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Connection, Table, func, inspect, select, text

from infrastructure import tables as t
from infrastructure.backup_format import Backup, BadBackup, KnownDamage, Manifest
from infrastructure.commit import ORDINAL_BITS
from infrastructure.database import Database, lock_schema, newest_schema, shown, upgrade_schema
from infrastructure.inside import Inside
from infrastructure.rebuilding import rebuild
from infrastructure.verification import verify_all

Progress = Callable[[int], None]
MARGIN: Final = 1 << 32
"""Transactions that the old store may have committed after the backup was taken."""
_BATCH_ROWS: Final = 500
_BATCH_BYTES: Final = 8 << 20


class NotEmpty(Exception):
    """The database holds something already; nothing is ever restored over it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What there is now.

    Attributes:
        incarnation: One more than the store's that was backed up.
        known_after: History that became known up to this position is not known any more.
    """

    manifest: Manifest
    incarnation: int
    known_after: int
    base: int


def restore(
    backup: Backup, url: URL, loaded: Progress = lambda _: None, folded: Progress = lambda _: None
) -> Restored:
    """Load a backup into an empty database and verify all of it.

    `loaded` hears how many rows are written, `folded` for how many sessions views are made.

    Raises:
        BadBackup: it is damaged, or of another schema; nothing was restored.
        NotEmpty: the database is in use.
        OSError: an SQLite database cannot be made there.
    """
    if url.get_backend_name() == "sqlite":
        Path(url.database or "").parent.mkdir(parents=True, exist_ok=True)
    database = Database(url, pool_size=1, allow_unsafe=True, create=True)
    try:
        if backup.manifest.schema != newest_schema():
            raise BadBackup(
                f"the backup has schema {backup.manifest.schema}, this build {newest_schema()}; "
                "restore it with the turnlog that wrote it, then run: turnlog db upgrade"
            )
        with database.write() as connection:
            _prepare(connection, url)
            _load(connection, backup, loaded)
            _check(connection, backup.manifest)
            restored = _begin_again(connection, backup.manifest)
            inside = Inside(connection)
            rebuild(inside, inside, progress=folded)
        return restored
    finally:
        database.close()


def _prepare(connection: Connection, url: URL) -> None:
    """Make the schema in a database that holds nothing."""
    lock_schema(connection)
    names = set(inspect(connection).get_table_names())
    ours = {table.name for table in t.metadata.tables.values()}
    if names and not ours <= names:
        raise NotEmpty(f"{shown(url)} has tables of another kind or schema")
    upgrade_schema(connection)
    if connection.dialect.name == "postgresql":
        # Nobody writes to it meanwhile; on SQLite nobody does anyway.
        locked = ", ".join(sorted(ours))
        connection.exec_driver_sql(f"LOCK TABLE {locked} IN ACCESS EXCLUSIVE MODE")
    for table in t.metadata.sorted_tables:
        if table is not t.store and "generation" not in table.columns and _any(connection, table):
            raise NotEmpty(f"{shown(url)} holds something already")
    connection.execute(t.store.delete())


def _any(connection: Connection, table: Table) -> bool:
    return connection.execute(select(1).select_from(table).limit(1)).first() is not None


def _load(connection: Connection, backup: Backup, loaded: Progress) -> None:
    batch: list[dict[str, Any]] = []
    size = done = 0
    table: Table | None = None
    for row in backup.rows():
        full = len(batch) >= _BATCH_ROWS or size >= _BATCH_BYTES
        if table is not None and (full or row.table is not table):
            connection.execute(table.insert(), batch)
            done += len(batch)
            batch, size = [], 0
            loaded(done)
        table = row.table
        values = dict(row.values)
        if table is t.heads or table is t.lanes:
            values["last_xid"] = 0  # the transaction ids of this cluster are others
        batch.append(values)
        size += row.size
    if table is not None and batch:
        connection.execute(table.insert(), batch)
        loaded(done + len(batch))


def _check(connection: Connection, manifest: Manifest) -> None:
    """Refuse what is not as it was written, but for what was so already in the database."""
    newest = connection.execute(select(func.max(t.events.c.position))).scalar_one()
    if int(newest or 0) != manifest.head_position:
        raise BadBackup("the log does not end at the position that the manifest tells")
    known = set(manifest.damaged)
    for each in verify_all(Inside(connection)):
        bad = each.first_bad
        if bad is None:
            continue
        found = KnownDamage(
            project_id=each.project_id,
            session_id=each.session_id,
            version=bad.version,
            reason=bad.reason,
        )
        if found not in known:
            raise BadBackup(
                f"session {each.session_id} of project {each.project_id} is damaged: "
                f"{bad.reason} at version {bad.version}"
            )


def _begin_again(connection: Connection, manifest: Manifest) -> Restored:
    """Begin an incarnation: above every position of before, with no history known."""
    above = max((manifest.head_position >> ORDINAL_BITS) + 1, 0) + MARGIN
    restored = Restored(
        manifest=manifest,
        incarnation=manifest.incarnation + 1,
        known_after=manifest.head_position,
        # On SQLite it is a position, on PostgreSQL what is added to a transaction's id.
        base=above << ORDINAL_BITS if connection.dialect.name == "sqlite" else above,
    )
    connection.execute(
        t.store.update().values(
            incarnation=restored.incarnation,
            known_after=restored.known_after,
            base=restored.base,
        )
    )
    if connection.dialect.name == "postgresql":
        connection.execute(
            text(
                "SELECT setval(pg_get_serial_sequence('streams', 'session_key'),"
                " (SELECT coalesce(max(session_key), 0) + 1 FROM streams), false)"
            )
        )
    return restored
