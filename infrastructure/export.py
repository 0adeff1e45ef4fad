"""What are the bytes of a session's export?

Streamed by pages; `export_format` says what the lines are. A session that grows meanwhile is
exported as it was when the export began.
"""

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256

from sqlalchemy import Connection, select

from domain.attachments import named_blobs
from domain.blobs import Blob
from domain.events import ForkPoint
from domain.refusals import NoSuchSession, SessionDamaged
from infrastructure import tables as t
from infrastructure.ancestry import shared_streams
from infrastructure.blobs import content_of
from infrastructure.database import Database
from infrastructure.export_format import Manifest, blob_line, end_line, event_line
from infrastructure.stored_stream import Stream, find_stream, hash_at, stored_pages


def export_session(database: Database, project_id: str, session_id: str) -> Iterator[bytes]:
    """Return the lines of a session's export, to be read once.

    Raises:
        NoSuchSession, SessionDamaged: at once, before any line.
    """
    stream, manifest = _manifest(database, project_id, session_id)
    return _lines(database, stream, manifest)


def _manifest(database: Database, project_id: str, session_id: str) -> tuple[Stream, Manifest]:
    columns = (t.heads.c.history_version, t.heads.c.fingerprint)
    with database.read() as connection:
        stream = find_stream(connection, project_id, session_id)
        head = connection.execute(
            select(*columns).where(t.heads.c.session_key == stream.key)
        ).one_or_none()
        end = hash_at(connection, stream.key, stream.last)
        base = _base(connection, stream)
    if head is None:
        raise SessionDamaged
    if end is None:
        raise NoSuchSession
    return stream, Manifest(
        project_id=project_id,
        session_id=session_id,
        events=stream.last - (0 if base is None else base.version),
        history_version=head.history_version,
        hash=end,
        fingerprint=bytes(head.fingerprint),
        base=base,
    )


def _base(connection: Connection, stream: Stream) -> ForkPoint | None:
    """Return what a fork goes on from, by the log of its parent."""
    shared = shared_streams(connection, stream)
    parent = shared[-1] if shared else None
    found = None if parent is None else hash_at(connection, parent.key, parent.last)
    if parent is None or found is None:
        return None
    return ForkPoint(session_id=parent.session_id, version=parent.last, hash=found.hex())


def _lines(database: Database, stream: Stream, manifest: Manifest) -> Iterator[bytes]:
    digest = sha256()
    line = manifest.line()
    digest.update(line)
    yield line
    told: set[str] = set()
    for fact in stored_pages(database, stream):
        for blob in named_blobs(fact.state):
            line = b"" if blob.sha256 in told else _blob_line(database, stream, blob)
            told.add(blob.sha256)
            digest.update(line)
            if line:
                yield line
        line = event_line(fact)
        digest.update(line)
        yield line
    yield end_line(manifest.events, digest.hexdigest())


def _blob_line(database: Database, stream: Stream, blob: Blob) -> bytes:
    """Return the line of a blob; none if the store has only its name."""
    with database.read() as connection:
        content = content_of(connection, stream.project_id, blob.sha256)
    return b"" if content is None else blob_line(replace(blob, content=content))
