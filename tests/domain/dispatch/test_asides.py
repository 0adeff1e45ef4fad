"""What was said aside can be told a harness that lacks nothing else, and not too much of it."""

import pytest

from domain import events as e
from domain.dispatch.asides import FACTS, MOST, MOST_BYTES, files_of, is_little, said_aside
from domain.events.record import Opaque
from domain.messages import Message
from domain.restarts import NOT_ADDRESSED

LUNCH = Message(role="user", content="[Alice] Lunch?", message_id="m1")
YES = Message(role="user", content="[Bob] Yes", message_id="m2")


def began(turn_id: str, *messages: Message) -> e.Fact:
    return e.TurnStarted(turn_id=turn_id, messages=messages)


def over(turn_id: str, stop_reason: str | None = NOT_ADDRESSED) -> e.Fact:
    return e.TurnCompleted(turn_id=turn_id, stop_reason=stop_reason)


def test_what_was_said_is_told_in_order_and_as_it_was_recorded() -> None:
    facts = [began("t1", LUNCH), over("t1"), began("t2", YES), over("t2")]
    assert said_aside(facts) == (LUNCH, YES)


def test_a_turn_without_a_word_leaves_nothing_to_tell() -> None:
    assert said_aside([]) == said_aside([began("t1"), over("t1")]) == ()


ASIDE = [began("t1", LUNCH), over("t1")]


@pytest.mark.parametrize(
    "facts",
    [
        [*ASIDE, began("t2", YES), over("t2", "end_turn")],
        [*ASIDE, began("t2", YES), over("t2", None)],
        [*ASIDE, began("t2", YES)],
        [began("t1", LUNCH), began("t2", YES), over("t2"), over("t1")],
        [over("t1"), *ASIDE],
        [began("t1", LUNCH), over("t2")],
        [began("t1", LUNCH), e.MessageRecorded(turn_id="t1", message=YES), over("t1")],
        [began("t1", LUNCH), e.TurnInterrupted(turn_id="t1", reason="cancelled")],
        [*ASIDE, e.HistoryCompacted(summary="Lunch.", through_message_id="m1")],
        [*ASIDE, Opaque(reason="missing-body")],
        [began("t1", Message(role="assistant", content="I will come")), over("t1")],
        [began("t1", Message(role="system", content="Be brief")), over("t1")],
        [began("t1", Message(role="user", content="Lu", status="partial")), over("t1")],
    ],
)
def test_whatever_else_happened_is_not_told_so(facts: list[e.Fact]) -> None:
    assert said_aside(facts) is None


def test_only_so_many_messages_are_told() -> None:
    most = [began("t1", *[LUNCH] * MOST), over("t1")]
    assert said_aside(most) == (LUNCH,) * MOST
    assert said_aside([*most, began("t2", YES), over("t2")]) is None


def test_only_so_many_facts_of_so_many_bytes_are_looked_at() -> None:
    assert is_little([0] * FACTS)
    assert not is_little([0] * (FACTS + 1))
    assert is_little([MOST_BYTES - 1, 1])
    assert not is_little([MOST_BYTES, 1])


def test_a_file_counts_as_often_as_it_is_sent() -> None:
    picture = {"type": "attachment", "attachment_id": "a", "sha256": "ab"}
    shown = Message(role="user", content=({"type": "text", "text": "Look"}, picture, picture))
    assert files_of([LUNCH, shown, shown]) == ["ab"] * 4
    assert files_of([LUNCH]) == []
