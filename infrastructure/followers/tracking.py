"""How far has each follower come, which of its generations is read, and whose turn is it?

A checkpoint moves in the transaction that writes the view's rows, and only from where its mover saw
it: whoever was overtaken writes nothing, so each fact counts once, whatever else happens. The lease
only keeps several workers from doing the same work in vain.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeAlias

from sqlalchemy import ColumnElement, Connection, Row, bindparam, func, select
from sqlalchemy.dialects import postgresql, sqlite

from infrastructure import tables as t
from infrastructure.prepared import Prepared

Status: TypeAlias = Literal["live", "building", "old"]
LEASE: Final = 2_000_000
"""Microseconds."""
LAG_LIMIT: Final = 100_000
"""A lag of more events is not counted out."""
_F: Final = t.followers.c
_EVERY: Final = Prepared(lambda _: select(t.followers).order_by(_F.follower, _F.generation))


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One generation of a follower's rows: how it was folded, and through which position."""

    follower: str
    generation: int
    fold_version: int
    status: Status
    position: int
    owner: str | None = None
    lease_until: int = 0

    def is_free(self, owner: str, now: int) -> bool:
        """Tell whether `owner` may go on with it."""
        # A lease from a clock that runs ahead of ours is no reason to wait for ever.
        left = self.lease_until - now
        return self.owner == owner or left <= 0 or left > 2 * LEASE


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """How far a view is behind what can be read of the log.

    Attributes:
        events: How many events, counted up to `LAG_LIMIT`.
        seconds: How long ago the first of them was recorded.
    """

    position: int
    events: int
    seconds: float


def standings(connection: Connection, follower: str) -> Sequence[Standing]:
    """Return the generations of a follower, oldest first."""
    statement = select(t.followers).where(_F.follower == follower).order_by(_F.generation)
    return [_standing(row) for row in connection.execute(statement)]


def every(connection: Connection) -> Mapping[str, Sequence[Standing]]:
    """Return the generations of each follower that has any, oldest first."""
    found: dict[str, list[Standing]] = {}
    for row in _EVERY.run(connection, {}):
        found.setdefault(row.follower, []).append(_standing(row))
    return found


def live(connection: Connection, follower: str) -> Standing | None:
    """Return the generation that is read; None before there is one."""
    statement = select(t.followers).where(_F.follower == follower, _F.status == "live")
    row = connection.execute(statement).first()
    return None if row is None else _standing(row)


def begin(connection: Connection, follower: str, fold_version: int) -> Standing | None:
    """Begin the first generation; None if another worker has."""
    return _insert(connection, follower, 1, fold_version, "live")


def begin_again(connection: Connection, follower: str, fold_version: int) -> Standing | None:
    """Begin another generation beside the one that is read; None if another worker has."""
    newest = select(func.max(_F.generation)).where(_F.follower == follower)
    generation = int(connection.execute(newest).scalar_one() or 0) + 1
    return _insert(connection, follower, generation, fold_version, "building")


def advance(
    connection: Connection, seen: Standing, position: int, *, owner: str, lease_until: int
) -> bool:
    """Move the checkpoint from where it was seen; False, and nothing, if it is not there."""
    if connection.dialect.name == "postgresql":
        # A worker that stands still in here lets go of the row, and has then done nothing.
        connection.exec_driver_sql(
            f"SET LOCAL idle_in_transaction_session_timeout = '{LEASE // 1_000}ms'"
        )
    moved = connection.execute(
        t.followers.update()
        .where(
            *_is(seen),
            _F.position == seen.position,
            _F.position < position,
            _F.status != "old",
        )
        .values(position=position, owner=owner, lease_until=lease_until)
    )
    return moved.rowcount == 1


def swap(connection: Connection, built: Standing) -> bool:
    """Have readers read what was built, if it has come as far as what they read.

    False, and nothing, if it has not, or is not being built any more.
    """
    statement = select(t.followers).where(_F.follower == built.follower).order_by(_F.generation)
    found = [_standing(row) for row in connection.execute(statement.with_for_update())]
    mine = next((each for each in found if each.generation == built.generation), None)
    read = next((each for each in found if each.status == "live"), None)
    if mine is None or mine.status != "building":
        return False
    if read is not None and (
        read.position > mine.position or read.fold_version > mine.fold_version
    ):
        return False
    for each in found:
        if each.generation < mine.generation:
            _set_status(connection, each, "old")
    _set_status(connection, mine, "live")
    return True


def give_up(connection: Connection, standing: Standing) -> None:
    """Have nobody go on with a generation; its rows are to be removed."""
    _set_status(connection, standing, "old")


def forget(connection: Connection, standing: Standing) -> None:
    """Remove an old generation, whose rows are gone."""
    connection.execute(t.followers.delete().where(*_is(standing), _F.status == "old"))


_BEHIND: Final = Prepared(
    lambda _: select(func.count()).select_from(
        select(t.events.c.position)
        .where(t.events.c.position > bindparam("position"))
        .limit(bindparam("most"))
        .subquery()
    )
)
_NEXT: Final = Prepared(
    lambda _: (
        select(t.events.c.recorded_at)
        .where(t.events.c.position > bindparam("position"))
        .order_by(t.events.c.position)
        .limit(1)
    )
)


def lag(connection: Connection, follower: str, now: int) -> Lag:
    """Return how far the generation that is read is behind."""
    read = live(connection, follower)
    position = 0 if read is None else read.position
    first = _NEXT.run(connection, {"position": position}).scalar_one_or_none()
    if first is None:
        return Lag(position=position, events=0, seconds=0.0)
    events = _BEHIND.run(connection, {"position": position, "most": LAG_LIMIT}).scalar_one()
    return Lag(position=position, events=events, seconds=max(now - first, 0) / 1_000_000)


def _insert(
    connection: Connection, follower: str, generation: int, fold_version: int, status: Status
) -> Standing | None:
    made = Standing(
        follower=follower,
        generation=generation,
        fold_version=fold_version,
        status=status,
        position=0,
    )
    insert: Callable[..., Any] = (
        sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    )
    statement = insert(t.followers).values(**asdict(made)).on_conflict_do_nothing()
    return made if connection.execute(statement.returning(_F.generation)).first() else None


def _set_status(connection: Connection, standing: Standing, status: Status) -> None:
    connection.execute(t.followers.update().where(*_is(standing)).values(status=status))


def _is(standing: Standing) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return _F.follower == standing.follower, _F.generation == standing.generation


def _standing(row: Row[Any]) -> Standing:
    return Standing(
        follower=row.follower,
        generation=row.generation,
        fold_version=row.fold_version,
        status=row.status,
        position=row.position,
        owner=row.owner,
        lease_until=row.lease_until,
    )
