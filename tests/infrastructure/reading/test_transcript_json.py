"""The transcript's JSON is the same whether bodies pass through or are folded, at any version."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from sqlalchemy import Connection

from domain.json_text import JsonValue
from domain.refusals import Refusal
from domain.registry import KINDS
from infrastructure.reading.facts import CONTENT
from infrastructure.reading.moment import At, Moment, moment
from infrastructure.reading.transcript import extent, page
from infrastructure.reading.transcript_json import NEAR, page_json
from projections.window import Window
from tests.domain.test_laws import HISTORIES, Step
from tests.infrastructure.journeys import by_hand, eventful, unheard_of
from tests.infrastructure.large import asking, ending
from tests.infrastructure.reading.asking import as_json, long_session, looked, statements
from tests.infrastructure.reading.test_as_of import JOURNEYS
from tests.infrastructure.test_lookup import COUNT, PROJECTS, carry_out
from tests.infrastructure.writing import Store, note, propose, target, turn

Body: TypeAlias = dict[str, JsonValue]
AT_ONCE = 4
"""So many statements a page takes of which nothing is folded."""


def agree(connection: Connection, found: Moment, window: Window) -> None:
    folded = [message.decode() for message in as_json(page(connection, found, window, cut=True))]
    assert page_json(connection, found, window) == folded


def agrees(connection: Connection, found: Moment) -> None:
    """Compare the whole, and pages of two."""
    for with_archived in (True, False):
        shown = extent(found, with_archived=with_archived)
        agree(connection, found, shown.after(0, shown.end))
        for slot in range(shown.first, shown.end, 2):
            agree(connection, found, shown.after(slot, 2))


def whole(connection: Connection, found: Moment) -> list[str]:
    shown = extent(found, with_archived=True)
    return page_json(connection, found, shown.after(0, shown.end))


def large(store: Store) -> None:
    store.append(asking())
    store.append(ending())
    store.append(turn("t2"))


@pytest.mark.parametrize("journey", [*JOURNEYS, eventful, large])
def test_a_journey_reads_the_same_at_each_version(
    store: Store, journey: Callable[[Store], None]
) -> None:
    journey(store)

    for at in range(1, len(store.facts()) + 1):
        looked(store, agrees, At(version=at))


@COUNT
@given(history=HISTORIES)
def test_whatever_happened_reads_the_same(store: Store, history: Sequence[Step]) -> None:
    where = target("s1", f"project-{next(PROJECTS)}")
    for step in history:
        carry_out(store, where, step)
    if not store.facts("s1", where.project_id):
        return

    with store.database.read() as connection:
        now = moment(connection, where)
        for version in (now.through, now.through // 2 + 1):
            agrees(connection, moment(connection, where, At(version=version)))


TEXTS = st.sampled_from(
    ["hi", "", "a\nb", 'say "so"', "back\\slash", "é 🙂", "{}", "\x7f\u2028", '"}', "\x00"]
)
OBJECTS: SearchStrategy[JsonValue] = st.sampled_from(
    [
        {},
        {"path": "a", "lines": [1, 2.50]},
        {"é": "a\nb"},
        {"arguments": 1, "output": [{"a": {}}]},
    ]
)
SCALARS: SearchStrategy[JsonValue] = st.sampled_from([None, True, 0, -1, [], ["x", 2]])
VALUES = TEXTS | OBJECTS | SCALARS
NAMES = st.sampled_from(["c1", "c2", "output", "arguments", 'c"3'])
PARTS: SearchStrategy[JsonValue] = st.sampled_from(
    [
        {"type": "text", "text": "one"},
        {"text": 'an"other', "type": "text"},
        {"type": "reasoning", "text": "so\n", "signature": "s"},
        {"type": "attachment", "attachment_id": "a1", "size": 3},
        {"type": "text", "text": "said", "cache": {"n": 1}},
        {"type": "data", "kind": "place", "data": {"x": 1.0}},
    ]
)
EXTRAS: SearchStrategy[Body] = st.sampled_from(
    [
        {},
        {"message_id": "m-NUMBER"},
        {"status": "complete"},
        {"message_id": "m-NUMBER", "status": "complete"},
        {"author": {"subject_id": "ann"}},
    ]
)
FLAGS: SearchStrategy[Body] = st.sampled_from(
    [{}, {"is_error": True}, {"is_error": False, "denied": True}]
)
SPELLINGS: Sequence[Callable[[object], str]] = [
    json.dumps,
    lambda value: json.dumps(value, separators=(",", ":"), ensure_ascii=False),
    lambda value: json.dumps(value, indent=1),
    lambda value: json.dumps(value, sort_keys=True),
]


@st.composite
def said(draw: st.DrawFn) -> tuple[str, Body]:
    """Something that a producer can say in a turn."""
    kind = draw(st.sampled_from(["message", "call", "result", "result", "gate"]))
    call_id = draw(NAMES)
    if kind == "message":
        role = draw(st.sampled_from(["assistant", "user", "system", "tool"]))
        content = draw(TEXTS | st.lists(PARTS, max_size=2))
        return "message-recorded", {"message": {"role": role, "content": content, **draw(EXTRAS)}}
    if kind == "call":
        call: Body = {"name": draw(NAMES), "arguments": draw(TEXTS | OBJECTS)}
        return "tool-call-requested", {"tool_call_id": call_id, **call}
    if kind == "gate":
        return "gate-opened", {"kind": "permission", "tool_call_id": call_id, "tool": "rm"}
    result: Body = {"output": draw(VALUES), **draw(FLAGS)}
    return "tool-call-completed", {"tool_call_id": call_id, **result}


@COUNT
@given(
    facts=st.lists(st.tuples(said(), st.sampled_from(SPELLINGS)), max_size=12),
    asked=st.lists(TEXTS, min_size=1, max_size=2),
)
def test_however_it_was_written_it_reads_the_same(
    store: Store,
    facts: Sequence[tuple[tuple[str, Body], Callable[[object], str]]],
    asked: Sequence[str],
) -> None:
    session = f"s{next(PROJECTS)}"
    messages = [{"role": "user", "content": text} for text in asked]
    body = json.dumps({"turn_id": "t1", "messages": messages}).encode()
    store.append([propose("turn-started", body)], session)
    for number, ((type_, data), spell) in enumerate(facts):
        gate = {"gate_id": f"g{number}-{session}"} if type_ == "gate-opened" else {}
        text = spell({"turn_id": "t1", **data, **gate}).replace("NUMBER", str(number))
        with suppress(Refusal):
            store.append([propose(type_, text.encode())], session)

    looked(store, agrees, session_id=session)


@pytest.mark.parametrize("text", ["plain", "two\nlines", "é"])
def test_what_is_plain_is_not_folded(store: Store, text: str) -> None:
    said = json.dumps(text).encode()
    store.append(
        [
            propose(type_, b'{"turn_id":"t1",%s}' % data.replace(b"TEXT", said))
            for type_, data in (
                ("turn-started", b'"messages":[{"role":"user","content":TEXT}]'),
                ("message-recorded", b'"message":{"role":"assistant","content":TEXT}'),
                (
                    "message-recorded",
                    b'"message":{"role":"assistant","content":[{"type":"text","text":TEXT}]}',
                ),
                (
                    "tool-call-requested",
                    b'"tool_call_id":"c","name":"read","arguments":{"path":TEXT}',
                ),
                ("tool-call-completed", b'"tool_call_id":"c","output":TEXT,"is_error":false'),
            )
        ]
    )

    reading = statements(store, lambda _, __: None)
    assert statements(store, whole) - reading == AT_ONCE
    looked(store, agrees)


def test_a_result_far_from_its_call_is_folded(store: Store) -> None:
    store.append(
        [
            propose(
                "turn-started", b'{"turn_id":"t1","messages":[{"role":"user","content":"go"}]}'
            ),
            propose(
                "tool-call-requested",
                b'{"turn_id":"t1","tool_call_id":"c","name":"ls","arguments":{}}',
            ),
            *(note(b"%d" % number) for number in range(NEAR)),
            propose("tool-call-completed", b'{"turn_id":"t1","tool_call_id":"c","output":1}'),
        ]
    )

    looked(store, agrees)
    assert '"name":"ls"' in looked(store, whole)[-1]


def test_bodies_that_are_gone_or_changed_are_for_the_fold(store: Store) -> None:
    long_session(store, 2)
    unheard_of(store, "s1", "message-recorded", b'{"renamed":1}')
    with by_hand(store) as connection:
        connection.exec_driver_sql("DELETE FROM bodies WHERE version = 2")
        connection.exec_driver_sql("UPDATE events SET schema = 2 WHERE version IN (3, 13)")
        for version, body in ((4, b"\xff"), (14, b'{"turn_id":"t2","message":1}')):
            connection.exec_driver_sql(
                f"UPDATE bodies SET body = {_literal(store, body)} WHERE version = {version}"
            )

    looked(store, agrees)


@pytest.mark.parametrize(
    ("version", "body"),
    [
        (2, b'{"turn_id":1,"messages":[{"role":"user","content":"go on"}]}'),
        (2, b'{"turn_id":"t1","messages":[{"role":7,"content":"go on"}]}'),
        (2, b'{"turn_id":"t1","messages":[{"role":"user","content":"\\ud800"}]}'),
        (2, b'{"turn_id":"t1","messages":[{"role":"user","content":"\xed\xa0\x80"}]}'),
        (2, b'{"turn_id":"t1","messages":[{"role":"user","content":[{"type":["text"]}]}]}'),
        (2, b'{"turn_id":"t1","messages":[]}'),
        (2, b'{"turn_id":"t1","messages":"abc"}'),
        (2, b'"message"'),
        (3, b'{"turn_id":null,"tool_call_id":"c1","name":"ls","arguments":{}}'),
        (3, b'{"turn_id":"t1","tool_call_id":"c1","name":"ls","arguments":{"a":NaN}}'),
        (3, b'{"turn_id":"t1","tool_call_id":"c1","name":"ls","arguments":{},"output":1}'),
        (3, b'{"turn_id":"t1","tool_call_id":"c1","name":"ls","\\u0061rguments":{"x":2}}'),
        (3, b'{"arguments":{"x":"}"},"turn_id":"t1","tool_call_id":"c1","name":"ls"}'),
        (4, b'{"turn_id":"t1","tool_call_id":"c1","output":Infinity}'),
        (4, b'{"turn_id":"t1","tool_call_id":"c1","output":01}'),
        (4, b'{"turn_id":"t1","tool_call_id":"c1","output":"a\x01"}'),
        (4, b'{"turn_id":"t1","tool_call_id":"c1","output":"a","is_error":null}'),
        (4, b'{"output":{"output":2},"turn_id":"t1","tool_call_id":"c1"}'),
        (4, b' {"turn_id":"t1","tool_call_id":"c1","output": [ 1 , -0 ]  } '),
    ],
)
def test_a_body_that_was_damaged_reads_the_same(store: Store, version: int, body: bytes) -> None:
    store.append(turn("t1"))
    with by_hand(store) as connection:
        connection.exec_driver_sql(
            f"UPDATE bodies SET body = {_literal(store, body)} WHERE version = {version}"
        )

    looked(store, agrees)
    for message in looked(store, whole):
        json.loads(message, parse_constant=pytest.fail)


def _literal(store: Store, body: bytes) -> str:
    return f"x'{body.hex()}'" if store.database.kind == "sqlite" else f"'\\x{body.hex()}'"


def test_the_first_schema_is_the_newest_of_what_passes_through() -> None:
    assert {KINDS[name].schema for name in CONTENT} == {1}
