"""Was this very request answered before?

A key is claimed in the transaction that writes, first, so that a second request with it waits for
the first and then sees its answer. A row keeps the request's digest and what to rebuild the answer
from, never what was said; it is kept for a day.
"""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from sqlalchemy import Connection, bindparam, delete, literal_column, select, tuple_
from sqlalchemy.dialects import postgresql, sqlite

from infrastructure import tables as t
from infrastructure.commit import Contended
from infrastructure.prepared import Prepared

KEPT_US: Final = 24 * 3600 * 1_000_000
FORGOTTEN_AT_ONCE: Final = 100

_FIND: Final = Prepared(
    lambda _: select(t.idempotency).where(
        t.idempotency.c.project_id == bindparam("project_id"),
        t.idempotency.c.key == bindparam("key"),
        t.idempotency.c.claimed_at > bindparam("oldest"),
    )
)


def _forget(dialect: str) -> Any:  # noqa: ANN401 - SQLAlchemy's own generics
    """Delete a few rows that are too old; never wait for somebody else who does."""
    i = t.idempotency.c
    old = (
        select(i.project_id, i.key)
        .where(i.claimed_at <= bindparam("oldest"))
        .limit(literal_column(str(FORGOTTEN_AT_ONCE)))
    )
    if dialect == "postgresql":
        old = old.with_for_update(skip_locked=True)
    return delete(t.idempotency).where(tuple_(i.project_id, i.key).in_(old))


def _claim(dialect: str) -> Any:  # noqa: ANN401 - one of two classes without a common one
    """Write the row, over one that is too old; no row comes back if another request has the key."""
    insert = sqlite.insert if dialect == "sqlite" else postgresql.insert
    statement = insert(t.idempotency).values(
        {c.name: bindparam(c.name) for c in t.idempotency.columns}
    )
    keys = ("project_id", "key")
    return statement.on_conflict_do_update(
        index_elements=keys,
        set_={c.name: statement.excluded[c.name] for c in t.idempotency.c if c.name not in keys},
        where=t.idempotency.c.claimed_at <= bindparam("oldest"),
    ).returning(t.idempotency.c.claimed_at)


_FORGET: Final = Prepared(_forget)
_CLAIM: Final = Prepared(_claim)
_UNCLAIM: Final = Prepared(
    lambda _: t.idempotency.delete().where(
        t.idempotency.c.project_id == bindparam("project_id"),
        t.idempotency.c.key == bindparam("key"),
    )
)
_KEEP: Final = Prepared(
    lambda _: (
        t.idempotency.update()
        .where(
            t.idempotency.c.project_id == bindparam("project_id_"),
            t.idempotency.c.key == bindparam("key_"),
        )
        .values(
            status=bindparam("status"),
            first_version=bindparam("first_version"),
            last_version=bindparam("last_version"),
            result=bindparam("result"),
        )
    )
)


class KeyReused(Exception):
    """The key came before with another request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyKey:
    """A request's key, and the SHA-256 of the request that it stands for."""

    project_id: str
    key: str
    request_digest: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What the first request with a key was answered with.

    Attributes:
        result: JSON that the answer is rebuilt from, together with the versions.
    """

    status: int
    first_version: int | None
    last_version: int | None
    result: bytes


def key_of(project_id: str, natural: str) -> IdempotencyKey:
    """Return the key of what happens once, whoever asks; no client's key holds such a character."""
    digest = sha256(natural.encode()).digest()
    return IdempotencyKey(project_id=project_id, key=f"\x1f{natural}", request_digest=digest)


def find(connection: Connection, key: IdempotencyKey, now: int) -> Kept | None:
    """Return what the key was answered with; None if it never came, or too long ago.

    Raises:
        KeyReused: the key stands for another request.
    """
    who = {"project_id": key.project_id, "key": key.key}
    row = _FIND.run(connection, who | {"oldest": now - KEPT_US}).first()
    if row is None:
        return None
    if bytes(row.request_digest) != key.request_digest:
        raise KeyReused
    return Kept(
        status=row.status,
        first_version=row.first_version,
        last_version=row.last_version,
        result=bytes(row.result),
    )


def claim(connection: Connection, key: IdempotencyKey, now: int) -> Kept | None:
    """Claim the key for this transaction, or return what it was answered with.

    Raises:
        KeyReused: the key stands for another request.
        Contended: another transaction claims it at this moment.
    """
    who = {"project_id": key.project_id, "key": key.key}
    _FORGET.run(connection, {"oldest": now - KEPT_US})
    kept = find(connection, key, now)
    if kept is not None:
        return kept
    blank = dict.fromkeys(("status", "session_key", "first_version", "last_version", "result"))
    mine = {"request_digest": key.request_digest, "claimed_at": now, "oldest": now - KEPT_US}
    if not _CLAIM.run(connection, who | blank | mine):
        raise Contended
    return None


def unclaim(connection: Connection, key: IdempotencyKey) -> None:
    """Give back a key that this transaction claimed: nothing was recorded for it."""
    _UNCLAIM.run(connection, {"project_id": key.project_id, "key": key.key})


def keep(connection: Connection, key: IdempotencyKey, kept: Kept) -> None:
    """Keep what the request was answered with."""
    _KEEP.run(
        connection,
        {
            "project_id_": key.project_id,
            "key_": key.key,
            "status": kept.status,
            "first_version": kept.first_version,
            "last_version": kept.last_version,
            "result": kept.result,
        },
    )


def said_once(
    connection: Connection, key: IdempotencyKey | None, now: int, say: Callable[[], bytes]
) -> bytes:
    """Return the JSON that `say` answers with, or that it answered with before.

    Raises:
        KeyReused: the key stands for another request.
        Contended: another transaction claims it at this moment.
    """
    if key is None:
        return say()
    kept = claim(connection, key, now)
    if kept is not None:
        return kept.result
    said = say()
    keep(connection, key, Kept(status=200, first_version=None, last_version=None, result=said))
    return said
