"""How often was a client's full history found to be ours, and how often not?

Each comparison is counted in a small transaction of its own. A window agrees, and is no evidence
for the whole: it leaves the number of agreements in a row as it is. Nothing that was said is kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Row, bindparam, case, func, literal, or_, select, tuple_
from sqlalchemy.dialects import postgresql, sqlite

from infrastructure import tables as t
from infrastructure.prepared import Prepared
from projections.comparing.comparison import Comparison
from projections.comparing.differences import KINDS, Kind

_COLUMNS: Final[Mapping[Kind, str]] = {kind: kind.replace("-", "_") for kind in KINDS}
_MANY: Final = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """What came of the comparisons with one session.

    Attributes:
        consecutive: Agreements in a row, up to the newest.
        kinds: In how many comparisons each kind of difference was found.
        last_version: The session's version at the newest comparison, which was at `last_at`.
    """

    consecutive: int
    compared: int
    agreed: int
    kinds: Mapping[Kind, int]
    last_agrees: bool
    last_version: int
    last_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionAgreement:
    """A session of a project, and what came of its comparisons."""

    session_id: str
    session_key: int
    agreement: Agreement


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementQuery:
    """Which sessions of a project, newest comparison first.

    Attributes:
        kind: Only those where this kind of difference was found.
        differing: Only those where a comparison did not agree.
        after: (`last_at`, session key) of the last one of the page before.
    """

    project_id: str
    kind: Kind | None = None
    differing: bool = False
    after: tuple[int, int] | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What came of all comparisons in a project."""

    sessions: int
    compared: int
    agreed: int
    kinds: Mapping[Kind, int]


def agreed_in_a_row(connection: Connection, key: int | None) -> int:
    """Return how many comparisons in a row agreed; 0 for a session that has no key yet."""
    if key is None:
        return 0
    return int(_CONSECUTIVE.run(connection, {"session_key": key}).scalar_one_or_none() or 0)


def agreement_of(connection: Connection, key: int) -> Agreement | None:
    """Return what came of a session's comparisons; None if there was none."""
    row = _ONE.run(connection, {"session_key": key}).first()
    return None if row is None else _agreement(row)


def count(
    connection: Connection,
    *,
    project_id: str,
    key: int,
    version: int,
    now: int,
    comparison: Comparison,
) -> int:
    """Count a comparison, and return how many in a row agree now."""
    found = comparison.differences
    whole = comparison.agrees and not comparison.window
    values = {
        "session_key": key,
        "project_id": project_id,
        "consecutive": int(whole),
        "compared": 1,
        "agreed": int(comparison.agrees),
        **{column: int(kind in found) for kind, column in _COLUMNS.items()},
        "last_agrees": comparison.agrees,
        "last_version": version,
        "last_at": now,
    }
    _COUNT.run(connection, values)
    return agreed_in_a_row(connection, key)


def totals(connection: Connection, project_id: str) -> Totals:
    """Return what came of all comparisons with sessions that are not deleted."""
    a = t.agreements.c
    sums = [func.coalesce(func.sum(a[name]), 0) for name in ("compared", "agreed")]
    kinds = [func.coalesce(func.sum(a[name]), 0) for name in _COLUMNS.values()]
    row = connection.execute(
        select(func.count(), *sums, *kinds)
        .select_from(t.agreements.join(t.heads, t.heads.c.session_key == a.session_key))
        .where(a.project_id == project_id, t.heads.c.status != "deleted")
    ).one()
    sessions, compared, agreed, *counts = (int(value) for value in row)
    return Totals(
        sessions=sessions,
        compared=compared,
        agreed=agreed,
        kinds=dict(zip(KINDS, counts, strict=True)),
    )


def agreements(connection: Connection, query: AgreementQuery) -> Sequence[SessionAgreement]:
    """Return a page of sessions that were compared."""
    a = t.agreements.c
    statement = (
        select(t.streams.c.session_id, t.agreements)
        .select_from(
            t.agreements.join(t.streams, t.streams.c.session_key == a.session_key).join(
                t.heads, t.heads.c.session_key == a.session_key
            )
        )
        .where(a.project_id == query.project_id, t.heads.c.status != "deleted")
        .order_by(a.last_at.desc(), a.session_key.desc())
        .limit(query.limit)
    )
    if query.kind is not None:
        statement = statement.where(a[_COLUMNS[query.kind]] > 0)
    if query.differing:
        statement = statement.where(a.agreed < a.compared)
    if query.after is not None:
        place = tuple_(a.last_at, a.session_key)
        statement = statement.where(place < tuple_(*map(literal, query.after)))
    return [
        SessionAgreement(
            session_id=row.session_id, session_key=row.session_key, agreement=_agreement(row)
        )
        for row in connection.execute(statement)
    ]


def _agreement(row: Row[Any]) -> Agreement:
    return Agreement(
        consecutive=row.consecutive,
        compared=row.compared,
        agreed=row.agreed,
        kinds={kind: getattr(row, column) for kind, column in _COLUMNS.items()},
        last_agrees=bool(row.last_agrees),
        last_version=row.last_version,
        last_at=row.last_at,
    )


def _count(dialect: str) -> Any:  # noqa: ANN401 - one of two classes without a common one
    insert = sqlite.insert if dialect == "sqlite" else postgresql.insert
    table = t.agreements
    statement: Any = insert(table).values({c.name: bindparam(c.name) for c in table.columns})
    new, old = statement.excluded, table.c
    added = {name: old[name] + new[name] for name in ("compared", "agreed", *_COLUMNS.values())}
    in_a_row = case(
        (or_(new.window > 0, old.consecutive >= _MANY), old.consecutive),
        (new.consecutive > 0, old.consecutive + 1),
        else_=0,
    )
    last = {name: new[name] for name in ("last_agrees", "last_version", "last_at")}
    return statement.on_conflict_do_update(
        index_elements=[old.session_key], set_={**added, **last, "consecutive": in_a_row}
    )


_COUNT: Final = Prepared(_count)
_ONE: Final = Prepared(
    lambda _: select(t.agreements).where(t.agreements.c.session_key == bindparam("session_key"))
)
_CONSECUTIVE: Final = Prepared(
    lambda _: select(t.agreements.c.consecutive).where(
        t.agreements.c.session_key == bindparam("session_key")
    )
)
