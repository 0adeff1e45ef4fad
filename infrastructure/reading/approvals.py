"""Which questions wait for an answer, in a session or in all of a project?

The inbox is read in the order of an index, whatever else the sessions hold.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from sqlalchemy import Connection, Row, Select, case, literal, or_, select, text, tuple_

from domain.events import Fact
from domain.identifiers import is_name
from domain.refusals import AmbiguousGate, NoSuchGate
from domain.state import Gate
from infrastructure import tables as t
from infrastructure.blobs import whole
from infrastructure.lineages import key_at, lineage_of
from infrastructure.reading.facts import fact_at
from infrastructure.recorder import ADDRESS
from infrastructure.serialization import decode
from infrastructure.view_rows import gate_of

GateFilter: TypeAlias = Literal["open", "all"]
EXPECTED_IN_PROJECT = (
    "no gate of this project has this gate_id; permission and tool call ids are taken below a "
    "session, message and event ids nowhere"
)
EXPECTED_IN_SESSION = (
    "no gate of this session has this gate_id, permission_id or tool_call_id; message and event "
    "ids are not taken"
)

_OPENED = t.events.alias("opened")
_CLOSED = t.events.alias("closed")
_ASKED = t.bodies.alias("asked")
_ANSWERED = t.bodies.alias("answered")


@dataclass(frozen=True, slots=True, kw_only=True)
class GateView:
    """A gate with the facts that opened and closed it, and the version that its session is at.

    Attributes:
        lane_id, reply_to: Where its turn's answer goes.
    """

    session_id: str
    gate: Gate
    opened: Fact | None
    closed: Fact | None
    closed_at: int | None
    through: int
    lane_id: str | None = None
    reply_to: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GateQuery:
    """Which gates, after which: newest first unless `ascending`.

    Attributes:
        session_key: Only this session's.
        through: Only what had opened by this version, as it stood then; for one session.
        after: (`opened_at`, `opened_version`, gate id) of the last one of the page before.
    """

    project_id: str
    session_key: int | None = None
    status: GateFilter = "open"
    through: int | None = None
    after: tuple[int, int, str] | None = None
    ascending: bool = False
    limit: int = 50


def gates(connection: Connection, query: GateQuery) -> Sequence[GateView]:
    """Return a page of gates; those of one batch have one time, and follow their versions."""
    c = t.gates.c
    order = (c.opened_at, c.opened_version, c.gate_id)
    statement = (
        _gates(query.project_id)
        .order_by(*(column if query.ascending else column.desc() for column in order))
        .limit(query.limit)
    )
    if query.session_key is not None:
        statement = statement.where(c.session_key == query.session_key)
    if query.through is not None:
        statement = statement.where(c.opened_version <= query.through)
    if query.status == "open":
        statement = statement.where(
            text("gates.status = 'open'")  # a literal, so that the index of open gates serves it
            if query.through is None
            else or_(c.closed_version.is_(None), c.closed_version > query.through)
        )
    if query.after is not None:
        after = tuple_(*map(literal, query.after))
        beyond = tuple_(*order) > after if query.ascending else tuple_(*order) < after
        statement = statement.where(beyond)
    return [_view(connection, row) for row in connection.execute(statement)]


def gate(connection: Connection, project_id: str, gate_id: str) -> GateView:
    """Return one gate of the project.

    Raises:
        NoSuchGate: no gate has this id.
    """
    # As the index says it; what a fork says of a gate of its parent is read in the fork.
    statement = _gates(project_id).where(t.gates.c.gate_id == gate_id, text("NOT gates.inherited"))
    row = connection.execute(statement).first() if is_name(gate_id) else None
    if row is None:
        raise NoSuchGate(EXPECTED_IN_PROJECT)
    return _view(connection, row)


def named_gate(connection: Connection, project_id: str, session_key: int, name: str) -> GateView:
    """Return the one gate of a session with this gate id, permission id or tool call id.

    Where an alias fits several, the one that is open is meant.

    Raises:
        NoSuchGate: it fits none.
        AmbiguousGate: it fits several, and not one of them alone is open.
    """
    c = t.gates.c
    exact = case((c.gate_id == name, 1), else_=0)
    is_open = case((c.status == "open", 1), else_=0)
    statement = (
        _gates(project_id)
        .where(
            c.session_key == session_key,
            or_(c.gate_id == name, c.permission_id == name, c.tool_call_id == name),
        )
        .order_by(exact.desc(), is_open.desc(), c.opened_version.desc())
        .limit(2)
    )
    found = (
        [_view(connection, row) for row in connection.execute(statement)] if is_name(name) else []
    )
    if not found:
        raise NoSuchGate(EXPECTED_IN_SESSION)
    first, *others = found
    if first.gate.gate_id != name and others:
        alone = first.gate.status == "open" and others[0].gate.status != "open"
        if not alone:
            raise AmbiguousGate
    return first


def _gates(project_id: str) -> Select[Any]:
    c = t.gates.c
    return (
        select(
            t.gates,
            t.streams.c.session_id,
            t.heads.c.version.label("through"),
            _OPENED.c.type.label("opened_type"),
            _OPENED.c.schema.label("opened_schema"),
            _ASKED.c.body.label("opened_body"),
            _CLOSED.c.type.label("closed_type"),
            _CLOSED.c.schema.label("closed_schema"),
            _CLOSED.c.recorded_at.label("closed_at"),
            _ANSWERED.c.body.label("closed_body"),
            *ADDRESS,
        )
        .join(t.streams, t.streams.c.session_key == c.session_key)
        .join(t.heads, t.heads.c.session_key == c.session_key)
        .outerjoin(
            t.turns,
            (t.turns.c.session_key == c.session_key) & (t.turns.c.turn_id == c.turn_id),
        )
        .outerjoin(_OPENED, _same(_OPENED, c.opened_version))
        .outerjoin(_ASKED, _same(_ASKED, c.opened_version))
        .outerjoin(_CLOSED, _same(_CLOSED, c.closed_version))
        .outerjoin(_ANSWERED, _same(_ANSWERED, c.closed_version))
        .where(c.project_id == project_id, t.heads.c.status != "deleted")
    )


def _same(table: Any, version: Any) -> Any:  # noqa: ANN401 - SQLAlchemy's own generics
    return (table.c.session_key == t.gates.c.session_key) & (table.c.version == version)


def _view(connection: Connection, row: Row[Any]) -> GateView:
    key = row.session_key
    asked, answered = (whole(connection, key, body) for body in (row.opened_body, row.closed_body))
    opened = _fact(row.opened_type, row.opened_schema, asked)
    if row.inherited:
        opened_in = key_at(key, lineage_of(connection, key), row.opened_version)
        opened = fact_at(connection, opened_in, row.opened_version)
    return GateView(
        session_id=row.session_id,
        gate=gate_of(row),
        opened=opened,
        closed=_fact(row.closed_type, row.closed_schema, answered),
        closed_at=row.closed_at,
        through=row.through,
        lane_id=row.lane_id,
        reply_to=row.reply_to,
    )


def _fact(type_: str | None, schema: int, body: bytes | None) -> Fact | None:
    return None if type_ is None else decode(type_, schema, body)
