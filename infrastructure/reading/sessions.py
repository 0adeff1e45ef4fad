"""Which sessions are there, and where does one stand?"""

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase
from typing import Final, Literal, TypeAlias

from sqlalchemy import (
    ColumnElement,
    Connection,
    bindparam,
    func,
    literal,
    literal_column,
    select,
    tuple_,
)

from domain.raw_json import RawJson
from domain.refusals import NoSuchSession, SessionDamaged
from domain.state import GONE, Head, Turn
from infrastructure import tables as t
from infrastructure.agreement import Agreement, agreement_of
from infrastructure.blobs import whole
from infrastructure.command_handler import Target
from infrastructure.lineages import key_at, lineage
from infrastructure.lookup import find_head
from infrastructure.prepared import Prepared
from infrastructure.serialization import Unreadable, members_of
from infrastructure.view_rows import head_of, turn_of

StatusFilter: TypeAlias = Literal["open", "suspended", "archived", "deleted", "all"]
ANY_PARENT: Final = "*"

_BODY: Final = Prepared(
    lambda _: (
        select(t.events.c.type, t.events.c.schema, t.bodies.c.body)
        .select_from(
            t.events.outerjoin(
                t.bodies,
                (t.bodies.c.session_key == t.events.c.session_key)
                & (t.bodies.c.version == t.events.c.version),
            )
        )
        .where(
            t.events.c.session_key == bindparam("session_key"),
            t.events.c.version == bindparam("version"),
        )
    )
)
_TURN: Final = Prepared(
    lambda _: select(t.turns).where(
        t.turns.c.session_key == bindparam("session_key"),
        t.turns.c.turn_id == bindparam("turn_id"),
    )
)
_LOWER: Final = str.maketrans(ascii_uppercase, ascii_lowercase)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """A session as it stands; what it was opened and configured with is JSON as it came."""

    session_id: str
    head: Head
    open_turn: Turn | None = None
    config: RawJson | None = None
    source: RawJson | None = None
    agreed_in_a_row: int = 0
    agreement: Agreement | None = None


def session(connection: Connection, target: Target, *, deleted: bool = False) -> SessionView:
    """Return the session.

    Raises:
        NoSuchSession: it was never opened, or is deleted and `deleted` does not ask for those.
    """
    key, head, turn = session_head(connection, target, deleted=deleted)
    agreement = agreement_of(connection, key)
    shared = lineage(connection, key, head)
    opened = _fact_body(connection, key_at(key, shared, 1), 1)
    source = config = None
    if opened is not None:
        source = _given(opened, "source")
    if head.config_version is not None:
        configured_in = key_at(key, shared, head.config_version)
        configured = _fact_body(connection, configured_in, head.config_version)
        if configured is not None:
            config = _given(configured, "config")
    return SessionView(
        session_id=target.session_id,
        head=head,
        open_turn=turn,
        config=config,
        source=source,
        agreed_in_a_row=0 if agreement is None else agreement.consecutive,
        agreement=agreement,
    )


def session_head(
    connection: Connection, target: Target, *, deleted: bool = False
) -> tuple[int, Head, Turn | None]:
    """Return the session's key in the tables, its head, and the turn that has not ended.

    Raises:
        NoSuchSession: as `session`.
        SessionDamaged: the log has its facts and not its head.
    """
    key, state = find_head(connection, target.project_id, target.session_id)
    if key is not None and not state.head.version:
        raise SessionDamaged
    gone = state.head.status in GONE and not (deleted and state.head.status == "deleted")
    if key is None or gone:
        raise NoSuchSession
    turn = None
    if state.head.turn_id is not None:
        row = _TURN.run(connection, {"session_key": key, "turn_id": state.head.turn_id}).first()
        turn = None if row is None else turn_of(row)
    return key, state.head, turn


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionQuery:
    """Which sessions, in which order, after which: newest activity first unless `ascending`.

    Attributes:
        after: (`updated_at`, session key) of the last one of the page before.
        parent: Only children of this session; None for those without; or `ANY_PARENT`.
        forked_from: Only forks of this session.
        pinned: Only those that are pinned, or only those that are not.
        title: A part of the title; A to Z in any case, on either database.
    """

    project_id: str
    status: StatusFilter = "open"
    pinned: bool | None = None
    parent: str | None = ANY_PARENT
    forked_from: str | None = None
    title: str | None = None
    updated_since: int | None = None
    after: tuple[int, int] | None = None
    ascending: bool = False
    limit: int = 50


def sessions(connection: Connection, query: SessionQuery) -> Sequence[tuple[int, SessionView]]:
    """Return a page of sessions, each with its key in the tables."""
    order = (t.heads.c.updated_at, t.heads.c.session_key)
    statement = (
        select(t.streams.c.session_id, t.heads, t.agreements.c.consecutive)
        .join(t.streams, t.streams.c.session_key == t.heads.c.session_key)
        .outerjoin(t.agreements, t.agreements.c.session_key == t.heads.c.session_key)
        .where(t.heads.c.project_id == query.project_id)
        .order_by(*(column if query.ascending else column.desc() for column in order))
        .limit(query.limit)
    )
    if query.status == "all":
        statement = statement.where(t.heads.c.status != "purged")
    else:
        # A literal, so that the plan is one for this status, whatever the others are like.
        statement = statement.where(t.heads.c.status == literal_column(f"'{query.status}'"))
    if query.pinned is not None:
        statement = statement.where(t.heads.c.pinned.is_(query.pinned))
    if query.parent is None:
        statement = statement.where(t.heads.c.parent_session_id.is_(None))
    elif query.parent != ANY_PARENT:
        statement = statement.where(t.heads.c.parent_session_id == query.parent)
    if query.forked_from is not None:
        statement = statement.where(t.heads.c.forked_from == query.forked_from)
    if query.title is not None:
        statement = statement.where(_titled(connection, query.title))
    if query.updated_since is not None:
        statement = statement.where(t.heads.c.updated_at >= query.updated_since)
    if query.after is not None:
        place = tuple_(*order)
        after = tuple_(*map(literal, query.after))
        statement = statement.where(place > after if query.ascending else place < after)
    rows = list(connection.execute(statement))
    running = _running(connection, [row.session_key for row in rows if row.turn_id is not None])
    return [
        (
            row.session_key,
            SessionView(
                session_id=row.session_id,
                head=head_of(row),
                open_turn=running.get(row.session_key),
                agreed_in_a_row=row.consecutive or 0,
            ),
        )
        for row in rows
    ]


def _titled(connection: Connection, part: str) -> ColumnElement[bool]:
    title = t.heads.c.title
    # SQLite's lower() and LIKE know the letters A to Z only, as does PostgreSQL's collation "C".
    plain = title if connection.dialect.name == "sqlite" else title.collate("C")
    return func.lower(plain).contains(part.translate(_LOWER), autoescape=True)


def _running(connection: Connection, keys: Sequence[int]) -> dict[int, Turn]:
    if not keys:
        return {}
    statement = (
        select(t.turns)
        .join(
            t.heads,
            (t.heads.c.session_key == t.turns.c.session_key)
            & (t.heads.c.turn_id == t.turns.c.turn_id),
        )
        .where(t.turns.c.session_key.in_(keys))
    )
    return {row.session_key: turn_of(row) for row in connection.execute(statement)}


def _fact_body(connection: Connection, key: int, version: int) -> tuple[str, int, bytes] | None:
    row = _BODY.run(connection, {"session_key": key, "version": version}).first()
    if row is None:
        return None
    body = whole(connection, key, row.body)
    return None if body is None else (row.type, row.schema, body)


def _given(stored: tuple[str, int, bytes], name: str) -> RawJson | None:
    """Return a member as it was sent, if it was and can be read."""
    type_, _, body = stored
    try:
        value = members_of(type_, body).get(name)
    except Unreadable:
        return None
    return value if isinstance(value, RawJson) and value != b"null" else None
