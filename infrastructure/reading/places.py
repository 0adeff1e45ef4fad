"""Where does the database hold what stands at a place of a session's history?

The one way from a moment to records: every look-up of messages by place goes through here. What is
in sight stands in stretches that lie apart, one for each branch that the way there leads through.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, bindparam, func, literal, select

from domain.paths import FindBranch, Run, index_in_sight, runs, runs_within
from domain.records import message_with_id
from domain.state import ROOT, Branch
from infrastructure import tables as t
from infrastructure.fork_records import records_on
from infrastructure.prepared import Prepared
from infrastructure.reading.moment import Moment
from infrastructure.reading.sight import finding
from infrastructure.view_rows import branch_of

GAP: Final = 32
"""So many messages that are not shown are read along, rather than asked around."""


class Span(NamedTuple):
    """Messages of one branch: their indexes, the first one's depth, whether they were rewound."""

    key: int
    first: int
    end: int
    depth: int
    rewound: bool = False


class Box(NamedTuple):
    """Spans that are read at once, with what lies between them."""

    key: int
    spans: Sequence[Span]

    @property
    def low(self) -> int:
        """Return the first index."""
        return self.spans[0].first

    @property
    def high(self) -> int:
        """Return the index after the last one."""
        return self.spans[-1].end


def finder(connection: Connection, moment: Moment) -> FindBranch:
    """Return what finds the session's branches, each looked up once for the moment."""
    return finding(connection, moment.key, moment.branches, moment.lineage)


def spans_in_sight(connection: Connection, moment: Moment, low: int, high: int) -> list[Span]:
    """Return where the messages stand that have a depth from `low` to before `high`."""
    found = runs(finder(connection, moment), moment.sight.spot, low, high)
    return [span for run in found for span in _by_holder(moment, run)]


def spans_placed(connection: Connection, moment: Moment, low: int, high: int) -> list[Span]:
    """Return the messages with indexes from `low` to before `high`, in sight or not."""
    find = finder(connection, moment)
    seen = runs_within(find, moment.sight.spot, low, high) if low < high else []
    whole = _branches(connection, moment, low, high)
    return [
        own
        for branch, following in zip(whole, [*whole[1:], None], strict=True)
        for span in _told_apart(
            moment.key,
            branch,
            range(
                max(low, branch.first_index),
                high if following is None else min(high, following.first_index),
            ),
            seen,
        )
        for own in _by_holder(moment, Run(*span[1:4]), rewound=span.rewound)
    ]


def boxes(spans: Iterable[Span]) -> Iterator[Box]:
    """Yield spans by what of them is read at once, in their order."""
    together: list[Span] = []
    for span in spans:
        last = together[-1] if together else span
        if together and (last.key != span.key or not -1 < span.first - last.end <= GAP):
            yield Box(last.key, together)
            together = []
        together.append(span)
    if together:
        yield Box(together[0].key, together)


def find_message(connection: Connection, moment: Moment, message_id: str) -> int | None:
    """Return the index of the message with this id, given or derived, if it had begun."""
    shared = moment.shared
    records = records_on(connection, moment.key, moment.head.started, shared.version)
    found = message_with_id(records, message_id, moment.through)
    return None if found is None or found.versions[0] > moment.through else found.index


def depth_of(connection: Connection, moment: Moment, index: int) -> int | None:
    """Return how many messages in sight come before the one with this index, if it is in sight."""
    find, spot = finder(connection, moment), moment.sight.spot
    if not index_in_sight(find, spot, index):
        return None
    return runs_within(find, spot, index, index + 1)[0].depth


def _by_holder(moment: Moment, run: Run, *, rewound: bool = False) -> Iterator[Span]:
    """Yield what of a run each session holds that the history is shared with, and this one."""
    first = 0
    for key, end in [*((s.key, s.placed) for s in reversed(moment.lineage)), (moment.key, run.end)]:
        low, high = max(run.first, first), min(run.end, end)
        if low < high:
            yield Span(key, low, high, run.depth + low - run.first, rewound)
        first = end


def _told_apart(key: int, branch: Branch, indexes: range, seen: Sequence[Run]) -> Iterator[Span]:
    """Yield what of a branch is in sight and what is not, in turns."""

    def span(first: int, end: int, *, rewound: bool) -> Span:
        return Span(key, first, end, branch.depth + first - branch.first_index, rewound)

    after = indexes.start
    for run in seen:
        first, end = max(run.first, after), min(run.end, indexes.stop)
        if first >= end:
            continue
        if after < first:
            yield span(after, first, rewound=True)
        yield span(first, end, rewound=False)
        after = end
    if after < indexes.stop:
        yield span(after, indexes.stop, rewound=True)


def _branches(connection: Connection, moment: Moment, low: int, high: int) -> list[Branch]:
    """Return the branches that hold these messages, in their order."""
    found: list[Branch] = []
    if moment.sight.parted and low < high:
        for span in _by_holder(moment, Run(low, high, 0)):
            params = {"session_key": span.key, "low": span.first, "high": span.end - 1}
            found += [branch_of(row) for row in _BRANCHES.run(connection, params)]
    moment.branches.update({branch.first_turn: branch for branch in found})
    # Of those that begin at one place the last holds what is there; the others hold nothing.
    lasting = {branch.first_index: branch for branch in found}
    first = [] if found and found[0].first_index <= low else [_holding(connection, moment, low)]
    return [*first, *lasting.values()]


def _holding(connection: Connection, moment: Moment, index: int) -> Branch:
    """Return the branch of a message; a fork can go on in one of its parent's."""
    shared = moment.shared
    if not shared.version:
        return ROOT
    records = records_on(connection, moment.key, moment.head.started, shared.version)
    message = records.message(index)
    turn = None if message is None else records.turn(message.turn_id)
    return ROOT if turn is None else finder(connection, moment)(turn.branch)


def _branch_of(index: str) -> Any:  # noqa: ANN401 - a scalar subquery
    m, turn = t.messages.c, t.turns.c
    return (
        select(turn.branch)
        .select_from(t.messages.join(t.turns, turn.turn_id == m.turn_id))
        .where(
            m.session_key == bindparam("session_key"),
            turn.session_key == bindparam("session_key"),
            m.index == bindparam(index),
        )
        .scalar_subquery()
    )


_BRANCHES: Final = Prepared(
    lambda _: (
        select(t.branches)
        .where(
            t.branches.c.session_key == bindparam("session_key"),
            t.branches.c.first_turn >= func.coalesce(_branch_of("low"), literal(0)),
            t.branches.c.first_turn <= func.coalesce(_branch_of("high"), literal(2**31 - 1)),
        )
        .order_by(t.branches.c.first_turn)
    )
)
