"""Which facts tell why a turn was warm or cold: of its harness, of the one before, of what moved?

Looked up by an index of such facts, or by version, between the turn before and the one after;
never by a fold. A fork's turns are looked up in the session that recorded them: another session's
harness is not its own.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, bindparam, select, text

from domain import events as e
from domain.state import Turn
from infrastructure import tables as t
from infrastructure.lineages import parts
from infrastructure.prepared import Prepared
from infrastructure.reading.moment import Moment
from infrastructure.reading.turns import TurnView
from infrastructure.recorder import WITH_BODIES
from infrastructure.serialization import decode
from projections.explanation import Around, Moved, Told, parked_before

MOST: Final = 20
"""So many facts of each kind are told."""
_NO_END: Final = 2**31 - 1
_COLUMNS: Final = (
    *(t.events.c[name] for name in ("version", "recorded_at", "turn_id", "type", "schema")),
    t.bodies.c.body,
)


@dataclass(frozen=True, slots=True)
class _Stretch:
    """The facts of a session after a version, through another."""

    connection: Connection
    key: int
    after: int
    through: int

    def told(self, which: Prepared, after: int, before: int) -> list[Told]:
        """Return the newest facts of some kind after a version and before another."""
        params = {
            "session_key": self.key,
            "after": max(after, self.after),
            "before": min(before, self.through + 1),
            "limit": MOST,
        }
        return [_told(row) for row in which.run(self.connection, params)]

    def got(self, turn: Turn, before: int) -> Told | None:
        """Return the fact by which a turn's path is known: the first, or the last of its kind."""
        params = {
            "session_key": self.key,
            "after": turn.started_version,
            "before": min(before, self.through + 1),
            "turn_id": turn.turn_id,
        }
        row = (_RESUMED if turn.path == "warm" else _STARTED).run(self.connection, params).first()
        return None if row is None else _told(row)

    def moved(self, after: int, before: int) -> list[Moved]:
        """Return the first facts after a version and before another that changed the history."""
        params = {"session_key": self.key, "after": after, "before": before, "limit": MOST}
        return [
            Moved(
                version=row.version,
                type=row.type,
                at=row.recorded_at,
                actor=row.actor,
                producer=row.producer_id,
            )
            for row in _MOVED.run(self.connection, params)
        ]

    def history_version(self, version: int) -> int | None:
        """Return the version of the last fact, up to one, that changed the history."""
        params = {"session_key": self.key, "after": self.after, "version": version}
        found: int | None = _HISTORY.run(self.connection, params).scalar_one_or_none()
        return found

    def beside(self, turn: Turn) -> tuple[int, int]:
        """Return where the turn before began, and the one after."""
        params = {"session_key": self.key, "low": turn.number - 1, "high": turn.number + 1}
        began = {row.number: row.started_version for row in _BESIDE.run(self.connection, params)}
        return began.get(turn.number - 1, 0), began.get(turn.number + 1, _NO_END)


def around(connection: Connection, moment: Moment, found: TurnView) -> Around:
    """Return what is known of how a turn got its harness."""
    turn = found.turn
    stretch = _stretch(connection, moment, turn.started_version)
    before, after = stretch.beside(turn)
    refused = stretch.told(_REFUSED, before, turn.started_version)
    got = None if turn.path is None else stretch.got(turn, after)
    if got is None:
        return Around(turn=turn, end=found.end, refused=refused)
    told = [each for each in stretch.told(_SEATS, 0, got.version) if each.seat_id is not None]
    evicted = next((each for each in told if _lets_go_for(each, turn)), None)
    earlier = [each for each in told if not _lets_go_for(each, turn)]
    parked = parked_before(earlier)
    known = Around(turn=turn, end=found.end, got=got, earlier=earlier, evicted=evicted)
    if parked is None:
        return replace(known, refused=refused)
    pin = stretch.history_version(parked.version - 1)
    end = turn.started_version if parked.version < turn.started_version else got.version
    moved = stretch.moved(pin or 0, end) if turn.path_reason == "history" else ()
    return replace(known, refused=refused, pin=pin, moved=moved)


def _stretch(connection: Connection, moment: Moment, version: int) -> _Stretch:
    every = parts(moment.key, moment.lineage, moment.through)
    part = next(part for part in every if part.after < version <= part.through)
    return _Stretch(connection, part.key, part.after, part.through)


def _lets_go_for(told: Told, turn: Turn) -> bool:
    """Tell whether a seat was let go for this very turn."""
    return isinstance(told.fact, e.HarnessEvicted) and told.turn_id == turn.turn_id


def _told(row: Row[Any]) -> Told:
    body = None if row.body is None else bytes(row.body)
    return Told(
        version=row.version,
        at=row.recorded_at,
        turn_id=row.turn_id,
        fact=decode(row.type, row.schema, body),
    )


def _facts(*types: str) -> Select[Any]:
    events = t.events.c
    names = ", ".join(f"'{name}'" for name in types)
    return (
        select(*_COLUMNS)
        .select_from(WITH_BODIES)
        .where(
            events.session_key == bindparam("session_key"),
            events.version > bindparam("after"),
            events.version < bindparam("before"),
            text(f"events.{t.DISPATCHED}"),  # as the index says it
            text(f"events.type IN ({names})"),
        )
    )


def _newest(*types: str) -> Prepared:
    by_version = t.events.c.version.desc()
    return Prepared(lambda _: _facts(*types).order_by(by_version).limit(bindparam("limit")))


def _of_turn(type_: str, order: Any) -> Prepared:  # noqa: ANN401 - SQLAlchemy's own generics
    mine = t.events.c.turn_id == bindparam("turn_id")
    return Prepared(lambda _: _facts(type_).where(mine).order_by(order).limit(1))


_STARTED: Final = _of_turn("harness-started", t.events.c.version.desc())
_RESUMED: Final = _of_turn("harness-resumed", t.events.c.version)
_REFUSED: Final = _newest("dispatch-refused")
_SEATS: Final = _newest("harness-evicted", "harness-parked", "harness-resumed", "harness-started")
_MOVED: Final = Prepared(
    lambda _: (
        select(
            t.events.c.version,
            t.events.c.type,
            t.events.c.recorded_at,
            t.events.c.actor,
            t.events.c.producer_id,
        )
        .where(
            t.events.c.session_key == bindparam("session_key"),
            t.events.c.version > bindparam("after"),
            t.events.c.version < bindparam("before"),
            t.events.c.history.is_(True),
        )
        .order_by(t.events.c.version)
        .limit(bindparam("limit"))
    )
)
_HISTORY: Final = Prepared(
    lambda _: (
        select(t.events.c.version)
        .where(
            t.events.c.session_key == bindparam("session_key"),
            t.events.c.version > bindparam("after"),
            t.events.c.version <= bindparam("version"),
            t.events.c.history.is_(True),
        )
        .order_by(t.events.c.version.desc())
        .limit(1)
    )
)
_BESIDE: Final = Prepared(
    lambda _: select(t.turns.c.number, t.turns.c.started_version).where(
        t.turns.c.session_key == bindparam("session_key"),
        t.turns.c.number >= bindparam("low"),
        t.turns.c.number <= bindparam("high"),
    )
)
