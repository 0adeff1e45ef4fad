"""What became of the calls of a stretch that a fork shares, by what the fork itself knows?

Where they were asked for, records tell what came later there; where the history went on, records
tell what became of what was under way. The nearest one that has a record is believed.
"""

from collections.abc import Collection, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Table, select

from domain.state import Call, CallKey, Gate
from infrastructure import tables as t
from infrastructure.reading.moment import Moment
from infrastructure.view_rows import call_of, gate_of


class Waiting:
    """Calls as of the moment, with their gates and the ends of their turns.

    Attributes:
        ended: The version at which each turn ended, if it had.
        numbers: The number of each turn.
    """

    def __init__(
        self, connection: Connection, moment: Moment, keys: Collection[CallKey] | None = None
    ) -> None:
        """Read those of these keys, or all, of all that share the history."""
        self._calls: dict[tuple[str, str, int], Call] = {}
        self._gates: dict[str, Gate] = {}
        self.ended: dict[str, int | None] = {}
        self.numbers: dict[str, int] = {}
        turns = None if keys is None else {turn_id for turn_id, _ in keys}
        calls = None if keys is None else {name for _, name in keys}
        holders = [*(each.key for each in reversed(moment.lineage)), moment.key]
        for row in _rows(connection, t.calls, holders, turns, calls):
            self._call(call_of(row), moment.through_of(row.session_key))
        for row in _rows(connection, t.gates, holders, turns, calls):
            if row.opened_version <= moment.through_of(row.session_key):
                self._gates[row.gate_id] = gate_of(row)
        for row in _rows(connection, t.turns, holders, turns):
            through = moment.through_of(row.session_key)
            if row.started_version <= through:
                ended = row.ended_version
                self.ended[row.turn_id] = None if ended is None or ended > through else ended
                self.numbers[row.turn_id] = row.number
        self.calls: Final = sorted(self._calls.values(), key=lambda c: c.requested_version or 0)
        self.gates: Final = [g for g in self._gates.values() if g.tool_call_id is not None]

    def _call(self, call: Call, through: int) -> None:
        asked, answered = call.requested_version, call.completed_version
        if (asked or answered or 0) > through:
            return
        if answered is not None and answered > through:
            call = call._replace(status="open", completed_version=None)
        self._calls[call.turn_id, call.tool_call_id, call.occurrence] = call


def _rows(
    connection: Connection,
    table: Table,
    holders: Sequence[int],
    turns: Collection[str] | None,
    calls: Collection[str] | None = None,
) -> list[Any]:
    """Return the rows of some turns and calls, those of the nearest session last."""
    statement = select(table).where(table.c.session_key.in_(holders))
    if turns is not None:
        statement = statement.where(table.c.turn_id.in_(sorted(turns)))
    if calls is not None:
        statement = statement.where(table.c.tool_call_id.in_(sorted(calls)))
    rows = connection.execute(statement).all()
    return sorted(rows, key=lambda row: holders.index(row.session_key))
