"""By which call of its parent was a sub-agent's session begun?

It is decided when the session opens: the call that is named, if it can have begun one, else the one
that waits longest of those that begin sub-agents. No call begins two, nor one that was denied or
failed. Those who open sessions of one parent at once come one after the other.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, cast

from sqlalchemy import Connection, select

from domain.commands import OpenSession
from domain.decide import check_parent_names
from domain.events.session import ApprovalMode, Parent
from domain.refusals import NoSuchParent, ParentIsBelow, SessionExists, TooDeepBelow
from domain.state import GONE, Head
from infrastructure import tables as t
from infrastructure.lookup import find_head

SPAWNING_TOOLS: Final = frozenset(
    {"agent", "delegate", "delegate_task", "spawn_agent", "subagent", "task"}
)
"""What tools that begin a sub-agent are called, where the settings do not say it."""
MOST_ABOVE: Final = 16
"""So many sessions can be above one."""
_HELD_BY: Final = ("open", "denied", "denied-by-policy", "expired", "withdrawn")
"""A call that was asked about, and the answer was not yes, has begun nothing."""


def placed(
    connection: Connection,
    project_id: str,
    session_id: str,
    command: OpenSession,
    spawning_tools: frozenset[str],
) -> OpenSession:
    """Return what opens a session that does not exist: of a sub-agent's, the call is found.

    Approvals of a sub-agent are settled as its parent's, unless the command says how.

    Raises:
        InvalidValue: nothing can have such an id or name.
        NoSuchParent: the parent is not there.
        ParentIsBelow: it is the session itself, or would be below it.
        TooDeepBelow: too many sessions would be above it.
    """
    parent = command.parent
    if parent is None:
        return command
    check_parent_names(parent)
    key, head = _head(connection, project_id, parent.session_id)
    if key is None or head.status in GONE:
        raise ParentIsBelow if parent.session_id == session_id else NoSuchParent
    _check_above(connection, project_id, session_id, parent.session_id, head)
    call = None
    if head.turn_id is not None:
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%(key)s)", {"key": key})
        call = _call(connection, (project_id, key, head.turn_id), parent, spawning_tools)
    return replace(
        command,
        parent=replace(parent, turn_id=None if call is None else head.turn_id, tool_call_id=call),
        approval_mode=command.approval_mode or cast("ApprovalMode | None", head.approval_mode),
    )


def check_parent(head: Head, parent: Parent) -> None:
    """Check that a session that is there was opened as this parent's.

    Raises:
        SessionExists: it is another's, or nobody's.
    """
    same = parent.tool_call_id is None or head.parent_call_id in {None, parent.tool_call_id}
    called = parent.agent_id in {None, head.agent_id}
    if head.parent_session_id != parent.session_id or not (same and called):
        refusal = SessionExists()
        refusal.at = ("parent",)
        raise refusal


def _head(connection: Connection, project_id: str, session_id: str) -> tuple[int | None, Head]:
    key, state = find_head(connection, project_id, session_id)
    return key, state.head


def _check_above(
    connection: Connection, project_id: str, session_id: str, parent_id: str, head: Head
) -> None:
    above: str | None = parent_id
    for _ in range(MOST_ABOVE):
        if above == session_id:
            raise ParentIsBelow
        above = head.parent_session_id
        if above is None:
            return
        _, head = _head(connection, project_id, above)
    raise TooDeepBelow(MOST_ABOVE)


def _call(
    connection: Connection,
    parent: tuple[str, int, str],
    named: Parent,
    spawning_tools: frozenset[str],
) -> str | None:
    """Return the call of the parent's turn that a session that opens now was begun by."""
    project_id, key, turn_id = parent
    calls = _calls(connection, key, turn_id, named.tool_call_id)
    if named.tool_call_id is None:
        calls = [call for call in calls if (call.name or "").lower() in spawning_tools]
    else:
        calls = [call for call in calls[-1:] if call.status in {"open", "completed"}]
    if not calls:
        return None
    taken = _claimed(connection, project_id, named.session_id, turn_id)
    taken |= _held(connection, key, turn_id)
    return next((call.tool_call_id for call in calls if call.tool_call_id not in taken), None)


def _calls(connection: Connection, key: int, turn_id: str, call_id: str | None) -> Sequence[Any]:
    call = t.calls.c
    statement = (
        select(call.tool_call_id, call.name, call.status)
        .where(call.session_key == key, call.turn_id == turn_id)
        .order_by(call.requested_version, call.occurrence)
    )
    if call_id is None:
        statement = statement.where(call.status == "open")
    else:
        statement = statement.where(call.tool_call_id == call_id)
    return connection.execute(statement).all()


def _claimed(connection: Connection, project_id: str, parent_id: str, turn_id: str) -> set[str]:
    head = t.heads.c
    statement = select(head.parent_call_id).where(
        head.project_id == project_id,
        head.parent_session_id == parent_id,
        head.parent_turn_id == turn_id,
        head.parent_call_id.is_not(None),
    )
    return set(connection.execute(statement).scalars())


def _held(connection: Connection, key: int, turn_id: str) -> set[str]:
    gate = t.gates.c
    statement = select(gate.tool_call_id).where(
        gate.session_key == key,
        gate.turn_id == turn_id,
        gate.tool_call_id.is_not(None),
        gate.status.in_(_HELD_BY),
    )
    return set(connection.execute(statement).scalars())
