"""Which sub-agents did a session run, by which calls, and what did each use?"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, func, select

from domain.state import Head
from infrastructure import tables as t
from infrastructure.command_handler import Target
from infrastructure.view_rows import head_of

_SUMS: Final = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subagent:
    """A session right below another.

    Attributes:
        key: What names it in the tables.
        paused: Whether its turn waits for an answer.
        below: How many sessions are right below it.
        tokens: What its turns used, by kind; not those below it.
    """

    key: int
    session_id: str
    head: Head
    paused: bool
    below: int
    tokens: Mapping[str, int]


def subagents(connection: Connection, target: Target, after: int, limit: int) -> Sequence[Subagent]:
    """Return the sub-agents of a session, the first one first: those with a key after one."""
    head, turn = t.heads.c, t.turns.c
    statement = (
        select(t.streams.c.session_id, t.heads)
        .join(t.streams, t.streams.c.session_key == head.session_key)
        .where(
            head.project_id == target.project_id,
            head.parent_session_id == target.session_id,
            head.status.not_in(("deleted", "purged")),
            head.session_key > after,
        )
        .order_by(head.session_key)
        .limit(limit)
    )
    rows = connection.execute(statement).all()
    if not rows:
        return []
    sums = select(
        turn.session_key,
        *(func.sum(turn[name]).label(name) for name in _SUMS),
        func.sum(turn.open_gates).filter(turn.status == "running").label("gates"),
        func.sum(turn.open_calls - turn.gated_calls).filter(turn.status == "running").label("busy"),
    ).where(turn.session_key.in_([row.session_key for row in rows]))
    used = {row.session_key: row for row in connection.execute(sums.group_by(turn.session_key))}
    below = _below(connection, target.project_id, [row.session_id for row in rows])
    return [_subagent(row, used.get(row.session_key), below) for row in rows]


def pointers(
    connection: Connection, target: Target, parents: Iterable[str], turn_ids: Iterable[str]
) -> Mapping[tuple[str, str], str]:
    """Return which sub-agents' sessions calls of these turns began, by turn and call."""
    head = t.heads.c
    statement = (
        select(head.parent_turn_id, head.parent_call_id, t.streams.c.session_id)
        .join(t.streams, t.streams.c.session_key == head.session_key)
        .where(
            head.project_id == target.project_id,
            head.parent_session_id.in_([*parents]),
            head.parent_turn_id.in_([*turn_ids]),
            head.parent_call_id.is_not(None),
            head.status != "purged",
        )
    )
    return {
        (turn_id, call_id): session_id
        for turn_id, call_id, session_id in connection.execute(statement)
    }


def _below(connection: Connection, project_id: str, parents: Sequence[str]) -> Mapping[str, int]:
    head = t.heads.c
    statement = (
        select(head.parent_session_id, func.count())
        .where(
            head.project_id == project_id,
            head.parent_session_id.in_(parents),
            head.status.not_in(("deleted", "purged")),
        )
        .group_by(head.parent_session_id)
    )
    rows = connection.execute(statement)
    return {row[0]: int(row[1]) for row in rows}


def _subagent(row: Any, used: Any, below: Mapping[str, int]) -> Subagent:  # noqa: ANN401 - rows
    return Subagent(
        key=row.session_key,
        session_id=row.session_id,
        head=head_of(row),
        paused=used is not None and bool(used.gates) and not used.busy,
        below=below.get(row.session_id, 0),
        tokens={name: 0 if used is None else int(getattr(used, name) or 0) for name in _SUMS},
    )
