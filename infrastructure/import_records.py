"""Which imports were asked for, and what came of each?"""

from dataclasses import dataclass

from sqlalchemy import Connection, select

from infrastructure import tables as t


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRecord:
    """An import that was done.

    Attributes:
        created_at, finished_at: Microseconds since 1970.
        report: JSON: counts and losses, nothing that was said.
    """

    project_id: str
    import_id: str
    format: str
    status: str
    created_at: int
    finished_at: int
    report: bytes


def keep_record(connection: Connection, record: ImportRecord) -> None:
    """Keep a record; its id is new."""
    connection.execute(
        t.imports.insert().values(
            project_id=record.project_id,
            import_id=record.import_id,
            format=record.format,
            status=record.status,
            created_at=record.created_at,
            finished_at=record.finished_at,
            report=record.report,
        )
    )


def find_record(connection: Connection, project_id: str, import_id: str) -> ImportRecord | None:
    """Return the record with this id in the project, if there is one."""
    row = connection.execute(
        select(t.imports).where(
            t.imports.c.project_id == project_id, t.imports.c.import_id == import_id
        )
    ).one_or_none()
    if row is None:
        return None
    return ImportRecord(
        project_id=row.project_id,
        import_id=row.import_id,
        format=row.format,
        status=row.status,
        created_at=row.created_at,
        finished_at=row.created_at if row.finished_at is None else row.finished_at,
        report=bytes(row.report),
    )
