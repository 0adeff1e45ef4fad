"""Which tool is a fact about, and which facts are about a tool?

A request and most gates say it; for a result and for an answer the tables of calls and gates know
it, by their keys. Both tables are as narrow as names are, and no fact is read.
"""

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    bindparam,
    func,
    null,
    select,
    union_all,
)

from domain import events as e
from domain.events import Fact
from domain.identifiers import is_id, is_name
from domain.raw_json import dumped
from infrastructure import tables as t
from infrastructure.prepared import Prepared
from infrastructure.reading.given import given

_C: Final = t.calls.c
_G: Final = t.gates.c


def tools_of(
    connection: Connection, key: int, facts: Mapping[int, Fact | None]
) -> Mapping[int, str]:
    """Return by version the names of the tools that results, gates and answers are about."""
    calls: set[tuple[str, str]] = set()
    gates: set[str] = set()
    for fact in facts.values():
        match fact:
            case e.ToolCallCompleted(turn_id=turn_id, tool_call_id=call_id):
                calls |= {(turn_id, call_id)} if is_id(turn_id) and is_name(call_id) else set()
            case (
                e.GateOpened(gate_id=str(gate_id))
                | e.GateDecided(gate_id=str(gate_id))
                | e.GateExpired(gate_id=gate_id)
                | e.GateWithdrawn(gate_id=gate_id)
            ):
                gates |= {gate_id} if is_name(gate_id) else set()
            case _:
                pass
    if not calls and not gates:
        return {}
    wanted = {"calls": dumped(sorted(calls)).decode(), "gates": dumped(sorted(gates)).decode()}
    rows = _NAMED.run(connection, {"session_key": key, **wanted})
    return {
        version: name
        for first, last, name in rows
        for version in (first, last)
        if name is not None and version in facts
    }


def about_tool(connection: Connection, key: int, tool: str) -> frozenset[int]:
    """Return the versions of facts that can be about a tool: all that are, and few more.

    Few are the requests that did not take over the place of the call that a gate had opened: which
    name such a request has, only itself says.
    """
    calls = select(_C.requested_version, _C.completed_version).where(
        _C.session_key == key, _C.name == tool
    )
    gates = select(_G.opened_version, _G.closed_version).where(
        _G.session_key == key, _tool() == tool
    )
    rows = connection.execute(union_all(calls, gates))
    found = frozenset(version for row in rows for version in row if version is not None)
    return found | _requests_apart(connection, key)


def _requests_apart(connection: Connection, key: int) -> frozenset[int]:
    event = t.events.c
    opened = select(_G.opened_version).where(_G.session_key == key)
    apart = select(_C.turn_id, _C.requested_version, _C.completed_version).where(
        _C.session_key == key, _C.announced, _C.requested_version.in_(opened)
    )
    found: set[int] = set()
    for turn_id, after, until in connection.execute(apart):
        requests = select(event.version).where(
            event.session_key == key,
            event.version > after,
            event.version <= func.coalesce(until, event.version),
            event.turn_id == turn_id,
            event.type == "tool-call-requested",
        )
        found |= set(connection.execute(requests).scalars())
    return frozenset(found)


def _tool() -> ColumnElement[str | None]:
    """Return what a gate's tool is: what it said, or what the call that it names is a call of."""
    c = t.calls.alias("held").c
    held = (
        select(c.name)
        .where(
            c.session_key == _G.session_key,
            c.turn_id == _G.turn_id,
            c.tool_call_id == _G.tool_call_id,
            c.requested_version + 0 <= _G.opened_version,  # not by the index of it
        )
        .order_by(c.occurrence.desc())
        .limit(1)
        .correlate(t.gates)
        .scalar_subquery()
    )
    return func.coalesce(_G.tool, held)


def _named(dialect: str) -> Any:  # noqa: ANN401 - SQLAlchemy's own generics
    calls, gates = given(dialect, "calls"), given(dialect, "gates")
    turn_id, call_id = calls.pair
    of_calls = calls.rows.outerjoin(
        t.calls,
        (_C.session_key == bindparam("session_key"))
        & (_C.turn_id == turn_id)
        & (_C.tool_call_id == call_id),
    )
    of_gates = gates.rows.outerjoin(
        t.gates, (_G.session_key == bindparam("session_key")) & (_G.gate_id == gates.text)
    )
    return union_all(
        select(_C.completed_version.label("first"), null().label("last"), _C.name).select_from(
            of_calls
        ),
        select(_G.opened_version, _G.closed_version, _tool()).select_from(of_gates),
    )


_NAMED: Final = Prepared(_named)
