"""Who holds a session's running turn, and until when?

One row a session: the lease of its running turn, or of a compaction. It is no fact and in no view.
The fence rises with each holder and stays when the turn is over, so that whoever held it before can
be told from whoever holds it now. A turn's fence changes only in a transaction that also appends:
thus the guard of the head's version settles every race of those who write under one. A compaction's
is looked at again when its summary is recorded; until then it has written nothing.
"""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from sqlalchemy import Connection

from domain.refusals import Compacting, TurnFenced
from infrastructure import run_rows as rows
from infrastructure.commit import Contended
from infrastructure.prepared import Sent
from infrastructure.run_rows import SECOND

RunKind: TypeAlias = Literal["turn", "compaction"]
LEASE_S: Final = 60
"""How long a producer's lease is if it does not say; between 1 and `MOST_LEASE_S`."""
MOST_LEASE_S: Final = 3_600


class Run(NamedTuple):
    """A session's lease, held, released or over.

    Attributes:
        turn_id: The turn that it was given for; of a compaction whatever its caller calls it.
        begun: The fence that the turn began with; whoever took it over has a later one.
        lease_until: Microseconds since 1970; 0 once it was released.
        heartbeat_at: When the holder was last heard of.
    """

    session_key: int
    project_id: str
    turn_id: str
    kind: RunKind
    owner: str
    fence: int
    begun: int
    lease_until: int
    lease_s: int
    heartbeat_at: int

    def is_of(self, turn_id: str | None) -> bool:
        """Tell whether it was given for this turn."""
        return self.kind == "turn" and self.turn_id == turn_id


class Expired(NamedTuple):
    """A lease that nobody renewed, of a turn that still runs."""

    session_id: str
    run: Run


def find(connection: Connection, key: int) -> Run | None:
    """Return the lease of the session of this key, if it ever had one."""
    return found(rows.FIND.send(connection, {"key": key}))


def found(sent: Sent) -> Run | None:
    """Return the lease that `FIND` was sent for."""
    row = sent.rows().first()
    return None if row is None else Run(*row)


def find_named(connection: Connection, project_id: str, session_id: str) -> Run | None:
    """Return the lease of a session; on PostgreSQL it stays so until the transaction ends."""
    names = {"project_id": project_id, "session_id": session_id}
    row = rows.FIND_NAMED.run(connection, names).first()
    return None if row is None else Run(*row)


def look_at(connection: Connection, project_id: str, session_id: str) -> Run | None:
    """Return the lease of a session, as it is at this moment; whoever writes uses `find_named`."""
    names = {"project_id": project_id, "session_id": session_id}
    row = rows.LOOK_AT.run(connection, names).first()
    return None if row is None else Run(*row)


def begin(  # noqa: PLR0913, PLR0917 - a row's columns
    connection: Connection,
    key: int,
    project_id: str,
    turn_id: str,
    owner: str,
    lease_s: int,
    now: int,
    kind: RunKind = "turn",
) -> int:
    """Give the lease to `owner`, whoever had it, and return its fence.

    In the transaction in which the turn starts, after what is appended.
    """
    given = rows.BEGIN.run(
        connection,
        {
            "session_key": key,
            "project_id": project_id,
            "turn_id": turn_id,
            "kind": kind,
            "owner": owner,
            "lease_until": now + lease_s * SECOND,
            "lease_s": lease_s,
            "heartbeat_at": now,
        },
    )
    return int(given.scalar_one())


def take_over(
    connection: Connection, run: Run, turn_id: str, owner: str, lease_s: int, now: int
) -> int:
    """Give the lease `run`, as it was found, to `owner`, for its turn or another; return the fence.

    In the same transaction as an event, after it. The turn's own first fence stays known.

    Raises:
        Contended: somebody else took it over, or its holder was heard of meanwhile.
    """
    return _taken(connection, run, turn_id, owner, (lease_s, now + lease_s * SECOND, now))


def revoke(connection: Connection, run: Run, now: int) -> int:
    """Take the lease `run`, as it was found, from its holder, and give it to nobody.

    Raises:
        Contended: as `take_over`.
    """
    return _taken(connection, run, run.turn_id, run.owner, (run.lease_s, 0, now))


def _taken(
    connection: Connection, run: Run, turn_id: str, owner: str, lease: tuple[int, int, int]
) -> int:
    seconds, until, now = lease
    fence = rows.TAKE_OVER.run(
        connection,
        {
            "key": run.session_key,
            "seen": run.fence,
            "heard": run.heartbeat_at,
            "turn": turn_id,
            "whose": owner,
            "seconds": seconds,
            "until": until,
            "now": now,
        },
    ).scalar_one_or_none()
    if fence is None:
        raise Contended
    return int(fence)


def renew(
    connection: Connection, key: int, fence: int, now: int, lease_s: int | None = None
) -> int | None:
    """Return until when the holder of `fence` has the lease by now; None if it is another's.

    It lasts as long as before unless `lease_s` is given. Whether the turn runs is not asked.
    """
    until = _renewed(connection, key, fence, now, lease_s).rows().scalar_one_or_none()
    return None if until is None else int(until)


def renew_unasked(
    connection: Connection, key: int, fence: int, now: int, lease_s: int | None = None
) -> None:
    """Renew as `renew` does, without waiting for an answer: the head's guard answers for it."""
    _renewed(connection, key, fence, now, lease_s).unread()


def _renewed(connection: Connection, key: int, fence: int, now: int, lease_s: int | None) -> Sent:
    return rows.RENEW.send(connection, {"key": key, "seen": fence, "now": now, "seconds": lease_s})


def release(connection: Connection, key: int, fence: int) -> None:
    """Have nobody hold the lease: the turn waits, or is over. The fence stays as it is."""
    rows.RELEASE.send(connection, {"key": key, "seen": fence}).unread()


def let_go(connection: Connection, key: int, turn_id: str) -> None:
    """Release the lease of a turn, if it has one and somebody holds it."""
    rows.LET_GO.send(connection, {"key": key, "turn": turn_id}).unread()


def is_live(run: Run | None, now: int) -> bool:
    """Tell whether somebody holds the lease."""
    return run is not None and run.lease_until > now


def check_rests(run: Run | None, now: int) -> None:
    """Refuse whoever would change a history that is being summed up.

    Raises:
        Compacting: with who does that, and until when.
    """
    if run is not None and run.kind == "compaction" and is_live(run, now):
        raise Compacting(run.turn_id, run.owner, run.lease_until)


def check_fence(run: Run | None, turn_id: str | None, fence: int | None) -> None:
    """Refuse whoever writes without the current fence to a leased turn, or with another to any.

    `turn_id` is the turn that is written to, if it has not ended. Whether the lease is held,
    expired or released makes no difference: what counts is that nobody else was given it.

    Raises:
        TurnFenced: with who holds it.
    """
    leased = run is not None and run.is_of(turn_id)
    if fence is None and not leased:
        return
    if run is None or fence != run.fence:
        raise fenced(run, fence)


def fenced(run: Run | None, fence: int | None) -> TurnFenced:
    """Return the refusal of whoever writes with `fence`, which tells who holds the lease."""
    if run is None:
        return TurnFenced(fence, current=0, turn_id=None, owner=None, lease_until=0)
    return TurnFenced(
        fence,
        current=run.fence,
        turn_id=run.turn_id,
        owner=run.owner,
        lease_until=run.lease_until,
    )


def expired(connection: Connection, now: int, limit: int) -> Sequence[Expired]:
    """Return the leases that ended without a word while their turns run, the oldest first."""
    found = rows.EXPIRED.run(connection, {"now": now, "limit": limit})
    return [Expired(session_id, Run(*run)) for session_id, *run in found]


def held_by(connection: Connection, owner: str, limit: int) -> Sequence[Expired]:
    """Return the leases that somebody has of turns that run."""
    found = rows.HELD_BY.run(connection, {"whose": owner, "limit": limit})
    return [Expired(session_id, Run(*run)) for session_id, *run in found]


def any_compaction_over(connection: Connection, now: int) -> bool:
    """Tell whether a compaction's lease ended without a word."""
    return rows.ANY_COMPACTION_OVER.run(connection, {"now": now}).first() is not None


def end_compactions(connection: Connection, now: int, owner: str = "") -> None:
    """Take the leases of compactions from holders that let them end, and from `owner`.

    Whatever these sum up is recorded no more: nothing was changed by it.
    """
    rows.COMPACTIONS_OVER.send(connection, {"now": now, "whose": owner}).unread()


def any_ahead(connection: Connection, now: int) -> bool:
    """Tell whether a lease ends so late that the clock must have stepped back since it began."""
    return rows.ANY_AHEAD.run(connection, {"now": now}).first() is not None


def set_back(connection: Connection, now: int) -> None:
    """Have each such lease last once more as long as it does, from now on."""
    rows.SET_BACK.run(connection, {"now": now})
