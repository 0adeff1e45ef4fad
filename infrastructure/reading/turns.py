"""How did a session's turns go, or had they gone at a version?

Of the turns that had begun by then, the one that had not ended looked different: it is what the
rules knew of it. In those that had ended, what got a late result since was still open. Turns that
were not in sight then are left out unless they are asked for.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    case,
    exists,
    func,
    literal,
    or_,
    select,
    true,
)

from domain.events import Fact
from domain.identifiers import is_id
from domain.paths import turn_at, turn_in_sight
from domain.refusals import NoSuchTurn
from domain.state import Turn
from infrastructure import tables as t
from infrastructure.blobs import whole
from infrastructure.lineages import parts
from infrastructure.reading.moment import Moment
from infrastructure.reading.past import known_at
from infrastructure.reading.places import finder
from infrastructure.serialization import decode
from infrastructure.view_rows import turn_of

TurnFilter: TypeAlias = Literal["running", "paused", "completed", "failed", "interrupted"]
TurnState: TypeAlias = Literal["live", "rewound"]
GAP: Final = 32
"""So many turns that are not shown are read along, rather than asked around."""
LOOKED_AT: Final = 500
"""So many turns in sight are looked at together, where not each is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnView:
    """A turn, the fact that ended it, and whether it was in sight."""

    turn: Turn
    end: Fact | None
    state: TurnState

    @property
    def status(self) -> TurnFilter:
        """Return where it stands."""
        return "paused" if self.turn.paused else self.turn.status


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnQuery:
    """Which turns, after which: newest first unless `ascending`.

    Attributes:
        after: The number of the last turn of the page before.
        with_rewound: Whether turns that were out of sight are listed too.
    """

    status: TurnFilter | None = None
    with_rewound: bool = False
    after: int | None = None
    ascending: bool = False
    limit: int = 50


def turns(connection: Connection, moment: Moment, query: TurnQuery) -> Sequence[TurnView]:
    """Return a page of the turns that had begun at the moment."""
    if query.with_rewound or moment.sight.turns == moment.sight.started:
        return _listed(connection, moment, query, _beyond(query), query.limit)
    views: list[TurnView] = []
    for numbers in _in_sight(connection, moment, query):
        wanted = query.limit - len(views)
        if not wanted:
            break
        skipped = numbers[-1] - numbers[0] + 1 - len(numbers)
        between = t.turns.c.number.between(numbers[0], numbers[-1])
        found = _listed(connection, moment, query, between, wanted + skipped)
        views += [view for view in found if view.turn.number in numbers][:wanted]
    return views


def _beyond(query: TurnQuery) -> ColumnElement[bool]:
    number = t.turns.c.number
    if query.after is None:
        return true()
    return number > query.after if query.ascending else number < query.after


def _listed(
    connection: Connection,
    moment: Moment,
    query: TurnQuery,
    among: ColumnElement[bool],
    limit: int,
) -> Sequence[TurnView]:
    number = t.turns.c.number
    order = number if query.ascending else number.desc()
    statement = _turns(moment).where(among).order_by(order).limit(limit)
    if query.status is not None:
        statement = statement.where(_could_be(query.status, moment))
    views = [_view(connection, moment, row) for row in connection.execute(statement)]
    return [view for view in views if query.status in {None, view.status}]


def _in_sight(connection: Connection, moment: Moment, query: TurnQuery) -> Iterator[Sequence[int]]:
    """Yield the numbers of turns in sight, rising, by what is read at once, in the page's order."""
    number = partial(turn_at, finder(connection, moment), moment.sight.spot)
    low, high = 0, moment.sight.turns
    if query.after is not None and query.ascending:
        low = bisect_right(range(high), query.after, key=number)
    elif query.after is not None:
        high = bisect_left(range(high), query.after, key=number)
    step = query.limit if query.status is None else LOOKED_AT
    while low < high:
        if query.ascending:
            depths = range(low, min(low + step, high))
            low = depths.stop
        else:
            depths = range(max(low, high - step), high)
            high = depths.start
        near = _near([number(depth) for depth in depths])
        yield from near if query.ascending else near[::-1]


def _near(numbers: Sequence[int]) -> list[list[int]]:
    """Return numbers in groups between which the gaps are wide."""
    groups: list[list[int]] = []
    for number in numbers:
        if groups and number - groups[-1][-1] <= GAP:
            groups[-1].append(number)
        else:
            groups.append([number])
    return groups


def turn(connection: Connection, moment: Moment, turn_id: str) -> TurnView:
    """Return one turn as it stood at the moment, in sight or not.

    Raises:
        NoSuchTurn: none of this id had begun.
    """
    found = t.turns.c.turn_id == turn_id
    row = connection.execute(_turns(moment).where(found)).first() if is_id(turn_id) else None
    if row is None:
        raise NoSuchTurn(turn_id)
    return _view(connection, moment, row)


def _turns(moment: Moment) -> Select[Any]:
    ended = t.turns.c.ended_version
    event, body = t.events.c, t.bodies.c
    return (
        select(t.turns, event.type, event.schema, body.body, _late_since(moment))
        .outerjoin(t.events, _holds(moment, event.session_key, ended) & (event.version == ended))
        .outerjoin(t.bodies, _holds(moment, body.session_key, ended) & (body.version == ended))
        .where(_begun(moment), t.turns.c.number <= moment.sight.started)  # where the index begins
    )


def _holds(
    moment: Moment, key: ColumnElement[int], version: ColumnElement[int]
) -> ColumnElement[bool]:
    """Tell whether a session is the one that a version of the history belongs to."""
    if not moment.lineage:
        return key == moment.key
    every = parts(moment.key, moment.lineage, moment.through)
    return or_(
        *((key == part.key) & version.between(part.after + 1, part.through) for part in every)
    )


def _begun(moment: Moment) -> ColumnElement[bool]:
    """Choose the turns that had begun; of one that a fork changed, what the fork says."""
    c, nearer = t.turns.c, [moment.key]
    begun = [(c.session_key == moment.key) & (c.started_version <= moment.through)]
    changed = t.turns.alias("changed").c
    for shared in moment.lineage:
        overlaid = exists().where(changed.session_key.in_(nearer), changed.number == c.number)
        mine = (c.session_key == shared.key) & (c.started_version <= shared.version)
        begun.append(mine & ~overlaid)
        nearer = [*nearer, shared.key]
    return or_(*begun)


def _late_since(moment: Moment) -> ColumnElement[int]:
    """Count the calls that got a result after their turn had ended and after the moment."""
    c = t.calls.c
    if moment.is_now and not moment.lineage:
        return literal(0).label("late_since")
    return (
        select(func.count(c.requested_version))  # a condition would have an index of it used
        .where(
            c.session_key == t.turns.c.session_key,
            c.turn_id == t.turns.c.turn_id,
            c.status == "late",
            c.completed_version > _through(moment),
        )
        .correlate(t.turns)
        .scalar_subquery()
        .label("late_since")
    )


def _through(moment: Moment) -> ColumnElement[int]:
    """Return the last version of the history that belongs to a turn's session."""
    shared = [(t.turns.c.session_key == each.key, each.version) for each in moment.lineage]
    return case(*shared, else_=moment.through) if shared else literal(moment.through)


def _could_be(status: TurnFilter, moment: Moment) -> ColumnElement[bool]:
    """Choose the turns that had ended so, or those that had not ended: of these there is one."""
    c = t.turns.c
    if status in {"running", "paused"}:
        return or_(c.ended_version.is_(None), c.ended_version > moment.through)
    return (c.status == status) & (c.ended_version <= moment.through)


def _view(connection: Connection, moment: Moment, row: Row[Any]) -> TurnView:
    known, state = turn_of(row), _state(connection, moment, row.number)
    if known.ended_version is not None and known.ended_version <= moment.through:
        end = (
            None
            if row.type is None
            else decode(row.type, row.schema, whole(connection, moment.key, row.body))
        )
        then = known._replace(open_calls=known.open_calls + row.late_since)
        return TurnView(turn=then, end=end, state=state)
    then = known if moment.is_now else _then(connection, moment, known)
    return TurnView(turn=then, end=None, state=state)


def _state(connection: Connection, moment: Moment, number: int) -> TurnState:
    if moment.sight.turns == moment.sight.started:
        return "live"
    seen = turn_in_sight(finder(connection, moment), moment.sight.spot, number)
    return "live" if seen else "rewound"


def _then(connection: Connection, moment: Moment, known: Turn) -> Turn:
    return known_at(connection, moment).turns.get(known.turn_id, known)
