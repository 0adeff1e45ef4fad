"""How does `usage` follow the log? Sums by session, day, model and currency.

What told an amount of its own is summed apart from what did not: the latter is priced when it is
read.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, bindparam, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from domain.events import SessionPurged
from domain.raw_json import RawJson, dumped, without_raw
from infrastructure import tables as t
from infrastructure.followers.follower import Write
from infrastructure.mapper import StoredFact, recorded_of
from infrastructure.prepared import Prepared
from infrastructure.reading.whole_log import Found
from projections.usage import ENDS, FOLD_VERSION, NAMES, PICO, Usage, Used, day_of, used

UsageKey: TypeAlias = tuple[int, str, int, str, str, bool]
"""Session key, project, day, model, currency, and whether it told an amount."""
TYPES: Final = ("usage-recorded", *ENDS)
"""The types of the facts that are summed."""
_U: Final = t.usage.c


class UsageFollower:
    """Keeps `usage`; see `Follower`."""

    name = "usage"
    fold_version = FOLD_VERSION
    types: Sequence[str] = (*TYPES, "session-purged")
    whole = True

    def begin(self, connection: Connection, generation: int) -> None:
        """Nothing: there are no rows yet."""

    def fold(self, facts: Sequence[Found]) -> Write:
        """Sum up what the facts tell, by key; of a purged session what it told itself at last."""
        purged = [found for found in facts if found.stored.envelope.type == "session-purged"]
        gone = {found.session_key for found in purged}
        sums = dict(summed(found for found in facts if found.session_key not in gone))
        for found in purged:
            sums |= _kept(found)

        def write(connection: Connection, generation: int) -> None:
            for session_key in sorted(gone):
                mine = (_U.generation == generation, _U.session_key == session_key)
                connection.execute(delete(t.usage).where(*mine))
            # In one order, so that no two workers wait for each other.
            _ADD.many(connection, [_row(generation, key, sums[key]) for key in sorted(sums)])

        return write

    def remove(self, connection: Connection, generation: int, limit: int) -> bool:
        """Remove the sums of the next sessions; see `Follower`."""
        return remove_sessions(connection, t.usage, generation, limit)


def summed(facts: Iterable[Found]) -> Mapping[UsageKey, Usage]:
    """Return the sums of what facts tell, by key."""
    sums: defaultdict[UsageKey, Usage] = defaultdict(Usage)
    for session_key, stored in facts:
        told = _told(stored)
        if told is not None:
            envelope = stored.envelope
            day = day_of(envelope.occurred_at or envelope.recorded_at)
            costed = told.usage.costs > 0
            key = (session_key, envelope.project_id, day, told.model, told.currency, costed)
            sums[key] += told.usage
    return dict(sums)


def _told(stored: StoredFact) -> Used | None:
    end = ENDS.get(stored.envelope.type)
    if end is not None:
        return Used(model="", currency="", usage=end)
    return used(recorded_of(stored).event)


def told_of(sums: Mapping[UsageKey, Usage]) -> RawJson:
    """Return the sums of one session as JSON, as its last fact keeps them."""
    rows = [
        {"day": day, "model": model, "currency": currency}
        | {name: value for name in NAMES if (value := getattr(usage, name))}
        for (_, _, day, model, currency, _), usage in sorted(sums.items(), key=lambda item: item[0])
    ]
    return RawJson(dumped(rows))


def _kept(found: Found) -> Mapping[UsageKey, Usage]:
    """Return what `told_of` wrote in a session's last fact."""
    event, project_id = recorded_of(found.stored).event, found.stored.envelope.project_id
    rows = without_raw(event.usage) if isinstance(event, SessionPurged) else None
    sums: dict[UsageKey, Usage] = {}
    for row in rows if isinstance(rows, list) else ():
        match row:
            case {"day": int(day), "model": str(model), "currency": str(currency), **rest}:
                counts = {name: n for name in NAMES if isinstance(n := rest.get(name), int)}
                usage = Usage(**counts)
                costed = usage.costs > 0
                sums[found.session_key, project_id, day, model, currency, costed] = usage
            case _:
                pass  # whatever wrote it, it is nothing that can be summed
    return sums


def remove_sessions(connection: Connection, table: Any, generation: int, limit: int) -> bool:  # noqa: ANN401
    """Remove the rows of some sessions; True once no row of the generation is left."""
    columns = table.c
    mine = columns.generation == generation
    some = select(columns.session_key).where(mine).order_by(columns.session_key).limit(limit)
    last = list(connection.execute(some).scalars())
    if not last:
        return True
    connection.execute(delete(table).where(mine, columns.session_key <= last[-1]))
    return len(last) < limit


def _row(generation: int, key: UsageKey, usage: Usage) -> dict[str, object]:
    session_key, project_id, day, model, currency, costed = key
    return {
        "generation": generation,
        "session_key": session_key,
        "project_id": project_id,
        "day": day,
        "model": model,
        "currency": currency,
        "costed": costed,
        **{name: getattr(usage, name) for name in NAMES},
    }


def _add(dialect: str) -> Any:  # noqa: ANN401 - one of two classes without a common one
    insert: Any = sqlite.insert if dialect == "sqlite" else postgresql.insert
    statement = insert(t.usage).values({c.name: bindparam(c.name) for c in t.usage.columns})
    sums = {name: _U[name] + statement.excluded[name] for name in NAMES}
    pico = sums["cost_pico"]
    return statement.on_conflict_do_update(
        index_elements=list(t.usage.primary_key.columns),
        set_=sums | {"cost_units": sums["cost_units"] + pico // PICO, "cost_pico": pico % PICO},
    )


_ADD: Final = Prepared(_add)
