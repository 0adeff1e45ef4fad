"""Which sessions are those of a session's sub-agents, and what stops them together with it?"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from sqlalchemy import Connection, Select, bindparam, select

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


def keys_with_below(session_key: int) -> Select[tuple[int]]:
    """Select a session's key, and those of its sub-agents' sessions, and of theirs, and so on.

    It is one statement, or a part of one, however many they are: a database takes only so many
    values with a statement.
    """
    head, stream = t.heads.c, t.streams.c
    joined = t.heads.join(t.streams, stream.session_key == head.session_key)
    columns = (head.session_key, head.project_id, stream.session_id)
    found = (select(*columns).select_from(joined).where(head.session_key == session_key)).cte(
        "found", recursive=True
    )
    below = (head.project_id == found.c.project_id) & (head.parent_session_id == found.c.session_id)
    found = found.union(select(*columns).select_from(joined.join(found, below)))
    return select(found.c.session_key)


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
