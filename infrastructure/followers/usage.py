"""How does `usage` follow the log? Sums by session, day, model and currency."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection, bindparam, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from infrastructure import tables as t
from infrastructure.followers.follower import Write
from infrastructure.mapper import recorded_of
from infrastructure.prepared import Prepared
from infrastructure.reading.whole_log import Found
from projections.usage import FOLD_VERSION, NAMES, PICO, Usage, day_of, used

_Key = tuple[int, str, int, str, str]
_U: Final = t.usage.c


class UsageFollower:
    """Keeps `usage`; see `Follower`."""

    name = "usage"
    fold_version = FOLD_VERSION
    types: Sequence[str] = ("usage-recorded",)

    def begin(self, connection: Connection, generation: int) -> None:
        """Nothing: there are no rows yet."""

    def fold(self, facts: Sequence[Found]) -> Write:
        """Sum up what the facts tell, by key."""
        sums: defaultdict[_Key, Usage] = defaultdict(Usage)
        for session_key, stored in facts:
            told = used(recorded_of(stored).event)
            if told is not None:
                envelope = stored.envelope
                moment = envelope.occurred_at or envelope.recorded_at
                project_id = envelope.project_id
                key = (session_key, project_id, day_of(moment), told.model, told.currency)
                sums[key] += told.usage

        def write(connection: Connection, generation: int) -> None:
            # In one order, so that no two workers wait for each other.
            _ADD.many(connection, [_row(generation, key, sums[key]) for key in sorted(sums)])

        return write

    def remove(self, connection: Connection, generation: int, limit: int) -> bool:
        """Remove the sums of the next sessions; see `Follower`."""
        return remove_sessions(connection, t.usage, generation, limit)


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


def _row(generation: int, key: _Key, usage: Usage) -> dict[str, object]:
    session_key, project_id, day, model, currency = key
    return {
        "generation": generation,
        "session_key": session_key,
        "project_id": project_id,
        "day": day,
        "model": model,
        "currency": currency,
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
