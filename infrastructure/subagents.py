"""Which sessions are those of a session's sub-agents, and what stops them together with it?"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from sqlalchemy import Connection, bindparam, select

from domain.commands import InterruptTurn
from domain.events import TurnInterrupted
from domain.recorded import Recorded
from infrastructure import tables as t
from infrastructure.prepared import Prepared


class Child(NamedTuple):
    """A sub-agent's session, right below another one.

    Attributes:
        turn_id: Its turn that has not ended.
        updated_at: When something was last recorded of it.
    """

    key: int
    session_id: str
    status: str
    turn_id: str | None
    updated_at: int


_CHILDREN: Final = Prepared(
    lambda _: (
        select(
            t.heads.c.session_key,
            t.streams.c.session_id,
            t.heads.c.status,
            t.heads.c.turn_id,
            t.heads.c.updated_at,
        )
        .join(t.streams, t.streams.c.session_key == t.heads.c.session_key)
        .where(
            t.heads.c.project_id == bindparam("project_id"),
            t.heads.c.parent_session_id == bindparam("session_id"),
        )
        .order_by(t.heads.c.session_key)
    )
)


def children_of(connection: Connection, project_id: str, session_id: str) -> list[Child]:
    """Return the sessions of a session's sub-agents, whatever became of them, the first ones first.

    Only those right below it: each can have its own.
    """
    named = {"project_id": project_id, "session_id": session_id}
    return [Child(*row) for row in _CHILDREN.run(connection, named)]


def keys_below(connection: Connection, project_id: str, session_id: str) -> list[int]:
    """Return the keys of the sessions of a session's sub-agents, and of theirs, and so on."""
    found: list[int] = []
    seen, names = {session_id}, [session_id]
    while names:
        rows = connection.execute(
            select(t.heads.c.session_key, t.streams.c.session_id)
            .join(t.streams, t.streams.c.session_key == t.heads.c.session_key)
            .where(t.heads.c.project_id == project_id, t.heads.c.parent_session_id.in_(names))
        ).all()
        names = [row.session_id for row in rows if row.session_id not in seen]
        found += [row.session_key for row in rows if row.session_id not in seen]
        seen |= {*names}
    return found


def stopped_with(
    connection: Connection, project_id: str, session_id: str, facts: Sequence[Recorded]
) -> Iterator[tuple[str, InterruptTurn]]:
    """Yield, for each sub-agent that runs, what stops it as its parent was by `facts`.

    Those below a turn that ended by itself are left to whoever runs them.
    """
    ends = [fact.event for fact in facts if isinstance(fact.event, TurnInterrupted)]
    if not ends:
        return
    for child in children_of(connection, project_id, session_id):
        if child.turn_id is not None:
            yield (
                child.session_id,
                InterruptTurn(turn_id=child.turn_id, reason=ends[-1].reason, by=ends[-1].by),
            )
