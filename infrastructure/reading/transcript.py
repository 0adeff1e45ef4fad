"""What was said, by the page or whole, at any version?

A page costs what it shows: messages by index, their facts by version, and the calls and gates that
those facts name. The number of statements does not depend on the length of anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Select, bindparam, select, tuple_

from domain import events as e
from domain.state import Call, CallKey, Gate, Placed
from infrastructure import tables as t
from infrastructure.prepared import Prepared
from infrastructure.reading.facts import StoredFacts, beginning_at, content, fact_at
from infrastructure.reading.moment import Moment
from infrastructure.view_rows import call_of, gate_of, message_of
from projections.calls import CallViews, call_views
from projections.transcript import (
    Facts,
    TranscriptMessage,
    in_its_place,
    messages_of,
    summary_of,
)
from projections.window import Extent, Window


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveView:
    """Everything that the model sees, and the ids of the calls that it does not see any more."""

    messages: Sequence[TranscriptMessage]
    earlier_calls: Sequence[str]


def extent(moment: Moment, *, with_archived: bool) -> Extent:
    """Return what there is to page through."""
    return Extent(
        messages=moment.messages,
        archived=moment.archived,
        summary=moment.summary_version is not None,
        with_archived=with_archived,
    )


def page(
    connection: Connection, moment: Moment, window: Window, *, cut: bool = False
) -> list[TranscriptMessage]:
    """Return the messages of a page, oldest first; `cut` with the beginnings of what is long."""
    shown = folded(connection, moment, window.indexes, cut=cut)
    if not window.summary:
        return shown
    return in_its_place(summary(connection, moment, cut=cut), shown)


def folded(
    connection: Connection, moment: Moment, indexes: Sequence[int], *, cut: bool = False
) -> list[TranscriptMessage]:
    """Return the messages with these indexes, in their order."""
    if not indexes:
        return []
    wanted = indexes if isinstance(indexes, range) else frozenset(indexes)
    between = placed_at(connection, moment.key, indexes[0], indexes[-1] + 1)
    placed = [message for message in between if message.index in wanted]
    facts = _facts(connection, moment, placed, cut=cut)
    calls = _calls_of(connection, moment, placed, facts)
    return list(
        messages_of(
            placed, facts, calls, archived=moment.archived, at=moment.through, cuts=facts.cuts
        )
    )


def summary(connection: Connection, moment: Moment, *, cut: bool = False) -> TranscriptMessage:
    """Return what stands for the archived messages; there is one."""
    version = moment.summary_version or 0
    if cut:
        fact, cuts = beginning_at(connection, moment.key, version)
        return summary_of(fact, version, moment.archived, cuts)
    return summary_of(fact_at(connection, moment.key, version), version, moment.archived)


def live_view(connection: Connection, moment: Moment) -> LiveView:
    """Return all that the model saw, oldest first."""
    shown = extent(moment, with_archived=False)
    window = shown.after(shown.first, shown.end)
    indexes = window.indexes
    placed = placed_at(connection, moment.key, indexes.start, indexes.stop) if indexes else []
    facts = _facts(connection, moment, placed)
    calls = [call_of(row) for row in _ALL_CALLS.run(connection, {"session_key": moment.key})]
    gates = [gate_of(row) for row in _ALL_GATES.run(connection, {"session_key": moment.key})]
    views = _views(connection, moment, calls, gates, indexes)
    begins = placed[0].versions[0] if placed else moment.through + 1
    messages = messages_of(placed, facts, views, archived=moment.archived, at=moment.through)
    before = [summary(connection, moment)] if window.summary else []
    return LiveView(
        messages=[*before, *messages],
        earlier_calls=[
            call.tool_call_id
            for call in calls
            if call.requested_version is not None and call.requested_version < begins
        ],
    )


def placed_at(connection: Connection, key: int, low: int, high: int) -> list[Placed]:
    """Return the messages with indexes from `low` to before `high`."""
    params = {"session_key": key, "low": low, "high": high}
    return [message_of(row) for row in _PLACED.run(connection, params)]


def _facts(
    connection: Connection, moment: Moment, placed: Sequence[Placed], *, cut: bool = False
) -> StoredFacts:
    if not placed:
        return StoredFacts(connection, moment.key, ())
    high = min(placed[-1].versions[-1], moment.through)
    return content(connection, moment.key, placed[0].versions[0], high, cut=cut)


def _calls_of(
    connection: Connection, moment: Moment, placed: Sequence[Placed], facts: Facts
) -> CallViews:
    """Return the calls that these messages ask for or bring the results of."""
    told = [facts.get(version) for message in placed for version in message.versions]
    results = {
        (fact.turn_id, fact.tool_call_id) for fact in told if isinstance(fact, e.ToolCallCompleted)
    }
    asks = any(isinstance(fact, e.ToolCallRequested | e.GateOpened) for fact in told)
    if not results and not asks:
        return call_views((), (), {}, moment.through)
    between: dict[str, object] = {
        "session_key": moment.key,
        "low": placed[0].versions[0],
        "high": placed[-1].versions[-1],
        "first": placed[0].index,
        "last": placed[-1].index,
    }
    asked = [call_of(row) for row in _ASKED_CALLS.run(connection, between)] if asks else []
    found = {(call.turn_id, call.tool_call_id) for call in asked}
    calls = [*asked, *_calls(connection, moment.key, sorted(results - found))]
    gates = [gate_of(row) for row in _ASKED_GATES.run(connection, between)] if asks else []
    return _views(connection, moment, calls, gates, range(placed[0].index, placed[-1].index + 1))


def _calls(connection: Connection, key: int, keys: Sequence[CallKey]) -> list[Call]:
    if not keys:
        return []
    c = t.calls.c
    pairs = tuple_(c.turn_id, c.tool_call_id)
    statement = select(t.calls).where(c.session_key == key, pairs.in_(keys))
    return [call_of(row) for row in connection.execute(statement)]


def _views(
    connection: Connection,
    moment: Moment,
    calls: Sequence[Call],
    gates: Sequence[Gate],
    indexes: range,
) -> CallViews:
    if not calls:
        return call_views((), (), {}, moment.through)
    params = {"session_key": moment.key, "first": indexes.start, "last": indexes.stop - 1}
    ended = {row.turn_id: row.ended_version for row in _ENDED.run(connection, params)}
    return call_views(calls, gates, ended, moment.through)


_PLACED: Final = Prepared(
    lambda _: (
        select(t.messages)
        .where(
            t.messages.c.session_key == bindparam("session_key"),
            t.messages.c.index >= bindparam("low"),
            t.messages.c.index < bindparam("high"),
        )
        .order_by(t.messages.c.index)
    )
)


def _turns_of_messages() -> Select[Any]:
    return select(t.messages.c.turn_id).where(
        t.messages.c.session_key == bindparam("session_key"),
        t.messages.c.index >= bindparam("first"),
        t.messages.c.index <= bindparam("last"),
    )


_ENDED: Final = Prepared(
    lambda _: select(t.turns.c.turn_id, t.turns.c.ended_version).where(
        t.turns.c.session_key == bindparam("session_key"),
        t.turns.c.turn_id.in_(_turns_of_messages()),
    )
)


def _asked(*columns: str) -> Select[Any]:
    asked = t.calls.alias("asked")
    return select(*(asked.c[name] for name in columns)).where(
        asked.c.session_key == bindparam("session_key"),
        asked.c.requested_version >= bindparam("low"),
        asked.c.requested_version <= bindparam("high"),
    )


_ASKED_CALLS: Final = Prepared(
    lambda _: select(t.calls).where(
        t.calls.c.session_key == bindparam("session_key"),
        tuple_(t.calls.c.turn_id, t.calls.c.tool_call_id).in_(_asked("turn_id", "tool_call_id")),
    )
)
_ASKED_GATES: Final = Prepared(
    lambda _: select(t.gates).where(
        t.gates.c.session_key == bindparam("session_key"),
        t.gates.c.tool_call_id.in_(_asked("tool_call_id")),
        t.gates.c.turn_id.in_(_turns_of_messages()),
    )
)
_ALL_CALLS: Final = Prepared(
    lambda _: (
        select(t.calls)
        .where(t.calls.c.session_key == bindparam("session_key"))
        .order_by(t.calls.c.requested_version)
    )
)
_ALL_GATES: Final = Prepared(
    lambda _: select(t.gates).where(
        t.gates.c.session_key == bindparam("session_key"), t.gates.c.tool_call_id.is_not(None)
    )
)
