"""What does a project keep under a digest, and what stands in a stretch of it?

A stretch is cut out by the database, so that a range of something large costs what it shows.
"""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, Integer, bindparam, cast, func, select

from domain.blobs import is_media_type
from infrastructure import tables as t
from infrastructure.prepared import Prepared

_B: Final = t.blobs.c
_R: Final = t.blob_references.c


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobView:
    """A blob, and the media type that an event gave it."""

    sha256: str
    size: int
    media_type: str | None


_FIND: Final = Prepared(
    lambda _: select(
        _B.size,
        select(_R.media_type)
        .where(
            _R.project_id == bindparam("project_id"),
            _R.sha256 == bindparam("sha256"),
            _R.media_type.is_not(None),
        )
        .order_by(_R.session_key, _R.version)
        .limit(1)
        .scalar_subquery()
        .label("media_type"),
    ).where(_B.project_id == bindparam("project_id"), _B.sha256 == bindparam("sha256"))
)
_STRETCH: Final = Prepared(
    lambda _: select(
        func.substr(
            _B.content, cast(bindparam("first"), Integer), cast(bindparam("length"), Integer)
        ).label("content")
    ).where(_B.project_id == bindparam("project_id"), _B.sha256 == bindparam("sha256"))
)


def find_blob(connection: Connection, project_id: str, digest: str) -> BlobView | None:
    """Return what the project has under this digest, if it has it."""
    name = {"project_id": project_id, "sha256": bytes.fromhex(digest)}
    row = _FIND.run(connection, name).first()
    if row is None:
        return None
    told: str = row.media_type or ""
    known = told if is_media_type(told.partition(";")[0]) else None
    return BlobView(sha256=digest, size=row.size, media_type=known)


def stretch(
    connection: Connection, project_id: str, digest: str, start: int, length: int
) -> bytes | None:
    """Return `length` bytes from `start` on; None if the blob is not there any more."""
    name = {"project_id": project_id, "sha256": bytes.fromhex(digest)}
    row = _STRETCH.run(connection, {**name, "first": start + 1, "length": length}).first()
    return None if row is None else bytes(row.content)
