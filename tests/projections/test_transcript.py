"""What has been said, now and at any version."""

import pytest

from domain import events as e
from domain.messages import Author, Message
from domain.raw_json import RawJson, dumped
from domain.state import Placed
from projections.calls import call_views
from projections.transcript import Alternative, Others, Standing, messages_of, pieces_at, summary_of
from tests.projections.viewing import messages, parts, shapes
from tests.scenario import (
    OPENED,
    approved,
    asked,
    called,
    compacted,
    ended,
    interrupted,
    message,
    recorded,
    returned,
    said,
    started,
)

LONG = (
    OPENED,
    started("t1", message("go", message_id="m1")),
    said("let me", message_id="a1", partial=True),
    said("let me see", message_id="a1"),
    asked("g1", call="c1", tool="read", permission="p1"),
    approved("g1"),
    called("c1"),
    called("c1", "write"),
    asked("g2", call="c1"),
    returned("c1"),
    returned("c1", b'{"v": 1.50}'),
    e.GateDecided(gate_id="g2", verdict="denied", decided_by="policy", via="in-band"),
    said("done"),
    compacted("m1"),
    ended("t1"),
    started("t2", message("more", message_id="m2")),
    called("c1", turn_id="t2"),
    compacted("a1"),
    interrupted("t2"),
    returned("c1", turn_id="t2"),
)


def test_a_message_shows_where_it_stands_and_what_it_is_made_of() -> None:
    assert shapes(OPENED, started(), said("hello")) == [
        {
            "index": 0,
            "message_id": "t1:1",
            "turn_id": "t1",
            "version": 2,
            "role": "user",
            "state": "live",
            "parts": [{"type": "text", "text": "hi"}],
        },
        {
            "index": 1,
            "message_id": "t1:2",
            "turn_id": "t1",
            "version": 3,
            "role": "assistant",
            "state": "live",
            "parts": [{"type": "text", "text": "hello"}],
        },
    ]


def test_opaque_json_is_shown_as_it_was_sent() -> None:
    shown = messages(
        recorded(started(), called(arguments=b'{"b": 1.50,"a":[]}'), returned(output=b"[ 1e2 ]"))
    )

    assert b'"arguments":{"b": 1.50,"a":[]}' in dumped(shown[1].shape())
    assert b'"output":[ 1e2 ]' in dumped(shown[2].shape())


def test_an_author_is_shown_with_what_is_known_of_the_person() -> None:
    named = message("hi", author=Author(subject_id="u1", display="Ann"))
    unnamed = message("ho", author=Author(subject_id="u2"))

    assert [shape.get("author") for shape in shapes(started("t1", named, unnamed))] == [
        {"subject_id": "u1", "display": "Ann"},
        {"subject_id": "u2"},
    ]


def test_the_author_of_a_later_message_is_its_own() -> None:
    steering = e.MessageRecorded(
        turn_id="t1", message=message("stop", author=Author(subject_id="u2"))
    )

    assert [shape.get("author") for shape in shapes(started(), steering)] == [
        None,
        {"subject_id": "u2"},
    ]


def test_a_partial_message_says_so_until_it_is_whole() -> None:
    partly = said("so f", message_id="a1", partial=True)
    whole = said("so far", message_id="a1")

    assert shapes(started(), partly)[1]["status"] == "partial"
    assert "status" not in shapes(started(), partly, whole)[1]
    assert parts(started(), partly, whole)[1] == {"type": "text", "text": "so far"}


@pytest.mark.parametrize(
    ("happened", "status"),
    [
        ((), "open"),
        ((returned(),), "completed"),
        (
            (
                e.ToolCallCompleted(
                    turn_id="t1", tool_call_id="c1", output=RawJson(b"1"), is_error=True
                ),
            ),
            "failed",
        ),
        (
            (
                e.ToolCallCompleted(
                    turn_id="t1", tool_call_id="c1", output=RawJson(b"1"), denied=True
                ),
            ),
            "denied",
        ),
        ((ended(),), "interrupted"),
        ((interrupted(), returned()), "interrupted"),
    ],
)
def test_a_call_shows_what_became_of_it(happened: tuple[e.Fact, ...], status: str) -> None:
    assert parts(started(), called(), *happened)[1]["status"] == status


def test_a_late_result_stays_out_of_the_transcript() -> None:
    assert len(shapes(started(), called(), interrupted(), returned())) == 2


def test_equal_call_ids_are_paired_by_turn_and_occurrence() -> None:
    shown = parts(
        started("t1"),
        called("c", "read"),
        called("c", "write"),
        returned("c", b'"A"'),
        returned("c", b'"B"'),
        ended("t1"),
        started("t2"),
        called("c", "list", turn_id="t2"),
        returned("c", turn_id="t2"),
    )

    assert [
        (p.get("name"), p.get("occurrence"), p.get("output")) for p in shown if "name" in p
    ] == [
        ("read", None, None),
        ("write", 2, None),
        ("read", None, "A"),
        ("write", 2, "B"),
        ("list", None, None),
        ("list", None, "done"),
    ]


def test_a_result_without_a_call_is_shown_without_a_name() -> None:
    assert parts(started(), returned("t0"))[1] == {
        "type": "tool_result",
        "tool_call_id": "t0",
        "output": "done",
        "is_error": False,
        "denied": False,
    }


def test_a_call_shows_the_gate_that_it_waits_for() -> None:
    waiting = parts(started(), called(), asked("g1", call="c1"))[1]
    decided = parts(started(), called(), asked("g1", call="c1"), approved("g1"))[1]

    assert waiting["gate"] == {"gate_id": "g1", "status": "open"}
    assert decided["gate"] == {"gate_id": "g1", "status": "allowed"}


def test_a_call_that_its_gate_foretold_is_shown_once() -> None:
    gated = (started(), asked("g1", call="c1", tool="read"))

    for shown in (parts(*gated), parts(*gated, called("c1")), parts(*gated, called("c1"), at=2)):
        assert [part["type"] for part in shown] == ["text", "tool_call"]
        assert shown[1]["gate"] == {"gate_id": "g1", "status": "open"}
        assert shown[1]["status"] == "open"


def test_calls_and_results_in_a_message_of_its_own_are_shown_as_they_were_told() -> None:
    told = Message(
        role="assistant",
        content=(
            {"type": "tool_call", "tool_call_id": "c1", "name": "x", "arguments": RawJson(b"{}")},
            {"type": "tool_result", "tool_call_id": "c1", "output": RawJson(b"1")},
        ),
    )

    assert parts(e.MessageRecorded(turn_id="t1", message=told)) == [
        {"type": "tool_call", "tool_call_id": "c1", "name": "x", "arguments": {}},
        {"type": "tool_result", "tool_call_id": "c1", "output": 1},
    ]


def test_a_summary_stands_after_the_messages_that_it_archived() -> None:
    shown = shapes(started("t1", message("hi", message_id="m1")), said("a"), compacted("m1"))

    assert [(s["index"], s["message_id"], s["turn_id"], s["state"]) for s in shown] == [
        (0, "m1", "t1", "archived"),
        (0, "summary:3", None, "live"),
        (1, "t1:2", "t1", "live"),
    ]
    assert (shown[1]["summary"], shown[1]["role"]) == (True, "user")
    assert shown[1]["parts"] == [{"type": "text", "text": "in short"}]


def test_a_summary_whose_body_is_gone_is_a_placeholder() -> None:
    gone = e.Opaque(reason="missing-body")

    assert summary_of(gone, 9, 4).parts == ({"type": "missing", "reason": "missing-body"},)
    assert summary_of(None, 9, 4).parts == ({"type": "missing", "reason": "missing-event"},)


def test_what_is_gone_leaves_a_placeholder_and_the_rest_is_shown() -> None:
    placed = Placed(
        index=0,
        message_id="t1:1",
        named=False,
        turn_id="t1",
        role="assistant",
        versions=(2, 3, 4),
        digest=None,
        fingerprint=b"",
        model_fingerprint=b"",
    )
    facts: dict[int, e.Fact] = {2: e.Opaque(reason="missing-body"), 4: said("still here")}
    shown = messages_of([Standing(placed, 0, "live")], facts, call_views((), (), {}, 4), at=4)

    assert [message.parts for message in shown] == [
        (
            {"type": "missing", "reason": "missing-body"},
            {"type": "missing", "reason": "missing-event"},
            {"type": "text", "text": "still here"},
        )
    ]


def test_a_call_that_the_views_do_not_know_is_shown_as_it_was_asked_for() -> None:
    facts = recorded(started(), called(), returned())
    known = {fact.version: fact.event for fact in facts}
    placed = [
        Placed(
            index=n,
            message_id=f"t1:{n}",
            named=False,
            turn_id="t1",
            role="assistant",
            versions=(n + 1,),
            digest=None,
            fingerprint=b"",
            model_fingerprint=b"",
        )
        for n in range(3)
    ]
    standing = [Standing(each, each.index, "live") for each in placed]
    shown = list(messages_of(standing, known, call_views((), (), {}, 3), at=3))

    assert [set(message.parts[0]) & {"status", "name"} for message in shown] == [
        set(),
        {"name"},
        set(),
    ]


def test_an_item_that_a_turn_does_not_have_has_neither_parts_nor_author() -> None:
    placed = Placed(
        index=0,
        message_id="t1:1",
        named=False,
        turn_id="t1",
        role="user",
        item=5,
        versions=(1,),
        digest=None,
        fingerprint=b"",
        model_fingerprint=b"",
    )
    facts: dict[int, e.Fact] = {1: started()}
    standing = [Standing(placed, 7, "rewound")]
    (shown,) = messages_of(standing, facts, call_views((), (), {}, 1), at=1)

    assert (shown.parts, shown.author) == ((), None)
    assert (shown.index, shown.state) == (7, "rewound")
    assert pieces_at(placed, facts, 0) == ()


@pytest.mark.parametrize("at", range(1, len(LONG) + 1))
def test_as_of_a_version_the_transcript_is_what_it_was_then(at: int) -> None:
    assert shapes(*LONG, at=at) == shapes(*LONG[:at])


def test_a_message_says_what_else_began_in_its_place() -> None:
    other = Alternative(message_id="t1:1", turn_id="t1", version=1, rewind_version=4)
    said = {"message_id": "t1:1", "turn_id": "t1", "version": 1, "rewind_version": 4}

    assert Others().shape() == {}
    assert Others((other,)).shape() == {"alternatives": [said]}
    assert Others((other,), 3).shape() == {"alternatives": [said], "alternatives_more": 3}
