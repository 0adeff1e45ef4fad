"""How are all sessions of a project deleted, or those of one agent, so many at a time?

Each by itself, as one is deleted alone: what was done stays done, and the same call goes on.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, select

from domain.refusals import NoSuchSession
from domain.state import GONE, Head
from infrastructure import tables as t
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog
from infrastructure.hosting.configured import stored_config
from infrastructure.hosting.deleting import Deleting
from infrastructure.hosting.deletions import Deletions
from infrastructure.view_rows import head_of

SIDE_BY_SIDE: Final = 8
"""So many sessions are deleted at once: each may have to wait for its turn to end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedMany:
    """What came of it: how many sessions were deleted, and how many are left."""

    deleted: int
    remaining: int


async def delete_many(
    log: Turnlog,
    deleting: Deleting,
    project_id: str,
    caller: Caller,
    *,
    harness: str | None = None,
    limit: int,
) -> DeletedMany:
    """Delete up to `limit` sessions of a project, or of it those whose turns run on a harness."""
    with _marked(deleting.deletions, project_id, harness):
        found = await log.read(
            lambda connection: _sessions(log, connection, project_id, harness), long=True
        )
        deleted = 0
        for first in range(0, min(limit, len(found)), SIDE_BY_SIDE):
            some = found[first : min(first + SIDE_BY_SIDE, limit)]
            done = await asyncio.gather(*(_deleted(deleting, each, caller) for each in some))
            deleted += sum(done)
    return DeletedMany(deleted=deleted, remaining=max(0, len(found) - limit))


def _marked(
    deletions: Deletions, project_id: str, harness: str | None
) -> AbstractContextManager[None]:
    """Have no turn begin in the project meanwhile; of one harness only those that are deleted."""
    return deletions.mark(project_id) if harness is None else nullcontext()


async def _deleted(deleting: Deleting, target: Target, caller: Caller) -> bool:
    try:
        await deleting.delete(target, caller)
    except NoSuchSession:  # somebody else was faster
        return False
    return True


def _sessions(
    log: Turnlog, connection: Connection, project_id: str, harness: str | None
) -> Sequence[Target]:
    statement = (
        select(t.streams.c.session_id, t.heads)
        .join(t.streams, t.streams.c.session_key == t.heads.c.session_key)
        .where(t.heads.c.project_id == project_id, t.heads.c.status.not_in(GONE))
        .order_by(t.heads.c.session_key)
    )
    return [
        Target(project_id=project_id, session_id=row.session_id)
        for row in connection.execute(statement)
        if harness is None or _harness(log, connection, row.session_key, head_of(row)) == harness
    ]


def _harness(log: Turnlog, connection: Connection, key: int, head: Head) -> str:
    """Return on which harness a session's turns run: the one that it names, or else the default."""
    config = stored_config(connection, key, head)
    named = config.get("harness") if isinstance(config, dict) else None
    return named if isinstance(named, str) and named else log.settings.default_harness
