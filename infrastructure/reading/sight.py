"""What of a session was in sight at a version?

The newest move by then says what was in sight after it; what was said since joined that. Where
nothing ever moved, all that was there by then was in sight.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    ScalarSelect,
    Select,
    bindparam,
    case,
    cast,
    func,
    select,
    text,
    true,
)

from domain.paths import FindBranch, Spot, spot_of
from domain.state import ROOT, Branch, Head, Move
from infrastructure import tables as t
from infrastructure.lineages import NO_ANCESTOR, NOBODY, Ancestor, Lineage
from infrastructure.prepared import Prepared
from infrastructure.view_rows import branch_of, move_of

AT_ONCE: Final = 32
"""So many branches are looked up together."""


class Sight(NamedTuple):
    """What was in sight, and how much there was.

    Attributes:
        spot: Where the way to what was in sight ends.
        messages, turns: How many were in sight.
        archived: So many of the messages in sight, from the first one, were archived.
        placed, started: How many messages and turns there were, in sight or not.
        move: The newest move by then; not looked for if it is now.
    """

    spot: Spot
    messages: int
    turns: int
    archived: int
    summary_version: int | None
    placed: int
    started: int
    move: Move | None = None

    @property
    def parted(self) -> bool:
        """Tell whether there may be turns that began where others had begun."""
        return self.spot.branch > 0 or self.turns < self.started


def sight_of(head: Head) -> Sight:
    """Return what is in sight now."""
    return Sight(
        spot=spot_of(head),
        messages=head.messages,
        turns=head.turns,
        archived=head.archived,
        summary_version=head.summary_version,
        placed=head.placed,
        started=head.started,
    )


def sight_at(
    connection: Connection,
    key: int,
    head: Head,
    through: int,
    find: FindBranch,
    shared: Ancestor = NO_ANCESTOR,
) -> Sight:
    """Return what was in sight at a version of the past; of a fork, at one of its own."""
    params = {
        "session_key": key,
        "through": through,
        "oldest": shared.started,
        "newest": head.started,
        "first": shared.placed,
    }
    row = _PAST.run(connection, params).first()
    last = shared.placed - 1 if row.last_index is None else int(row.last_index)
    started = int(row.started)
    if row.version is None:
        return Sight(Spot(0, started, last), last + 1, started, 0, None, last + 1, started)
    move = move_of(row)
    after = move.after
    spot, messages, turns = spot_of(after), after.messages, after.turns
    if row.turn_version is not None and row.turn_version > move.version:
        branch = find(row.turn_branch)
        spot = Spot(row.turn_branch, started, spot.message)
        turns = branch.turn_depth + started - branch.first_turn + 1
    if last >= shared.placed and row.last_version > move.version:
        branch = find(spot.branch)
        spot = spot._replace(message=last)
        messages = branch.depth + last - branch.first_index + 1
    return Sight(
        spot=spot,
        messages=messages,
        turns=turns,
        archived=after.archived,
        summary_version=after.summary_version,
        placed=last + 1,
        started=started,
        move=move,
    )


def finding(
    connection: Connection, key: int, known: dict[int, Branch], lineage: Lineage = NOBODY
) -> FindBranch:
    """Return what finds a session's branches; those begun before one are likely to be next."""

    def find(number: int) -> Branch:
        if number and number not in known:
            holders = [each.key for each in lineage if number <= each.started]
            holder = holders[-1] if holders else key
            params = {"session_key": holder, "number": number, "most": AT_ONCE}
            for row in _BRANCHES.run(connection, params):
                known.setdefault(row.first_turn, branch_of(row))
        return known.get(number, ROOT)

    return find


def last_number(
    value: Callable[[ColumnElement[int]], ScalarSelect[Any]], oldest: str, newest: str, bound: str
) -> Select[Any]:
    """Halve the numbers up to `newest` until the last is left whose value is not beyond `bound`.

    Inside one statement; `oldest` is left if there is none after it. `value` gives that of the last
    number up to one, so that damage is stepped over; it rises with the numbers.
    """
    search = select(
        cast(bindparam(oldest), Integer).label("low"),
        cast(bindparam(newest), Integer).label("high"),
    ).cte("search", recursive=True)
    middle = (search.c.low + search.c.high + 1) // 2
    early = value(middle) <= bindparam(bound)
    search = search.union_all(
        select(
            case((early, middle), else_=search.c.low),
            case((early, search.c.high), else_=middle - 1),
        ).where(search.c.low < search.c.high)
    )
    return select(search.c.low).where(search.c.low == search.c.high)


def _started(middle: ColumnElement[int]) -> ScalarSelect[Any]:
    turn = t.turns.alias("began").c
    return (
        select(turn.started_version)
        .where(turn.session_key == bindparam("session_key"), turn.number <= middle)
        .order_by(turn.number.desc())
        .limit(1)
        .scalar_subquery()
    )


def _last_message() -> Any:  # noqa: ANN401 - SQLAlchemy's own generics
    """Look for it from the last one before it that the index of versions has."""
    m, near = t.messages.c, t.messages.alias("near").c
    start = (
        select(near.index)
        .where(
            near.session_key == bindparam("session_key"),
            near.version <= bindparam("through"),
            text('(near."index" & 15) = 0'),  # as the index says it
        )
        .order_by(near.version.desc(), near.index.desc())
        .limit(1)
        .scalar_subquery()
    )
    return (
        select(m.index, m.version)
        .where(
            m.session_key == bindparam("session_key"),
            m.index >= bindparam("first"),
            m.index.between(
                func.coalesce(start, bindparam("first")),
                func.coalesce(start, bindparam("first")) + 15,
            ),
            m.version <= bindparam("through"),
        )
        .order_by(m.index.desc())
        .limit(1)
    )


def _past(_: str) -> Any:  # noqa: ANN401 - as `_last_message`
    m, turn, move = t.moves.c, t.turns.c, t.moves
    last = _last_message().subquery("last")
    started = last_number(_started, "oldest", "newest", "through").subquery("numbers")
    newest = (
        select(func.max(m.version))
        .where(m.session_key == bindparam("session_key"), m.version <= bindparam("through"))
        .scalar_subquery()
    )
    return select(
        last.c.index.label("last_index"),
        last.c.version.label("last_version"),
        started.c.low.label("started"),
        turn.started_version.label("turn_version"),
        turn.branch.label("turn_branch"),
        *move.c,
    ).select_from(
        started.outerjoin(last, true())
        .outerjoin(
            t.turns,
            (turn.session_key == bindparam("session_key")) & (turn.number == started.c.low),
        )
        .outerjoin(move, (m.session_key == bindparam("session_key")) & (m.version == newest))
    )


_PAST: Final = Prepared(_past)
_BRANCHES: Final = Prepared(
    lambda _: (
        select(t.branches)
        .where(
            t.branches.c.session_key == bindparam("session_key"),
            t.branches.c.first_turn <= bindparam("number"),
        )
        .order_by(t.branches.c.first_turn.desc())
        .limit(bindparam("most"))
    )
)
