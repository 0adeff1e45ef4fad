"""What was stored is read for ever, whatever it has become since; the rest stays readable."""

from dataclasses import fields

import pytest

from domain import events as e
from domain.decided import fact
from domain.json_text import JsonValue, dump, parse
from domain.messages import Message
from domain.pieces import pieces_of
from domain.raw_json import RawJson
from domain.registry import KINDS, NAMES
from infrastructure.serialization import (
    LIFTS,
    Members,
    Unreadable,
    decode,
    encode,
    event_of,
    members_in,
    members_of,
)
from tests.infrastructure.golden_events import DIRECTORY, GOLDEN

# Only ever added to: a name that a stored event has had is taken for good.
PERMANENT = {
    "approval-mode-set": ("none", 1),
    "continuation-ready": ("none", 1),
    "data-recorded": ("none", 1),
    "dispatch-refused": ("none", 1),
    "gap-accepted": ("none", 1),
    "gate-answer-refused": ("none", 1),
    "gate-consumed": ("none", 1),
    "gate-decided": ("history", 1),
    "gate-expired": ("history", 1),
    "gate-opened": ("history", 1),
    "gate-withdrawn": ("history", 1),
    "harness-evicted": ("none", 1),
    "harness-parked": ("none", 1),
    "harness-resumed": ("none", 1),
    "harness-started": ("none", 1),
    "history-asserted": ("none", 1),
    "history-compacted": ("history", 1),
    "history-diverged": ("none", 1),
    "history-imported": ("none", 1),
    "history-rewound": ("history", 1),
    "input-dequeued": ("none", 1),
    "input-queued": ("none", 1),
    "input-recalled": ("none", 1),
    "interrupt-requested": ("none", 1),
    "loss-healed": ("none", 1),
    "message-recorded": ("history", 1),
    "records-lost": ("none", 1),
    "resume-cleared": ("none", 1),
    "resume-marked": ("none", 1),
    "rewind-reverted": ("history", 1),
    "seat-close-requested": ("none", 1),
    "session-archived": ("none", 1),
    "session-configured": ("none", 1),
    "session-deleted": ("none", 1),
    "session-forked": ("none", 1),
    "session-opened": ("none", 1),
    "session-pinned": ("none", 1),
    "session-purged": ("none", 1),
    "session-renamed": ("none", 1),
    "session-restored": ("none", 1),
    "session-suspended": ("none", 1),
    "session-unarchived": ("none", 1),
    "session-unsuspended": ("none", 1),
    "tool-call-completed": ("history", 1),
    "tool-call-requested": ("history", 1),
    "turn-completed": ("none", 1),
    "turn-failed": ("history", 1),
    "turn-interrupted": ("history", 1),
    "turn-started": ("history", 1),
    "usage-recorded": ("none", 1),
}


def golden(name: str) -> bytes:
    return (DIRECTORY / f"{name}.json").read_bytes().rstrip(b"\n")


def test_names_are_permanent_and_so_is_what_they_affect() -> None:
    assert {name: (kind.affects, kind.schema) for name, kind in KINDS.items()} == PERMANENT


def test_every_type_has_its_own_class() -> None:
    assert len(NAMES) == len(KINDS)


def test_every_type_has_a_golden_form_and_every_golden_form_a_type() -> None:
    assert set(GOLDEN) == set(KINDS) == {path.stem for path in DIRECTORY.glob("*.json")}


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_a_golden_form_fills_every_field(name: str) -> None:
    event = GOLDEN[name]
    assert all(getattr(event, field.name) is not None for field in fields(event))


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_a_golden_form_is_read_as_exactly_this_event(name: str) -> None:
    assert decode(name, 1, golden(name)) == GOLDEN[name]


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_a_body_that_was_read_before_has_the_members_that_it_has(name: str) -> None:
    read = parse(golden(name))
    assert isinstance(read, dict)
    assert members_in(name, read, golden(name)) == members_of(name, golden(name))


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_an_event_is_stored_as_its_golden_form(name: str) -> None:
    assert encode(fact(GOLDEN[name])) == golden(name)


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_a_type_s_defaults_are_left_out_and_read_back(name: str) -> None:
    event = GOLDEN[name]
    required = {
        field.name: getattr(event, field.name)
        for field in fields(event)
        if f'"{field.name}"' in str(SMALLEST.get(name, ""))
    }
    smallest = type(event)(**required)
    assert decode(name, 1, encode(fact(smallest))) == smallest
    assert encode(fact(smallest)) == SMALLEST.get(name, "{}").encode()


SMALLEST = {
    "continuation-ready": '{"turn_id":"t1","gate_ids":["g1","g2"]}',
    "dispatch-refused": '{"code":"history-not-ready","request":"minimal"}',
    "gap-accepted": '{"reasons":["records-lost"]}',
    "gate-answer-refused": '{"named":"permission_id","code":"gate-gone"}',
    "gate-consumed": '{"gate_id":"g1","turn_id":"t1"}',
    "harness-evicted": '{"seat_id":"seat-1","owner":"runner-1","reason":"history"}',
    "harness-parked": '{"seat_id":"seat-1","owner":"runner-1","state":"awaiting_approval"}',
    "harness-resumed": '{"seat_id":"seat-1","owner":"runner-1"}',
    "harness-started": '{"seat_id":"seat-1","owner":"runner-1","path":"evicted"}',
    "history-asserted": '{"messages":3}',
    "history-diverged": '{"kind":"missing","turns":2,"messages":3}',
    "input-dequeued": '{"queue_id":"q1","turn_id":"t2"}',
    "input-queued": '{"queue_id":"q1","request":{"messages":[]}}',
    "input-recalled": '{"queue_id":"q1","reason":"recalled"}',
    "interrupt-requested": '{"turn_id":"t1","reason":"cancelled"}',
    "seat-close-requested": '{"seat_id":"seat-1","owner":"runner-1","reason":"history"}',
    "approval-mode-set": '{"mode":"read-only"}',
    "data-recorded": '{"kind":"trace","data":{ "span" : [ 1.50, -0.0 ] }}',
    "gate-decided": '{"verdict":"approved","decided_by":"person","via":"out-of-band"}',
    "gate-expired": '{"gate_id":"g1"}',
    "gate-opened": '{"gate_id":"g1","turn_id":"t1","kind":"permission"}',
    "gate-withdrawn": '{"gate_id":"g1","reason":"turn-ended"}',
    "history-compacted": '{"summary":"They counted.","through_message_id":"t1:2"}',
    "history-imported": (
        '{"format":"claude-code","source_name":"session.jsonl","lines":12,"digest":'
        '"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","from_version":2}'
    ),
    "history-rewound": (
        '{"turn_id":"t2","from_version":7,"through_version":12,"turns":1,"messages":2,'
        '"scope":"conversation"}'
    ),
    "loss-healed": '{"loss_version":9}',
    "rewind-reverted": '{"rewind_version":13,"turns":1,"messages":2}',
    "message-recorded": golden("message-recorded").decode(),
    "records-lost": '{"count":3,"reason":"crash"}',
    "resume-cleared": '{"turn_id":"t1","reason":"completed"}',
    "resume-marked": '{"turn_id":"t1","reason":"server-restarted"}',
    "session-suspended": '{"reason":"restart-loop","count":3}',
    "session-forked": '{"parent":{"session_id":"chat-1","version":7,"hash":"' + "0b" * 32 + '"}}',
    "session-configured": '{"config":{"model": "opus"}}',
    "session-pinned": '{"pinned":true}',
    "session-purged": '{"events":41}',
    "session-renamed": '{"title":"Another title"}',
    "tool-call-requested": (
        '{"turn_id":"t1","tool_call_id":"c1","name":"bash",'
        '"arguments":{"command": "ls",  "timeout": 1.50}}'
    ),
    "tool-call-completed": (
        '{"turn_id":"t1","tool_call_id":"c1","output":[{"type":"text","text":"a.txt"}]}'
    ),
    "turn-completed": '{"turn_id":"t1"}',
    "turn-failed": '{"turn_id":"t1","error":{"code":"overloaded","message":"try later"}}',
    "turn-interrupted": '{"turn_id":"t1","reason":"cancelled"}',
    "turn-started": '{"turn_id":"t1"}',
    "usage-recorded": ('{"turn_id":"t1","model":"sonnet","input_tokens":1200,"output_tokens":34}'),
}


def test_nothing_said_is_changed_on_its_way() -> None:
    body = (
        b'{"turn_id":"t1","tool_call_id":"c1","name":"f",'
        b'"arguments":{ "a" : 1.50, "b":1E5, "c":9007199254740993,"d":"\\u00e9\\/","a2":[ ] }}'
    )
    event = decode("tool-call-requested", 1, body)
    assert isinstance(event, e.ToolCallRequested)
    assert event.arguments == RawJson(
        b'{ "a" : 1.50, "b":1E5, "c":9007199254740993,"d":"\\u00e9\\/","a2":[ ] }'
    )


def test_members_that_this_build_does_not_know_are_passed_over() -> None:
    body = b'{"turn_id":"t1","stop_reason":"end","mood":{"a":[1]},"class":"os.system"}'
    assert decode("turn-completed", 1, body) == e.TurnCompleted(turn_id="t1", stop_reason="end")


def test_parts_that_this_build_does_not_know_are_kept() -> None:
    body = (
        b'{"turn_id":"t1","message":{"role":"user","content":[{"type":"x-new","v":1.50},{"w":2}]}}'
    )
    assert decode("message-recorded", 1, body) == e.MessageRecorded(
        turn_id="t1",
        message=Message(
            role="user", content=({"type": "x-new", "v": RawJson(b"1.50")}, {"w": RawJson(b"2")})
        ),
    )


@pytest.mark.parametrize("type_", [["text"], {"a": 1}, 7, None, True])
def test_a_part_whose_type_is_no_text_is_kept_as_one_that_is_not_known(type_: JsonValue) -> None:
    part = b'{"type":%s,"text":1.50}' % dump(type_)
    for name, said in (("turn-started", b'"messages":[%s]'), ("message-recorded", b'"message":%s')):
        message = said % b'{"role":"user","content":[%s]}' % part
        fact = decode(name, 1, b'{"turn_id":"t1",%s}' % message)
        assert pieces_of(fact, 1)[0].part == {"type": type_, "text": RawJson(b"1.50")}


@pytest.mark.parametrize(
    ("type_", "schema", "body", "reason"),
    [
        ("os.system", 1, b'{"command":"true"}', "unknown-type"),
        ("domain.events:SessionOpened", 1, b"{}", "unknown-type"),
        ("", 1, b"{}", "unknown-type"),
        ("seat-blessed", 1, None, "unknown-type"),
        ("session-renamed", 2, b'{"title":"x"}', "unknown-type"),
        ("session-renamed", 1, None, "missing-body"),
        ("session-renamed", 1, b"{}", "unreadable"),
        ("session-renamed", 1, b'{"title":7}', "unreadable"),
        ("session-renamed", 1, b"[]", "unreadable"),
        ("session-renamed", 1, b"", "unreadable"),
        ("session-renamed", 1, b'{"title":', "unreadable"),
        ("session-renamed", 1, b"\xff", "unreadable"),
        ("session-renamed", 0, b'{"title":"x"}', "unreadable"),
        ("turn-started", 1, b'{"turn_id":"t1","messages":{}}', "unreadable"),
        ("turn-started", 1, b'{"turn_id":"t1","messages":[7]}', "unreadable"),
        ("message-recorded", 1, b'{"turn_id":"t1","message":null}', "unreadable"),
        (
            "message-recorded",
            1,
            b'{"turn_id":"t1","message":{"role":"user","content":[7]}}',
            "unreadable",
        ),
        (
            "message-recorded",
            1,
            b'{"turn_id":"t1","message":{"role":"user","content":' + b"[" * 3000 + b"}}",
            "unreadable",
        ),
    ],
)
def test_what_cannot_be_read_is_an_opaque_fact(
    type_: str, schema: int, body: bytes | None, reason: str
) -> None:
    fact_ = decode(type_, schema, body)
    assert isinstance(fact_, e.Opaque)
    assert fact_.reason == reason


def rename_to_title(members: Members) -> Members:
    return {("title" if name == "name" else name): value for name, value in members.items()}


def split_author(members: Members) -> Members:
    return {**members, "by": "import" if members.get("author") == "file" else "person"}


def test_a_renamed_field_is_lifted_to_its_newest_name() -> None:
    lifts = {("session-renamed", 0): rename_to_title}
    assert decode("session-renamed", 0, b'{"name":"Trip"}', lifts) == e.SessionRenamed(title="Trip")
    assert decode("session-renamed", 1, b'{"title":"Trip"}', lifts) == e.SessionRenamed(
        title="Trip"
    )


def test_an_old_shape_is_lifted_through_every_shape_since() -> None:
    lifts = {("session-renamed", -1): split_author, ("session-renamed", 0): rename_to_title}
    assert decode(
        "session-renamed", -1, b'{"name":"Trip","author":"file"}', lifts
    ) == e.SessionRenamed(title="Trip", by="import")


def test_every_step_between_an_old_schema_and_the_newest_has_its_lift() -> None:
    assert set(LIFTS) == {
        (name, old) for name, kind in KINDS.items() for old in range(1, kind.schema)
    }


def test_errors_tell_nothing_of_what_was_said() -> None:
    with pytest.raises(Unreadable) as refusal:
        event_of("session-renamed", members_of("session-renamed", b'{"title":["secret"]}'))
    assert "secret" not in str(refusal.value)
    assert refusal.value.__cause__ is None
    with pytest.raises(Unreadable) as refusal:
        members_of("session-renamed", b'{"title":secret}')
    assert "secret" not in f"{refusal.value}{refusal.value.__cause__}"
