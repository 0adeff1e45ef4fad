"""How is a store copied while others write to it?

From one snapshot of the database, which holds up no writer: every event that was committed before,
none of those after, and the file only under its name once it is whole and flushed. Each chain is
verified on the way, so that nobody learns of damage when the backup is all that is left.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Table, func, select

from infrastructure import tables as t
from infrastructure.backup_format import (
    KnownDamage,
    Manifest,
    backed_up_tables,
    write_backup,
)
from infrastructure.database import Database, schema_versions
from infrastructure.inside import Inside
from infrastructure.verification import verify_all

Progress = Callable[[int], None]
_PAGE: Final = 100
"""Rows in memory at once: with each as large as one can be, still some 100 MiB."""
_PAGE_OF_LARGE: Final = 3
_LARGE: Final = (t.blobs, t.project_settings)


class AlreadyThere(Exception):
    """A file has the name of the backup."""


def back_up(
    database: Database, path: Path, now: int, progress: Progress = lambda _: None
) -> Manifest:
    """Write a backup to `path`; return what it holds.

    Raises:
        AlreadyThere: nothing is ever written over.
        OSError: it cannot be written there; nothing is left behind.
    """
    if path.exists():
        raise AlreadyThere
    part = path.with_name(path.name + ".part")
    try:
        with database.read() as connection, _private(part) as file:
            manifest = _manifest(connection, now)
            write_backup(file, manifest, lambda table: _rows(connection, table), progress)
            file.flush()
            os.fsync(file.fileno())
        # A link and no renaming, which would take the place of what came there meanwhile.
        path.hardlink_to(part)
    except FileExistsError as error:
        raise AlreadyThere from error
    finally:
        part.unlink(missing_ok=True)
    _flush_folder(path.parent)
    return manifest


def _manifest(connection: Connection, now: int) -> Manifest:
    store = connection.execute(select(t.store)).one()
    found, _ = schema_versions(connection)
    newest = connection.execute(select(func.max(t.events.c.position))).scalar_one()
    return Manifest(
        schema=found or "",
        taken_at=now,
        store_id=store.store_id,
        incarnation=store.incarnation,
        base=store.base,
        head_position=int(newest or 0),
        counts={table.name: _count(connection, table) for table in backed_up_tables()},
        damaged=_damaged(connection),
    )


def _damaged(connection: Connection) -> Sequence[KnownDamage]:
    return [
        KnownDamage(
            project_id=each.project_id,
            session_id=each.session_id,
            version=each.first_bad.version,
            reason=each.first_bad.reason,
        )
        for each in verify_all(Inside(connection))
        if each.first_bad is not None
    ]


def _count(connection: Connection, table: Table) -> int:
    return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def _rows(connection: Connection, table: Table) -> AbstractContextManager[Iterable[Sequence[Any]]]:
    statement = select(table).order_by(*table.primary_key.columns)
    page = _PAGE_OF_LARGE if table in _LARGE else _PAGE
    return connection.execute(statement.execution_options(yield_per=page))


def _private(path: Path) -> Any:  # noqa: ANN401 - a binary file
    """Open a new file that only its owner reads: it holds all that was said."""
    path.unlink(missing_ok=True)  # of a backup that was interrupted
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
