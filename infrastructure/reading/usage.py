"""What was used, by session, model or day, of a project or of one of its sessions?

What told no amount of its own is priced here, by whatever the prices are now.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from sqlalchemy import ColumnElement, Connection, func, select

from infrastructure import tables as t
from infrastructure.followers import tracking
from infrastructure.subagents import keys_with_below
from projections.prices import NO_PRICES, Prices
from projections.usage import NAMES, Usage

By: TypeAlias = Literal["session", "model", "day"]
Key: TypeAlias = int | str
VIEW: Final = "usage"
_U: Final = t.usage.c
_COLUMNS: Final[Mapping[By, Any]] = {"session": _U.session_key, "model": _U.model, "day": _U.day}
_SUMS: Final = tuple(func.sum(_U[name]).label(name) for name in NAMES)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageQuery:
    """Which usage: days are days since 1970, both inclusive; `after` is the last key before.

    Attributes:
        session_key: Of this session only; None for all of the project.
        below: With what its sub-agents used, and theirs.
    """

    project_id: str
    by: By
    session_key: int | None = None
    below: bool = False
    first_day: int | None = None
    last_day: int | None = None
    after: Key | None = None
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageItem:
    """What was used under one key.

    Attributes:
        costs: By currency, in million-millionths; "" where none was named.
        priced: How many records told no amount and were priced by the table.
        unpriced: How many told none and have no price.
    """

    key: Key
    name: str
    usage: Usage
    costs: Mapping[str, int]
    priced: int = 0
    unpriced: int = 0


def usage_by(
    connection: Connection, query: UsageQuery, prices: Prices = NO_PRICES
) -> list[UsageItem]:
    """Return usage by key, in the keys' order."""
    read = tracking.live(connection, VIEW)
    if read is None:
        return []
    column = _COLUMNS[query.by]
    where = _where(query, read.generation)
    if query.by == "model":  # how a turn ended is no one model's
        where.append(_U.records > 0)
    keys = select(column).where(*where).distinct().order_by(column).limit(query.limit)
    if query.after is not None:
        keys = keys.where(column > query.after)
    found = list(connection.execute(keys).scalars())
    if not found:
        return []
    sums = _sums(connection, [*where, column.in_(found)], column.label("key"))
    names = _names(connection, query.by, found)
    return [
        _item(key, names[key], [row for row in sums if row.key == key], prices) for key in found
    ]


def total(connection: Connection, query: UsageQuery, prices: Prices = NO_PRICES) -> UsageItem:
    """Return the sum over every key."""
    read = tracking.live(connection, VIEW)
    where = _where(query, 0 if read is None else read.generation)
    return _item("", "", _sums(connection, where), prices)


def _sums(
    connection: Connection, where: Sequence[ColumnElement[bool]], *keys: ColumnElement[Any]
) -> Sequence[Any]:
    groups = (*keys, _U.model, _U.currency, _U.costed)
    statement = select(*groups, *_SUMS).where(*where).group_by(*groups).order_by(_U.currency)
    return connection.execute(statement).all()


def _where(query: UsageQuery, generation: int) -> list[ColumnElement[bool]]:
    where = [_U.generation == generation, _U.project_id == query.project_id]
    if query.session_key is not None and query.below:
        where.append(_U.session_key.in_(keys_with_below(query.session_key)))
    elif query.session_key is not None:
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


def _item(key: Key, name: str, rows: Sequence[Any], prices: Prices) -> UsageItem:
    whole, costs = Usage(), dict[str, int]()
    priced = unpriced = 0
    for row in rows:
        usage = Usage(**{each: int(getattr(row, each)) for each in NAMES})
        whole += usage
        price = None if row.costed else prices.of(row.model)
        if row.costed:
            costs[row.currency] = costs.get(row.currency, 0) + usage.pico
        elif price is not None:
            costs[price.currency] = costs.get(price.currency, 0) + price.of(usage)
            priced += usage.records
        else:
            unpriced += usage.records
    return UsageItem(
        key=key,
        name=name,
        usage=whole,
        costs=dict(sorted(costs.items())),
        priced=priced,
        unpriced=unpriced,
    )
