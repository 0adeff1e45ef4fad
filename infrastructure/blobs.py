"""Where are blobs kept, and how does an event get its own back?

Once in a project, whatever names them; written in the transaction of the append that brings them.
An append locks what it finds, and the collection of what nobody names skips what is locked: so no
blob goes away while an event begins to need it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import Connection, Select, bindparam, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError

from domain.blobs import Blob
from domain.offloading import Incomplete, cuts_of, inline
from domain.recorded import Recorded
from infrastructure import tables as t
from infrastructure.database import Readable
from infrastructure.mapper import StoredFact
from infrastructure.prepared import Prepared

BLOB_LIMIT: Final = 32 * 1024 * 1024
_DEADLOCK: Final = "40P01"


def _insert(dialect: str) -> Any:  # noqa: ANN401 - SQLAlchemy's own generics
    insert = (sqlite.insert if dialect == "sqlite" else postgresql.insert)(t.blobs)
    columns: dict[str, Any] = {column.name: bindparam(column.name) for column in t.blobs.columns}
    return insert.values(columns).on_conflict_do_nothing()


def _named(_: str) -> Select[Any]:
    return (
        select(t.blobs.c.size)
        .where(
            t.blobs.c.project_id == bindparam("project_id"),
            t.blobs.c.sha256 == bindparam("sha256"),
        )
        .with_for_update(read=True, key_share=True)
    )


_INSERT: Final = Prepared(_insert)
_LOCK: Final = Prepared(_named)
_TOUCH: Final = Prepared(
    lambda _: (
        t.blobs.update()
        .where(
            t.blobs.c.project_id == bindparam("project_id_"),
            t.blobs.c.sha256 == bindparam("sha256_"),
        )
        .values(stored_at=bindparam("now"))
    )
)
_HOLD: Final = Prepared(
    lambda _: (
        t.blob_references.update()
        .where(
            t.blob_references.c.project_id == bindparam("project_id_"),
            t.blob_references.c.sha256 == bindparam("sha256_"),
            t.blob_references.c.held.is_(False),
        )
        .values(held=True)
    )
)
_REFER: Final = Prepared(lambda _: t.blob_references.insert())
_REFERENCES: Final = Prepared(
    lambda _: select(t.blob_references.c.sha256, t.blob_references.c.held).where(
        t.blob_references.c.session_key == bindparam("session_key"),
        t.blob_references.c.version == bindparam("version"),
    )
)
_CONTENT: Final = Prepared(
    lambda _: select(t.blobs.c.content, t.blobs.c.size).where(
        t.blobs.c.project_id == bindparam("project_id"), t.blobs.c.sha256 == bindparam("sha256")
    )
)
_CONTENT_OF_SESSION: Final = Prepared(
    lambda _: (
        select(t.blobs.c.content)
        .join(t.streams, t.streams.c.project_id == t.blobs.c.project_id)
        .where(
            t.streams.c.session_key == bindparam("session_key"),
            t.blobs.c.sha256 == bindparam("sha256"),
        )
    )
)


class Entangled(Exception):
    """Two writers waited for each other's blobs, and this one has to begin again."""


def keep(connection: Connection, project_id: str, blob: Blob, now: int) -> bool:
    """Keep a blob, if its bytes came and are not there; tell whether the store has them.

    What is there stays there at least until the transaction ends.

    Raises:
        Entangled: another writer was in the way.
    """
    name = {"project_id": project_id, "sha256": bytes.fromhex(blob.sha256)}
    try:
        if _LOCK.run(connection, name).first() is not None:
            return True
        if blob.content is None:
            return False
        size = len(blob.content)
        _INSERT.run(connection, {**name, "size": size, "stored_at": now, "content": blob.content})
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) == _DEADLOCK:
            raise Entangled from error
        raise
    return True


def put(connection: Connection, project_id: str, blob: Blob, now: int) -> bool:
    """Keep a blob that came by itself; tell whether it is new. It can be named for a day from now.

    Events that named it before it was there have it from now on.

    Raises:
        Entangled: another writer was in the way.
    """
    name = {"project_id": project_id, "sha256": bytes.fromhex(blob.sha256)}
    is_new = not keep(connection, project_id, replace(blob, content=None), now)
    if is_new:
        keep(connection, project_id, blob, now)
    else:
        _TOUCH.run(connection, {"project_id_": project_id, "sha256_": name["sha256"], "now": now})
    _HOLD.run(connection, {"project_id_": project_id, "sha256_": name["sha256"]})
    return is_new


def keep_of(
    connection: Connection, project_id: str, session_key: int, facts: Sequence[Recorded]
) -> None:
    """Keep the blobs that facts bring, and note which fact names which.

    Raises:
        Entangled: another writer was in the way.
    """
    named = {(fact.version, blob.sha256): blob for fact in facts for blob in fact.blobs}
    brought = {blob.sha256: blob for blob in named.values()}
    brought |= {blob.sha256: blob for blob in named.values() if blob.content is not None}
    now = facts[-1].envelope.recorded_at
    held = {
        digest: keep(connection, project_id, brought[digest], now) for digest in sorted(brought)
    }
    _REFER.many(
        connection,
        [
            {
                "session_key": session_key,
                "version": version,
                "sha256": bytes.fromhex(digest),
                "project_id": project_id,
                "media_type": blob.media_type,
                "held": held[digest],
            }
            for (version, digest), blob in named.items()
        ],
    )


def whole(connection: Connection, session_key: int, body: bytes | None) -> bytes | None:
    """Return all of a stored body, whatever of it was taken out; None if it is not there."""
    if body is None:
        return None
    body = bytes(body)
    if not cuts_of(body):
        return body
    params: dict[str, object] = {"session_key": session_key}
    try:
        return inline(body, _brought(connection, _CONTENT_OF_SESSION, params, body))
    except Incomplete:
        return None


def content_of(connection: Connection, project_id: str, digest: str) -> bytes | None:
    """Return a blob's bytes; None if the project does not have it."""
    name = {"project_id": project_id, "sha256": bytes.fromhex(digest)}
    row = _CONTENT.run(connection, name).first()
    return None if row is None else bytes(row.content)


def kept_blob(connection: Connection, project_id: str, digest: str) -> Blob | None:
    """Return a blob's bytes, and the size that is told of them; None if it is not there."""
    name = {"project_id": project_id, "sha256": bytes.fromhex(digest)}
    row = _CONTENT.run(connection, name).first()
    return None if row is None else Blob(sha256=digest, size=row.size, content=bytes(row.content))


def references(connection: Connection, session_key: int, version: int) -> dict[str, bool]:
    """Return the blobs that the store knows an event to name, and if it had them at any time."""
    rows = _REFERENCES.run(connection, {"session_key": session_key, "version": version})
    return {bytes(row.sha256).hex(): bool(row.held) for row in rows}


def refer(
    connection: Connection, project_id: str, session_key: int, named: Iterable[tuple[int, Blob]]
) -> None:
    """Note again which event, by its version, names which blob.

    Raises:
        Entangled: another writer was in the way.
    """
    rows = [
        {
            "session_key": session_key,
            "version": version,
            "sha256": bytes.fromhex(blob.sha256),
            "project_id": project_id,
            "media_type": blob.media_type,
            "held": keep(connection, project_id, replace(blob, content=None), 0),
        }
        for version, blob in sorted(named, key=lambda item: item[1].sha256)
    ]
    _REFER.many(connection, rows)


def completed(connection: Connection, stored: StoredFact) -> StoredFact:
    """Return a stored fact with the blobs that its body was cut for, as far as they are there."""
    if not cuts_of(stored.state):
        return stored
    params: dict[str, object] = {"project_id": stored.envelope.project_id}
    return replace(stored, blobs=tuple(_brought(connection, _CONTENT, params, stored.state)))


def completed_in(database: Readable, stored: StoredFact) -> StoredFact:
    """Return the same, read in a transaction of its own if there is anything to be read."""
    if not cuts_of(stored.state):
        return stored
    with database.read() as connection:
        return completed(connection, stored)


def _brought(
    connection: Connection, statement: Prepared, params: dict[str, object], body: bytes
) -> Iterator[Blob]:
    for digest in dict.fromkeys(cut.sha256 for cut in cuts_of(body)):
        named = {**params, "sha256": bytes.fromhex(digest)}
        row = statement.run(connection, named).first()
        if row is not None:
            content = bytes(row.content)
            yield Blob(sha256=digest, size=len(content), content=content)
