"""Which imports were asked for, how far has each come, and what came of it?

An import that runs tells every second that it is still there. One that was not heard of for a
while was interrupted, whatever ended its process; the same file, sent again, goes on with it.
"""

from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from sqlalchemy import Connection, select

from infrastructure import tables as t

ImportStatus: TypeAlias = Literal["running", "completed", "failed", "interrupted"]
SILENT_US: Final = 15_000_000
NOTHING: Final = b"{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRecord:
    """An import.

    Attributes:
        created_at, seen_at, finished_at: Microseconds since 1970.
        lines, events: How many lines were read, and how many events appended, so far.
        report: JSON: counts and losses, or the problem that it failed with; nothing that was said.
    """

    project_id: str
    import_id: str
    format: str
    source_name: str
    status: ImportStatus
    created_at: int
    seen_at: int
    finished_at: int | None = None
    lines: int = 0
    events: int = 0
    report: bytes = NOTHING


def keep_record(connection: Connection, record: ImportRecord) -> None:
    """Keep a record, new or known."""
    here = (t.imports.c.project_id == record.project_id) & (
        t.imports.c.import_id == record.import_id
    )
    known = connection.execute(select(t.imports.c.import_id).where(here)).first() is not None
    statement = t.imports.update().where(here) if known else t.imports.insert()
    connection.execute(
        statement.values(
            project_id=record.project_id,
            import_id=record.import_id,
            format=record.format,
            source_name=record.source_name,
            status=record.status,
            created_at=record.created_at,
            seen_at=record.seen_at,
            finished_at=record.finished_at,
            lines=record.lines,
            events=record.events,
            report=record.report,
        )
    )


def find_record(
    connection: Connection, project_id: str, import_id: str, now: int
) -> ImportRecord | None:
    """Return the record with this id in the project, if there is one."""
    row = connection.execute(
        select(t.imports).where(
            t.imports.c.project_id == project_id, t.imports.c.import_id == import_id
        )
    ).one_or_none()
    if row is None:
        return None
    record = ImportRecord(
        project_id=row.project_id,
        import_id=row.import_id,
        format=row.format,
        source_name=row.source_name,
        status=row.status,
        created_at=row.created_at,
        seen_at=row.seen_at,
        finished_at=row.finished_at,
        lines=row.lines,
        events=row.events,
        report=bytes(row.report),
    )
    # One from the future was left by a clock that has been set back since.
    is_silent = record.status == "running" and abs(now - record.seen_at) > SILENT_US
    return replace(record, status="interrupted") if is_silent else record
