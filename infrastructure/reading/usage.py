"""What was used, by session, model or day, of a project or of one session?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from sqlalchemy import ColumnElement, Connection, func, select

from infrastructure import tables as t
from infrastructure.followers import tracking
from projections.usage import NAMES, Usage

By: TypeAlias = Literal["session", "model", "day"]
Key: TypeAlias = int | str
VIEW: Final = "usage"
_U: Final = t.usage.c
_COLUMNS: Final[Mapping[By, Any]] = {"session": _U.session_key, "model": _U.model, "day": _U.day}
_SUMS: Final = tuple(func.sum(_U[name]).label(name) for name in NAMES)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageQuery:
    """Which usage: days are days since 1970, both inclusive; `after` is the last key before."""

    project_id: str
    by: By
    session_key: int | None = None
    first_day: int | None = None
    last_day: int | None = None
    after: Key | None = None
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageItem:
    """What was used under one key; `costs` by currency, "" where none was named."""

    key: Key
    name: str
    usage: Usage
    costs: Mapping[str, Usage]


def usage_by(connection: Connection, query: UsageQuery) -> list[UsageItem]:
    """Return usage by key, in the keys' order."""
    read = tracking.live(connection, VIEW)
    if read is None:
        return []
    column = _COLUMNS[query.by]
    where = _where(query, read.generation)
    keys = select(column).where(*where).distinct().order_by(column).limit(query.limit)
    if query.after is not None:
        keys = keys.where(column > query.after)
    found = list(connection.execute(keys).scalars())
    if not found:
        return []
    grouped = (
        select(column.label("key"), _U.currency, *_SUMS)
        .where(*where, column.in_(found))
        .group_by(column, _U.currency)
        .order_by(_U.currency)
    )
    rows: Sequence[Any] = connection.execute(grouped).all()
    names = _names(connection, query.by, found)
    return [_item(key, names[key], [row for row in rows if row.key == key]) for key in found]


def total(connection: Connection, query: UsageQuery) -> UsageItem:
    """Return the sum over every key."""
    read = tracking.live(connection, VIEW)
    generation = 0 if read is None else read.generation
    statement = (
        select(_U.currency, *_SUMS)
        .where(*_where(query, generation))
        .group_by(_U.currency)
        .order_by(_U.currency)
    )
    rows: Sequence[Any] = connection.execute(statement).all()
    return _item("", "", rows)


def _where(query: UsageQuery, generation: int) -> list[ColumnElement[bool]]:
    where = [_U.generation == generation, _U.project_id == query.project_id]
    if query.session_key is not None:
        where.append(_U.session_key == query.session_key)
    if query.first_day is not None:
        where.append(_U.day >= query.first_day)
    if query.last_day is not None:
        where.append(_U.day <= query.last_day)
    return where


def _names(connection: Connection, by: By, keys: Sequence[Key]) -> Mapping[Key, str]:
    if by != "session":
        return {key: str(key) for key in keys}
    statement = select(t.streams.c.session_key, t.streams.c.session_id).where(
        t.streams.c.session_key.in_(keys)
    )
    return {row.session_key: row.session_id for row in connection.execute(statement)}


def _item(key: Key, name: str, rows: Sequence[Any]) -> UsageItem:
    sums = {
        row.currency: Usage(**{each: int(getattr(row, each)) for each in NAMES}) for row in rows
    }
    whole = sum(sums.values(), start=Usage())
    costs = {currency: usage for currency, usage in sums.items() if usage.costs}
    return UsageItem(key=key, name=name, usage=whole, costs=costs)
