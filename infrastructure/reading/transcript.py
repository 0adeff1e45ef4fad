"""What was said, by the page or whole, at any version?

A page costs what it shows: messages by index, their facts by version, and the calls and gates that
those facts name. The number of statements does not depend on the length of anything, only on how
many stretches of the history stand on the page.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Select, bindparam, select, tuple_

from domain import events as e
from domain.paths import turn_in_sight
from domain.state import Call, CallKey, Gate, Placed
from infrastructure import tables as t
from infrastructure.prepared import Prepared
from infrastructure.reading.facts import StoredFacts, beginning_at, content, fact_at
from infrastructure.reading.inherited_calls import Waiting
from infrastructure.reading.moment import Moment
from infrastructure.reading.places import (
    Box,
    Span,
    boxes,
    finder,
    spans_in_sight,
    spans_placed,
)
from infrastructure.stored_records import placed_in
from infrastructure.view_rows import call_of, gate_of
from projections.calls import CallViews, call_views
from projections.transcript import (
    NO_OTHERS,
    Facts,
    MessageState,
    Others,
    Standing,
    TranscriptMessage,
    messages_of,
    summary_of,
)
from projections.window import Extent, Window

NONE: Final[Mapping[int, Others]] = {}


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


def extent_placed(connection: Connection, moment: Moment) -> Extent:
    """Return the same with everything that was ever placed, rewound or archived as it may be.

    The summary comes after the last one of those that it stands for.
    """
    archived = moment.archived
    if archived:
        (last,) = spans_in_sight(connection, moment, archived - 1, archived)
        archived = last.end
    return Extent(
        messages=moment.sight.placed,
        archived=archived,
        summary=moment.summary_version is not None,
        with_archived=True,
        with_rewound=True,
    )


def spans_of(connection: Connection, moment: Moment, window: Window) -> list[Span]:
    """Return where the messages of a page stand."""
    indexes = window.indexes
    find = spans_placed if window.extent.with_rewound else spans_in_sight
    return find(connection, moment, indexes.start, indexes.stop) if indexes else []


def page(
    connection: Connection, moment: Moment, window: Window, *, cut: bool = False
) -> list[TranscriptMessage]:
    """Return the messages of a page, oldest first; `cut` with the beginnings of what is long."""
    shown = [
        message
        for box in boxes(spans_of(connection, moment, window))
        for message in folded(connection, moment, box, cut=cut)
    ]
    if window.summary:
        shown.insert(window.before_summary, summary(connection, moment, cut=cut))
    return shown


def newest(connection: Connection, moment: Moment, most: int) -> list[TranscriptMessage]:
    """Return the newest messages that the model saw, oldest first, so many of them at most."""
    shown = extent(moment, with_archived=False)
    return page(connection, moment, shown.before(shown.end, most))


def folded(
    connection: Connection,
    moment: Moment,
    box: Box,
    *,
    only: Container[int] | None = None,
    others: Mapping[int, Others] = NONE,
    cut: bool = False,
) -> list[TranscriptMessage]:
    """Return the messages in a box, in their order.

    Args:
        connection: Where they are read.
        moment: The moment that is looked at.
        box: What is read at once.
        only: The indexes of those that are wanted, if not all are.
        others: What began in their places, by index.
        cut: Whether of what is long the beginnings will do.
    """
    standing = _standing(connection, moment, box, only, others)
    placed = [each.placed for each in standing]
    facts = _facts(connection, moment, box.key, placed, cut=cut)
    calls = _calls_of(connection, moment, box.key, placed, facts)
    at = moment.through_of(box.key)
    return list(messages_of(standing, facts, calls, at=at, cuts=facts.cuts))


def summary(connection: Connection, moment: Moment, *, cut: bool = False) -> TranscriptMessage:
    """Return what stands for the archived messages; there is one."""
    version = moment.summary_version or 0
    key = moment.key_at(version)
    if cut:
        fact, cuts = beginning_at(connection, key, version)
        return summary_of(fact, version, moment.archived, cuts)
    return summary_of(fact_at(connection, key, version), version, moment.archived)


def live_view(connection: Connection, moment: Moment) -> LiveView:
    """Return all that the model saw, oldest first."""
    shown = extent(moment, with_archived=False)
    window = shown.after(shown.first, shown.end)
    boxed = [*boxes(spans_of(connection, moment, window))]
    waiting = Waiting(connection, moment) if moment.lineage else None
    if waiting is None:
        calls = [call_of(row) for row in _ALL_CALLS.run(connection, {"session_key": moment.key})]
        gates = [gate_of(row) for row in _ALL_GATES.run(connection, {"session_key": moment.key})]
    else:
        calls, gates = waiting.calls, waiting.gates
    messages = [summary(connection, moment)] if window.summary else []
    begins = moment.through + 1
    for box in boxed:
        standing = _standing(connection, moment, box)
        placed = [each.placed for each in standing]
        facts = _facts(connection, moment, box.key, placed)
        if waiting is None:
            views = _views(connection, moment, box.key, calls, gates, range(box.low, box.high))
        else:
            views = call_views(calls, gates, waiting.ended, moment.through)
        messages += messages_of(standing, facts, views, at=moment.through_of(box.key))
        begins = min(begins, *(message.versions[0] for message in placed[:1]))
    numbers = None if waiting is None else waiting.numbers
    earlier = _earlier(connection, moment, calls, begins, numbers)
    return LiveView(messages=messages, earlier_calls=earlier)


def _earlier(
    connection: Connection,
    moment: Moment,
    calls: Sequence[Call],
    begins: int,
    numbers: Mapping[str, int] | None,
) -> list[str]:
    """Return the ids of archived calls: those of turns in sight before what is live begins."""
    earlier = [call for call in calls if (call.requested_version or begins) < begins]
    if earlier and moment.sight.turns < moment.sight.started:
        find, spot = finder(connection, moment), moment.sight.spot
        if numbers is None:
            numbers = dict(_NUMBERS.run(connection, {"session_key": moment.key}))
        seen = {turn_id for turn_id, number in numbers.items() if turn_in_sight(find, spot, number)}
        earlier = [call for call in earlier if call.turn_id in seen]
    return [call.tool_call_id for call in earlier]


def _standing(
    connection: Connection,
    moment: Moment,
    box: Box,
    only: Container[int] | None = None,
    others: Mapping[int, Others] = NONE,
) -> list[Standing]:
    placed = {
        message.index: message for message in placed_in(connection, box.key, box.low, box.high)
    }
    return [
        Standing(placed[index], depth, _state(moment, span, depth), others.get(index, NO_OTHERS))
        for span in box.spans
        for depth, index in enumerate(range(span.first, span.end), span.depth)
        if index in placed and (only is None or index in only)
    ]


def _state(moment: Moment, span: Span, depth: int) -> MessageState:
    if span.rewound:
        return "rewound"
    return "archived" if depth < moment.archived else "live"


def _facts(
    connection: Connection,
    moment: Moment,
    key: int,
    placed: Sequence[Placed],
    *,
    cut: bool = False,
) -> StoredFacts:
    if not placed:
        return StoredFacts(connection, key, ())
    high = min(placed[-1].versions[-1], moment.through_of(key))
    return content(connection, key, placed[0].versions[0], high, cut=cut)


def _calls_of(
    connection: Connection, moment: Moment, key: int, placed: Sequence[Placed], facts: Facts
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
        "session_key": key,
        "low": placed[0].versions[0],
        "high": placed[-1].versions[-1],
        "first": placed[0].index,
        "last": placed[-1].index,
    }
    asked = [call_of(row) for row in _ASKED_CALLS.run(connection, between)] if asks else []
    found = {(call.turn_id, call.tool_call_id) for call in asked}
    if key != moment.key:
        waiting = Waiting(connection, moment, found | results)
        return call_views(waiting.calls, waiting.gates, waiting.ended, moment.through)
    calls = [*asked, *_calls(connection, key, sorted(results - found))]
    gates = [gate_of(row) for row in _ASKED_GATES.run(connection, between)] if asks else []
    indexes = range(placed[0].index, placed[-1].index + 1)
    return _views(connection, moment, key, calls, gates, indexes)


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
    key: int,
    calls: Sequence[Call],
    gates: Sequence[Gate],
    indexes: range,
) -> CallViews:
    if not calls:
        return call_views((), (), {}, moment.through)
    params = {"session_key": key, "first": indexes.start, "last": indexes.stop - 1}
    ended = {row.turn_id: row.ended_version for row in _ENDED.run(connection, params)}
    return call_views(calls, gates, ended, moment.through)


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
_NUMBERS: Final = Prepared(
    lambda _: select(t.turns.c.turn_id, t.turns.c.number).where(
        t.turns.c.session_key == bindparam("session_key")
    )
)
_ALL_GATES: Final = Prepared(
    lambda _: select(t.gates).where(
        t.gates.c.session_key == bindparam("session_key"), t.gates.c.tool_call_id.is_not(None)
    )
)
