"""What a step tells of an event: what the fold changed, in words and as a shape."""

from collections.abc import Iterable

from domain import events as e
from domain.evolve import evolve
from domain.recorded import Recorded
from domain.state import State
from projections.steps import Step, step
from tests.scenario import (
    OPENED,
    RUNNER,
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

SECRET = "SECRET words"


def stepped(facts: Iterable[Recorded]) -> list[Step]:
    """Return each step of a log."""
    state = State()
    found: list[Step] = []
    for fact in facts:
        changes = evolve(state, fact)
        found.append(step(state, fact, changes))
        state.apply(changes)
    return found


def steps(*events: e.Fact) -> list[Step]:
    return stepped(recorded(*events))


def words(*events: e.Fact) -> list[str]:
    """Return what the last event changed, in words, but for the fingerprints."""
    found = steps(*events)[-1].words
    return [word for word in found if "fingerprint" not in word and "history version" not in word]


def test_a_step_has_its_event_what_it_changed_and_where_the_session_then_stands() -> None:
    first, second = steps(OPENED, started("t1", message("hi"), message("there")))

    assert first.shape() == {
        "version": 1,
        "type": "session-opened",
        "recorded_at": "1970-01-01T00:00:01.000000Z",
        "actor": None,
        "turn_id": None,
        "affects": "none",
        "what": "the session was opened",
        "changed": {"head": {"status": {"was": "absent", "is": "open"}}},
        "words": ("status absent -> open",),
    }
    assert second.what == "a turn began with 2 messages"
    assert second.changed["messages"] == [
        {
            "change": "added",
            "index": n,
            "message_id": f"t1:{n + 1}",
            "turn_id": "t1",
            "role": "user",
            "records": 1,
        }
        for n in range(2)
    ]
    assert second.changed["turns"] == [
        {
            "change": "started",
            "turn_id": "t1",
            "number": 1,
            "status": "running",
            "input_tokens": 0,
            "output_tokens": 0,
        }
    ]
    assert (second.head.messages, second.head.version) == (2, 2)


def test_fingerprints_are_whole_in_the_shape_and_short_in_words() -> None:
    before, after = steps(OPENED, started(), said("yes"))[1:]
    head = after.changed["head"]

    assert isinstance(head, dict)
    assert head["fingerprint"] == {
        "was": before.head.fingerprint.hex(),
        "is": after.head.fingerprint.hex(),
    }
    short = (before.head.fingerprint.hex()[:12], after.head.fingerprint.hex()[:12])
    assert after.words == (
        "message #1 t1:2 (assistant) added",
        "history version 2 -> 3",
        f"fingerprint {short[0]} -> {short[1]}",
    )


def test_the_two_chains_are_told_apart_once_they_are_two() -> None:
    found = steps(OPENED, started(), ended(), compacted("t1:1"), started("t2"))

    assert any(word.startswith("model fingerprint") for word in found[3].words)
    assert not any(word.startswith("fingerprint") for word in found[3].words)
    assert any(word.startswith("model fingerprint") for word in found[4].words)


def test_a_message_that_grows_is_changed_and_one_that_is_archived_is_not() -> None:
    assert words(OPENED, started(), said("a"), called()) == [
        "message #1 t1:2 (assistant) changed: 2 records",
        "call c1 (read) requested",
    ]
    assert words(OPENED, started(), said("a"), ended(), compacted("t1:1")) == [
        "messages archived by a summary: 1",
        "summary version none -> 5",
    ]


def test_calls_come_to_their_ends() -> None:
    before = (OPENED, started(), called("c1"))
    denied = e.ToolCallCompleted(turn_id="t1", tool_call_id="c1", output=None, denied=True)

    assert words(*before, returned("c1"))[1:] == ["call c1 (read) completed"]
    assert words(*before, denied)[1:] == ["call c1 (read) denied"]
    assert words(*before, called("c1"))[1:] == ["call c1 no. 2 (read) requested"]
    assert words(OPENED, started(), returned("c9"))[1:] == ["call c9 completed"]


def test_a_result_that_comes_too_late_changes_no_message() -> None:
    found = steps(OPENED, started(), called("c1"), ended(), returned("c1"))[-1]

    assert found.words[0] == "call c1 (read) late"
    assert "messages" not in found.changed


def test_gates_open_hold_a_call_and_let_it_go() -> None:
    before = (OPENED, started(), called("c1"))

    assert words(*before, asked(call="c1")) == [
        "turn #1 t1 paused",
        "call c1 (read) waits",
        "gate g1 (permission) opened",
    ]
    assert words(*before, asked(call="c1"), approved()) == [
        "turn #1 t1 resumed",
        "call c1 (read) freed",
        "gate g1 (permission) allowed",
    ]
    foretold = (OPENED, started(), asked(call="c1", tool="read"), called("c1"))
    assert words(*foretold)[1:] == ["call c1 (read) announced"]
    gates = steps(*before, asked(call="c1"))[-1].changed["gates"]
    assert gates == [
        {
            "change": "opened",
            "gate_id": "g1",
            "turn_id": "t1",
            "kind": "permission",
            "status": "open",
            "tool_call_id": "c1",
        }
    ]


def test_turns_end_and_add_up_what_they_used() -> None:
    used = e.UsageRecorded(turn_id="t1", model="m", input_tokens=7, output_tokens=2)

    assert words(OPENED, started(), ended()) == ["turn #1 t1 completed"]
    assert words(OPENED, started(), interrupted()) == ["turn #1 t1 interrupted"]
    assert words(OPENED, started(), used) == ["turn #1 t1 used: 7 tokens in, 2 out so far"]


def test_that_a_turn_has_one_more_record_is_no_change() -> None:
    noted = e.DataRecorded(kind="k", data=None, turn_id="t1")
    found = stepped(recorded(OPENED, started(), noted, producer=RUNNER))[-1]

    assert (found.changed, found.words) == ({}, ())


def test_what_went_out_of_sight_and_came_back_is_counted() -> None:
    two = (OPENED, started("t1"), ended("t1"), started("t2"), said("a", turn_id="t2"), ended("t2"))
    rewound = e.HistoryRewound(turn_id="t2", from_version=4, through_version=6, turns=1, messages=2)
    reverted = e.RewindReverted(rewind_version=7, turns=1, messages=2)

    assert words(*two, rewound) == [
        "turns taken out of sight: 1",
        "messages taken out of sight: 2",
        "redo none -> 7",
    ]
    assert words(*two, rewound, reverted) == [
        "turns back in sight: 1",
        "messages back in sight: 2",
        "redo 7 -> none",
    ]
    assert steps(*two, rewound)[-1].changed["sight"] == {
        "turns_taken_out": 1,
        "messages_taken_out": 2,
    }
    branched = words(*two, rewound, started("t3"))
    assert branched == [
        "message #3 t3:1 (user) added",
        "turn #3 t3 started",
        "branch 0 -> 3",
        "redo 7 -> none",
    ]


def test_messages_are_live_again_once_their_summary_is_out_of_sight() -> None:
    two = (OPENED, started("t1"), ended("t1"), started("t2"), ended("t2"), compacted("t1:1"))
    newest = e.HistoryRewound(turn_id="t2", from_version=4, through_version=6, turns=1, messages=1)
    every = e.HistoryRewound(turn_id="t1", from_version=2, through_version=6, turns=2, messages=2)
    reverted = e.RewindReverted(rewind_version=7, turns=1, messages=1)

    assert words(*two, newest)[1:3] == [
        "messages taken out of sight: 1",
        "messages live again: 1",
    ]
    assert "messages archived by a summary: 1" in words(*two, newest, reverted)
    assert not [word for word in words(*two, every) if "live again" in word]


def test_losses_are_declared_and_healed() -> None:
    lost = e.RecordsLost(count=3, reason="r")
    unknown = e.RecordsLost(count=None, reason="r")
    healed = e.LossHealed(loss_version=2)

    assert words(OPENED, lost) == ["loss of version 2 declared: 3 records", "open losses 0 -> 1"]
    assert words(OPENED, unknown)[0] == "loss of version 2 declared"
    assert words(OPENED, lost, healed)[0] == "loss of version 2 healed: 3 records"


def test_an_event_that_cannot_be_read_says_what_that_does() -> None:
    found = steps(OPENED, e.Opaque(reason="unknown-type"))[-1]

    assert found.what == "an event of a type that this build does not know"
    assert "unreadable 0 -> 1" in found.words


def test_what_was_said_is_in_no_step() -> None:
    found = steps(
        OPENED,
        started("t1", message(SECRET)),
        said(SECRET),
        e.HistoryCompacted(summary=SECRET, through_message_id="t1:1"),
    )

    assert SECRET not in str([each.shape() for each in found])
