"""How does a lane stand in the views' tables?"""

from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic_core import from_json
from sqlalchemy import bindparam, text

from domain.lanes.state import Bound, Lane
from domain.raw_json import dumped
from infrastructure import tables as t
from infrastructure.lanes.facts import lane_of
from infrastructure.prepared import PreparedRows
from infrastructure.view_rows import XID, upsert

_KEYS: Final = ("session_key", "project_id", "lane_id")
_JSON: Final = frozenset({"source", "policy"})
_FLAGS: Final = frozenset({"shared", "had_activity", "follows", "pinned"})


def lane_row(session_key: int, project_id: str, stream: str, lane: Lane) -> tuple[object, ...]:
    """Return a lane's columns, in the order that the statements here want."""
    return (session_key, project_id, lane_of(stream) or stream, *_values(lane))


def lane_values(session_key: int, project_id: str, stream: str, lane: Lane) -> dict[str, object]:
    """Return a lane's columns by name, but who wrote them last."""
    row = lane_row(session_key, project_id, stream, lane)
    return dict(zip((*_KEYS, *Lane._fields), row, strict=True))


def lane_in(row: Any) -> Lane:  # noqa: ANN401 - a row of whatever joins `lanes`
    """Return the lane in a row of `lanes`."""
    given: dict[str, Any] = {name: getattr(row, name) for name in Lane._fields}
    for name in _JSON:
        given[name] = _mapping(given[name])
    for name in _FLAGS:
        given[name] = bool(given[name])
    given["hash"] = bytes(given["hash"])
    return Lane(**given)


def bound_row(session_key: int, bound: Bound) -> tuple[object, ...]:
    """Return the columns of a session that a lane has or had, in their order."""
    return (session_key, *bound)


def _values(lane: Lane) -> tuple[object, ...]:
    return tuple(
        dumped(dict(value)) if name in _JSON else value for name, value in lane._asdict().items()
    )


def _mapping(stored: bytes) -> Mapping[str, object]:
    """Return what is stored; nothing of what cannot be read, so that all others are listed."""
    try:
        found: object = from_json(stored)
    except ValueError:
        return {}
    return cast("Mapping[str, object]", found) if isinstance(found, dict) else {}


def _columns(dialect: str, more: tuple[str, ...] = ()) -> dict[str, Any]:
    given: dict[str, Any] = {name: bindparam(name) for name in (*more, *Lane._fields)}
    return given | {"last_xid": text("0" if dialect == "sqlite" else XID)}


INSERT_LANE: Final = PreparedRows(
    lambda dialect: t.lanes.insert().values(_columns(dialect, _KEYS)).returning(t.lanes.c.last_xid),
    (*_KEYS, *Lane._fields),
)
UPDATE_LANE: Final = PreparedRows(
    lambda dialect: (
        t.lanes.update()
        .where(
            t.lanes.c.session_key == bindparam("session_key_"),
            t.lanes.c.version == bindparam("seen_"),
            text("1=1" if dialect == "sqlite" else f"last_xid <= {XID}"),
        )
        .values(_columns(dialect))
        .returning(t.lanes.c.last_xid)
    ),
    ("session_key_", "seen_", *Lane._fields),
)
UPSERT_BOUND: Final = upsert(t.lane_sessions, ("session_key", *Bound._fields))
