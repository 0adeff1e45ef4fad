"""A longer version of a file only adds to what an earlier version gave."""

from pathlib import Path

import pytest

from infrastructure.imports.claude_code import translate
from infrastructure.imports.translation import Translation
from tests.infrastructure.imports.session_file import A, R, U, call, data_of, losses, read, told
from tests.infrastructure.imports.session_file import text as t

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "infrastructure" / "samples" / "claude-code-session.jsonl"
LINES = SAMPLE.read_bytes().splitlines()


def sample(count: int, *flush_after: int) -> Translation:
    name = "5f0d8a3e-6c1b-4a57-9b0e-2d41c7f8a960.jsonl"
    return translate(LINES[:count], source_name=name, flush_after=flush_after)


def test_the_sample_has_three_turns_a_parallel_pair_and_an_error() -> None:
    result = sample(len(LINES))
    (session,) = result.sessions
    assert session.title == "Round parcel prices to the cent"
    assert [kind for kind in told(session) if kind.startswith("turn-")] == [
        f"{kind} {turn:08x}-7b1e-4c55-8d20-{0xA1F3C0DE0000 + turn:012x}"
        for turn in (1, 12, 16)
        for kind in ("turn-started", "turn-completed")
    ]
    report = result.report
    assert (report.tool_calls, report.tool_results, report.messages) == (5, 5, 10)
    assert [d.get("is_error", False) for d in data_of(session, "tool-call-completed")] == [
        False,
        False,
        False,
        True,
        False,
    ]
    assert losses(result) == []


@pytest.mark.parametrize("cut", range(len(LINES) + 1))
def test_a_file_that_grew_gives_first_what_it_gave_before(cut: int) -> None:
    before = sample(cut)
    after = sample(len(LINES), cut)
    events = before.sessions[0].events if before.sessions else ()
    assert after.sessions[0].events[: len(events)] == events
    assert after.diverged_at is None
    for earlier in range(cut):
        twice = sample(cut, earlier)
        now = sample(len(LINES), earlier, cut)
        events = twice.sessions[0].events
        assert now.sessions[0].events[: len(events)] == events


@pytest.mark.parametrize("cut", range(len(LINES) + 1))
def test_every_line_ends_as_an_event_or_as_a_loss(cut: int) -> None:
    result = sample(len(LINES), cut)
    accounted = {event.line for session in result.sessions for event in session.events}
    accounted |= {loss.line or 0 for loss in result.report.losses}
    assert accounted >= set(range(1, len(LINES) + 1))


def test_the_same_lines_give_the_same_translation() -> None:
    assert sample(len(LINES), 7) == sample(len(LINES), 7)


def test_a_message_that_goes_on_after_a_flush_does_not_say_its_id_twice() -> None:
    (session,) = read(
        U("u1", None, "hi"),
        A("a1", "u1", "m1", t("look")),
        A("a2", "a1", "m1", call("c1")),
        R("r1", "a2", "c1", "one"),
        A("a3", "r1", "m1", t("and on")),
        flush_after=[2, 4],
    ).sessions
    messages = [data["message"] for data in data_of(session, "message-recorded")]
    ids = [message.get("message_id") for message in messages]
    assert ids == ["m1", None]


def test_going_back_to_before_a_flush_names_the_first_line_left_behind() -> None:
    lines = [
        U("u1", None, "hi"),
        A("a1", "u1", "m1", t("hello")),
        U("u2", "a1", "the wrong way"),
        A("a2", "u2", "m2", t("lost")),
        U("u3", "a1", "the right way"),
    ]
    grown = read(*lines, flush_after=[4])
    assert grown.diverged_at == 3
    assert told(grown.sessions[0])[:5] == told(read(*lines[:4]).sessions[0])[:5]
    assert read(*lines).diverged_at is None


def test_flush_points_outside_the_file_say_nothing() -> None:
    assert sample(5, 0, 5, 99) == sample(5)
