"""By which rewinds are turns out of sight at a moment?

Where all that began is in sight, nothing is asked. Else the session's rewinds and branches are
read, narrow rows of which there are as many as it was rewound; turns are looked up by their ids.
"""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, bindparam, select, text

from domain.identifiers import is_id
from domain.raw_json import dumped
from domain.state import Branch
from infrastructure import tables as t
from infrastructure.fork_records import records_of
from infrastructure.lineages import lineage
from infrastructure.prepared import Prepared, together
from infrastructure.reading.given import given
from infrastructure.reading.moment import Moment
from projections.rewinds import Parting, Passage, Rewinds


@dataclass(frozen=True, slots=True)
class RewindsThen:
    """A session's rewinds up to a moment; None if everything was in sight."""

    moment: Moment
    known: Rewinds | None

    def that_took_out(
        self, connection: Connection, turn_ids: Iterable[str | None]
    ) -> Mapping[str, int]:
        """Return by the ids of turns the versions of the rewinds by which they are out of sight."""
        wanted = {turn_id for turn_id in turn_ids if turn_id is not None and is_id(turn_id)}
        if self.known is None or not wanted:
            return {}
        moment, found = self.moment, dict[str, int]()
        records = records_of(connection, moment.key, moment.head)
        for turn_id, number, branch_id in _turns_of(connection, moment, wanted):
            branch = moment.branches.get(branch_id) or records.branch(branch_id)
            before = branch.turn_depth + number - branch.first_turn
            version = self.known.that_took_out(branch_id, number, before)
            found |= {} if version is None else {turn_id: version}
        return found


def rewinds_then(connection: Connection, moment: Moment) -> RewindsThen:
    """Return the rewinds of a session up to a moment; those that a fork began with, too."""
    if not moment.sight.parted:
        return RewindsThen(moment, None)
    passages: list[Passage] = []
    streams = [(moment.key, moment.through, moment.head.started)]
    shared = lineage(connection, moment.key, moment.head)
    streams += [(each.key, each.version, each.started) for each in shared]
    for key, through, started in streams:
        params: dict[str, object] = {"session_key": key, "through": through, "started": started}
        moves, branches = together(connection, (_MOVES, params), (_BRANCHES, params))
        passages += _passages(moves)
        for row in branches:
            moment.branches.setdefault(row[0], Branch(*row))
    partings = [Parting(b.first_turn, b.parent, b.parent_turn) for b in moment.branches.values()]
    return RewindsThen(moment, Rewinds(passages, (each for each in partings if each.branch)))


def _turns_of(
    connection: Connection, moment: Moment, wanted: AbstractSet[str]
) -> Iterator[tuple[str, int, int]]:
    """Yield id, number and branch of turns; what a fork only shares is looked up one by one."""
    params = {"session_key": moment.key, "turns": dumped(sorted(wanted)).decode()}
    own = [row for row in _TURNS.run(connection, params) if row.number is not None]
    yield from own
    if moment.head.base_version:
        records = records_of(connection, moment.key, moment.head)
        for turn_id in sorted(wanted - {row.turn_id for row in own}):
            turn = records.turn(turn_id)
            if turn is not None:
                yield turn_id, turn.number, turn.branch


def _passages(moves: Iterable[Any]) -> Iterator[Passage]:
    for version, kind, left, left_turn, kept, reached, reached_turn in moves:
        if kind == "rewound":
            yield Passage(version, left, left_turn, kept)
        else:
            yield Passage(version, reached, reached_turn, None)


_M: Final = t.moves.c
_MOVES: Final = Prepared(
    lambda _: select(
        _M.version,
        _M.kind,
        _M.before_branch,
        _M.before_turn_tip,
        _M.after_turns,
        _M.after_branch,
        _M.after_turn_tip,
    ).where(
        _M.session_key == bindparam("session_key"),
        _M.version <= bindparam("through"),
        text("moves.kind IN ('rewound', 'reverted')"),
    )
)
_BRANCHES: Final = Prepared(
    lambda _: select(*(t.branches.c[name] for name in Branch._fields)).where(
        t.branches.c.session_key == bindparam("session_key"),
        t.branches.c.first_turn <= bindparam("started"),
    )
)


def _turns(dialect: str) -> Any:  # noqa: ANN401 - SQLAlchemy's own generics
    asked, turn = given(dialect, "turns"), t.turns.c
    return select(turn.turn_id, turn.number, turn.branch).select_from(
        asked.rows.outerjoin(
            t.turns,
            (turn.session_key == bindparam("session_key")) & (turn.turn_id == asked.text),
        )
    )


_TURNS: Final = Prepared(_turns)
