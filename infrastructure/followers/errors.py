"""How do `errors` follow the log? A row for each, or for several of a kind that came at once.

A project keeps its newest; the session of a row that is purged takes the row with it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, bindparam, delete, select

from infrastructure import tables as t
from infrastructure.followers.follower import Write
from infrastructure.followers.usage import remove_sessions
from infrastructure.mapper import recorded_of
from infrastructure.prepared import Prepared
from infrastructure.reading.whole_log import Found
from projections.errors import (
    FOLD_VERSION,
    MOST,
    NAMES,
    TYPES,
    Errors,
    Problem,
    counted,
    problem_of,
)

_E: Final = t.errors.c
_C: Final = t.calls.c
_LAST: Final = Prepared(
    lambda _: (
        select(t.errors)
        .where(
            _E.generation == bindparam("generation"),
            _E.project_id == bindparam("project_id"),
            _E.source == bindparam("source"),
            _E.code == bindparam("code"),
        )
        .order_by(_E.position.desc())
        .limit(1)
    )
)
_CALLED: Final = Prepared(
    lambda _: select(_C.name).where(
        _C.session_key == bindparam("session_key"),
        _C.turn_id == bindparam("turn_id"),
        _C.tool_call_id == bindparam("tool_call_id"),
        _C.completed_version == bindparam("version"),
    )
)
_INSERT: Final = Prepared(lambda _: t.errors.insert())
_COUNT: Final = Prepared(
    lambda _: (
        t.errors.update()
        .where(_E.generation == bindparam("in_generation"), _E.position == bindparam("at_position"))
        .values(last_at=bindparam("now_last_at"), times=bindparam("now_times"))
    )
)


class _Seen(NamedTuple):
    """An error, where it was, and the call if it is a tool's."""

    error: Errors
    problem: Problem
    version: int
    tool_call_id: str | None


class ErrorsFollower:
    """Keeps `errors`; see `Follower`.

    Attributes:
        counted: How many this process has folded since its start, by source and kind.
    """

    name = "errors"
    fold_version = FOLD_VERSION
    types: Sequence[str] = (*TYPES, "session-purged")
    whole = False

    def __init__(self, most: int = MOST) -> None:
        """Keep so many of a project."""
        self.counted: Final[Counter[tuple[str, str]]] = Counter()
        self._most: Final = most
        self._through = 0

    def begin(self, connection: Connection, generation: int) -> None:
        """Nothing: there are no rows yet."""

    def fold(self, facts: Sequence[Found]) -> Write:
        """Take the errors out of the facts."""
        gone = sorted({f.session_key for f in facts if _type(f) == "session-purged"})
        seen = [each for found in facts if (each := _seen(found)) is not None]

        def write(connection: Connection, generation: int) -> None:
            errors = [
                _named(connection, each) for each in seen if each.error.session_key not in gone
            ]
            self._note(errors)
            new, known = _folded(connection, generation, errors)
            if new:
                rows = [{"generation": generation} | asdict(each) for each in new]
                _INSERT.many(connection, rows)
            if known:
                _COUNT.many(connection, [_counting(generation, each) for each in known])
            if gone:
                mine = (_E.generation == generation, _E.session_key.in_(gone))
                connection.execute(delete(t.errors).where(*mine))
            for project_id in sorted({each.project_id for each in new}):
                _trim(connection, generation, project_id, self._most)

        return write

    def remove(self, connection: Connection, generation: int, limit: int) -> bool:
        """Remove the errors of the next sessions; see `Follower`."""
        return remove_sessions(connection, t.errors, generation, limit)

    def _note(self, errors: Iterable[Errors]) -> None:
        """Count what comes for the first time: not what is folded anew or tried again."""
        for each in errors:
            if each.position > self._through:
                self.counted[each.source, each.kind] += 1
                self._through = each.position


def _type(found: Found) -> str:
    return found.stored.envelope.type


def _seen(found: Found) -> _Seen | None:
    event, envelope = recorded_of(found.stored).event, found.stored.envelope
    problem = problem_of(event)
    if problem is None:
        return None
    error = Errors(
        position=found.stored.position,
        project_id=envelope.project_id,
        session_key=found.session_key,
        turn_id=envelope.turn_id,
        source=problem.source,
        code=problem.code,
        kind=problem.kind,
        first_at=envelope.recorded_at,
        last_at=envelope.recorded_at,
    )
    call_id = getattr(event, "tool_call_id", None) if problem.source == "tool" else None
    return _Seen(error, problem, envelope.version, call_id)


def _named(connection: Connection, seen: _Seen) -> Errors:
    """Return an error, that of a tool under the tool's name."""
    if seen.tool_call_id is None:
        return seen.error
    call = {
        "session_key": seen.error.session_key,
        "turn_id": seen.error.turn_id,
        "tool_call_id": seen.tool_call_id,
        "version": seen.version,
    }
    row = _CALLED.run(connection, call).first()
    name = None if row is None else row.name
    return replace(seen.error, code=seen.problem.of_tool(name).code)


def _folded(
    connection: Connection, generation: int, errors: Sequence[Errors]
) -> tuple[Sequence[Errors], Sequence[Errors]]:
    """Return the rows that are new, and those that count more than they did."""
    newest: dict[tuple[str, str, str], Errors | None] = {}
    changed: dict[int, Errors] = {}
    stored: set[int] = set()
    for each in errors:
        if each.key not in newest:
            newest[each.key] = known = _last(connection, generation, each.key)
            stored |= set() if known is None else {known.position}
        now = counted(newest[each.key], each)
        newest[each.key] = changed[now.position] = now
    new = [row for position, row in sorted(changed.items()) if position not in stored]
    return new, [row for position, row in sorted(changed.items()) if position in stored]


def _last(connection: Connection, generation: int, key: tuple[str, str, str]) -> Errors | None:
    project_id, source, code = key
    asked = {
        "generation": generation,
        "project_id": project_id,
        "source": source,
        "code": code,
    }
    row = _LAST.run(connection, asked).first()
    return None if row is None else errors_of(row)


def errors_of(row: Any) -> Errors:  # noqa: ANN401 - of the table, by either way to read it
    """Return what a row says."""
    return Errors(**{name: getattr(row, name) for name in NAMES})


def _counting(generation: int, error: Errors) -> dict[str, object]:
    return {
        "in_generation": generation,
        "at_position": error.position,
        "now_last_at": error.last_at,
        "now_times": error.times,
    }


def _trim(connection: Connection, generation: int, project_id: str, most: int) -> None:
    mine = (_E.generation == generation, _E.project_id == project_id)
    last = select(_E.position).where(*mine).order_by(_E.position.desc()).offset(most).limit(1)
    oldest = connection.execute(last).scalar_one_or_none()
    if oldest is not None:
        connection.execute(delete(t.errors).where(*mine, _E.position <= oldest))
