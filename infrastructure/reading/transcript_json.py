"""What was said, as JSON ready to be sent?

Plain messages pass through as they are stored; the others of a page are folded together. The number
of statements does not depend on the length of anything, as that of `transcript`.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

from sqlalchemy import (
    Connection,
    Integer,
    any_,
    bindparam,
    cast,
    exists,
    func,
    select,
    text,
    true,
)

from domain.raw_json import dumped
from infrastructure import tables as t
from infrastructure.prepared import Prepared, together
from infrastructure.reading.alternatives import alternatives
from infrastructure.reading.as_stored import StoredMessage, Stretch, as_stored
from infrastructure.reading.events import NEWEST_VERSION
from infrastructure.reading.moment import Moment
from infrastructure.reading.places import Box, Span, boxes
from infrastructure.reading.transcript import folded, spans_of, summary
from projections.transcript import Others, TranscriptMessage
from projections.window import Window

NEAR: Final = 64
"""A call is looked for so many versions before the messages: results of older ones are folded."""


def page_json(connection: Connection, moment: Moment, window: Window) -> list[str]:
    """Return each message of a page as JSON, oldest first: the same as if all were folded."""
    spans = spans_of(connection, moment, window)
    others = alternatives(connection, moment, spans)
    messages = [
        message for box in boxes(spans) for message in _messages(connection, moment, box, others)
    ]
    if window.summary:
        messages.insert(window.before_summary, _json(summary(connection, moment, cut=True)))
    return messages


def _messages(
    connection: Connection, moment: Moment, box: Box, others: Mapping[int, Others]
) -> list[str]:
    params = {"session_key": box.key, "low": box.low, "high": box.high}
    rows, joined, old, calls = together(
        connection, *((statement, params) for statement in (_MESSAGES, _JOINED, _OLD, _CALLS))
    )
    stretch = Stretch(
        calls=calls,
        joined=dict(joined),
        old=frozenset(version for (version,) in old),
        archived=moment.archived,
        at=moment.through_of(box.key),
        others={index: _members(other) for index, other in others.items()},
    )
    spans = [(span, _within(rows, span)) for span in box.spans]
    shown = as_stored(spans, stretch)
    if None not in shown:
        return [*filter(None, shown)]
    indexes = (row[0] for _, within in spans for row in within)
    rest = {index for index, message in zip(indexes, shown, strict=True) if message is None}
    found = map(_json, folded(connection, moment, box, only=rest, others=others, cut=True))
    return [next(found) if message is None else message for message in shown]


def _within(rows: Sequence[StoredMessage], span: Span) -> Sequence[StoredMessage]:
    """Return the rows of a span, of which some can be missing."""
    low = bisect_left(rows, span.first, key=_INDEX)
    return rows[low : bisect_left(rows, span.end, lo=low, key=_INDEX)]


def _members(others: Others) -> str:
    return f",{dumped(others.shape())[1:-1].decode()}"


def _json(message: TranscriptMessage) -> str:
    return dumped(message.shape()).decode()


_INDEX: Final = itemgetter(0)
_M: Final = t.messages.c
_E: Final = t.events.c
_B: Final = t.bodies.c
_C: Final = t.calls.c
_G: Final = t.gates.c


def _of_page(*columns: Any) -> Any:  # noqa: ANN401 - SQLAlchemy's own generics
    return select(*columns).where(
        _M.session_key == bindparam("session_key"),
        _M.index >= bindparam("low"),
        _M.index < bindparam("high"),
    )


def _from(index: str) -> Any:  # noqa: ANN401 - a scalar subquery
    """Return the version of the first message from an index on."""
    return (
        select(_M.version)
        .where(_M.session_key == bindparam("session_key"), _M.index >= bindparam(index))
        .order_by(_M.index)
        .limit(1)
        .scalar_subquery()
    )


_FIRST: Final = _from("low")
_BEYOND: Final = func.coalesce(_from("high"), NEWEST_VERSION)


def _joined(dialect: str) -> Any:  # noqa: ANN401 - as `_of_page`
    """Find the facts that joined a message after its first."""
    if dialect == "sqlite":
        each: Any = func.json_each("[" + _M.versions + "]").table_valued("value")
        versions = _of_page(each.c.value).select_from(t.messages.join(each, true()))
        found: Any = _B.version.in_(versions)
    else:
        each = func.unnest(func.string_to_array(_M.versions, ",")).table_valued("value")
        each = each.render_derived()
        versions = _of_page(cast(each.c.value, Integer)).select_from(t.messages.join(each, true()))
        # An array, not a set to join with: so it is looked up by the index at any estimate.
        found = _B.version == any_(func.array(versions.scalar_subquery()))
    return select(_B.version, _B.body).where(_B.session_key == bindparam("session_key"), found)


_MESSAGES: Final = Prepared(
    lambda _: (
        _of_page(
            _M.index,
            t.MESSAGE_ID,
            _M.item,
            _M.version,
            _M.versions,
            _B.body,
        )
        .select_from(
            t.messages.outerjoin(
                t.bodies, (_B.session_key == _M.session_key) & (_B.version == _M.version)
            )
        )
        .order_by(_M.index)
    )
)
_JOINED: Final = Prepared(_joined)
_OLD: Final = Prepared(
    lambda _: select(_E.version).where(
        _E.session_key == bindparam("session_key"),
        _E.version >= _FIRST,
        _E.version < _BEYOND,
        text("events.schema <> 1"),  # a literal, so that the index of those serves
    )
)
_CALLS: Final = Prepared(
    lambda _: select(
        _C.requested_version,
        _C.completed_version,
        _C.occurrence,
        _C.name,
        _C.status,
        exists()
        .where(
            _G.session_key == _C.session_key,
            _G.tool_call_id == _C.tool_call_id,
            _G.turn_id == _C.turn_id,
        )
        .label("has_gate"),
    ).where(
        _C.session_key == bindparam("session_key"),
        _C.requested_version >= _FIRST - NEAR,
        _C.requested_version < _BEYOND,
    )
)
