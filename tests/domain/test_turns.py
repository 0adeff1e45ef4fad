"""Turns: where one begins, the one way in which it ends, and how many records it has."""

import pytest

from domain import commands as c
from domain import events as e
from domain.evolve import fold
from domain.messages import Message
from domain.raw_json import RawJson
from domain.recorded import ProducerStamp
from domain.refusals import (
    CallCompleted,
    InvalidValue,
    MessageExists,
    NoSuchTurn,
    Refusal,
    TurnExists,
    TurnInProgress,
    TurnOver,
)
from domain.state import State
from tests.scenario import (
    OPENED,
    RUNNER,
    approved,
    asked,
    called,
    ended,
    folded,
    given,
    interrupted,
    message,
    record,
    recorded,
    returned,
    said,
    started,
    transcript,
    turn,
)

RUNNING = given(OPENED, started())
OVER = given(OPENED, started(), ended())


def test_a_turn_begins_with_its_input() -> None:
    given(OPENED).when(started()).then(started())
    state = folded(OPENED, started("t1", message("a"), message("b")))
    assert (turn(state).number, turn(state).first_message, turn(state).messages) == (1, 0, 2)
    assert (state.head.turn_id, state.head.turns) == ("t1", 1)
    assert [m.message_id for m in state.messages.values()] == ["t1:1", "t1:2"]


def test_a_turn_begins_with_at_most_1000_messages() -> None:
    most = [message("a") for _ in range(1_000)]
    given(OPENED).when(started("t1", *most)).then(started("t1", *most))
    given(OPENED).when(started("t1", *most, message("b"))).then_refused(InvalidValue, "messages")


def test_turns_run_one_at_a_time() -> None:
    RUNNING.when(started("t2")).then_refused(TurnInProgress)
    OVER.when(started("t2")).then(started("t2"))


def test_a_turn_id_is_never_used_again() -> None:
    RUNNING.when(started()).then_refused(TurnExists, "turn_id")
    OVER.when(started()).then_refused(TurnExists, "turn_id")


@pytest.mark.parametrize("turn_id", ["", "a/b", "\0", "t" * 129, " t", "é"])
def test_a_turn_id_is_narrow(turn_id: str) -> None:
    given(OPENED).when(started(turn_id)).then_refused(InvalidValue, "turn_id")
    RUNNING.when(said("a", turn_id=turn_id)).then_refused(InvalidValue, "turn_id")


def test_a_turn_begins_with_a_message_or_an_answer() -> None:
    empty = e.TurnStarted(turn_id="t1")
    given(OPENED).when(empty).then_refused(InvalidValue, "messages")
    given(OPENED).when(record(empty, imported=True)).then(empty)
    answer = e.TurnStarted(turn_id="t1", history_sent="answer")
    given(OPENED).when(answer).then(answer)


def test_a_turn_says_where_its_answer_goes() -> None:
    turn = e.TurnStarted(
        turn_id="t1", messages=(message("a"),), lane_id="0f" * 16, reply_to="é" * 512
    )
    given(OPENED).when(turn).then(turn)
    known = given(OPENED, turn).state.turns["t1"]
    assert (known.lane_id, known.reply_to) == ("0f" * 16, "é" * 512)


@pytest.mark.parametrize("lane_id", ["", "0F" * 16, "0f" * 15, "0f" * 16 + "\n", "g" * 32])
def test_a_lane_is_named_by_32_digits(lane_id: str) -> None:
    turn = e.TurnStarted(turn_id="t1", messages=(message("a"),), lane_id=lane_id)
    given(OPENED).when(turn).then_refused(InvalidValue, "lane_id")


@pytest.mark.parametrize("reply_to", ["", "a" * 513, "a\0", "a\nb", "\ud800"])
def test_what_is_replied_to_is_a_short_line(reply_to: str) -> None:
    turn = e.TurnStarted(turn_id="t1", messages=(message("a"),), reply_to=reply_to)
    given(OPENED).when(turn).then_refused(InvalidValue, "reply_to")


def test_a_turn_begins_with_whole_user_input() -> None:
    given(OPENED).when(started("t1", message("a"), message("b", "assistant"))).then_refused(
        InvalidValue, "messages", 1, "role"
    )
    given(OPENED).when(started("t1", message("a", partial=True))).then_refused(
        InvalidValue, "messages", 0, "status"
    )


def test_a_message_id_is_used_once_in_a_turns_input() -> None:
    twice = started("t1", message("a", message_id="m"), message("b", message_id="m"))
    given(OPENED).when(twice).then_refused(MessageExists, "messages", 1, "message_id")


def test_a_transcript_sent_again_makes_no_second_copy() -> None:
    """Row B8: the answer to an approval arrives with every message that was sent before."""
    given(OPENED, started("t1", message("a", message_id="m")), ended()).when(
        started("t2", message("a", message_id="m"), message("b"))
    ).then_refused(MessageExists, "messages", 0, "message_id")


@pytest.mark.parametrize(
    "event",
    [
        said("a"),
        called(),
        asked(),
        e.UsageRecorded(turn_id="t1", model="m", input_tokens=1, output_tokens=1),
        e.DataRecorded(kind="trace", data=None, turn_id="t1"),
        ended(),
        interrupted(),
    ],
)
def test_records_name_a_turn_that_runs(event: e.SessionEvent) -> None:
    given(OPENED).when(event).then_refused(NoSuchTurn, "turn_id")
    OVER.when(event).then_refused(TurnOver, "turn_id")


@pytest.mark.parametrize(
    ("event", "at"),
    [
        (e.TurnCompleted(turn_id="t1", stop_reason="\0"), ("stop_reason",)),
        (e.TurnCompleted(turn_id="t1", record_count=-1), ("record_count",)),
        (e.TurnCompleted(turn_id="t1", record_count=2**40), ("record_count",)),
        (e.TurnFailed(turn_id="t1", error=e.TurnError(code="")), ("error", "code")),
        (e.TurnInterrupted(turn_id="t1", reason="a\nb"), ("reason",)),
        (e.TurnInterrupted(turn_id="t1", reason="r", by="b" * 257), ("by",)),
    ],
)
def test_what_an_end_says_fits_a_column(event: e.SessionEvent, at: tuple[str, ...]) -> None:
    RUNNING.when(event).then_refused(InvalidValue, *at)


def test_an_error_message_may_say_anything() -> None:
    failed = e.TurnFailed(turn_id="t1", error=e.TurnError(code="api", message="\0\x1b" * 999))
    RUNNING.when(failed).then(failed)
    assert turn(folded(OPENED, started(), failed)).status == "failed"


def test_an_end_takes_the_open_gates_with_it() -> None:
    """Row B3: cancelling a run leaves nothing that waits."""
    waiting = given(OPENED, started(), asked("g1"), asked("g2"), approved("g1"))
    waiting.when(interrupted()).then(
        e.GateWithdrawn(gate_id="g2", reason="cancelled"), interrupted()
    )
    waiting.when(ended()).then(e.GateWithdrawn(gate_id="g2", reason="turn-ended"), ended())
    given(
        OPENED, started(), asked(), e.GateWithdrawn(gate_id="g1", reason="cancelled"), interrupted()
    ).when(started("t2")).then(started("t2"))


def test_turnlog_itself_interrupts_a_running_turn() -> None:
    stop = c.InterruptTurn(turn_id="t1", reason="owner-lost", by="recovery")
    given(OPENED, started(), asked()).when(stop).then(
        e.GateWithdrawn(gate_id="g1", reason="owner-lost"),
        e.TurnInterrupted(turn_id="t1", reason="owner-lost", by="recovery"),
    )
    OVER.when(stop).then_nothing()
    given(OPENED).when(stop).then_refused(NoSuchTurn, "turn_id")


@pytest.mark.parametrize(
    ("command", "at"),
    [
        (c.InterruptTurn(turn_id="t1", reason=""), "reason"),
        (c.InterruptTurn(turn_id="t1", reason="r", by="\0"), "by"),
        (c.InterruptTurn(turn_id="", reason="r"), "turn_id"),
    ],
)
def test_an_interrupt_is_named_like_everything(command: c.InterruptTurn, at: str) -> None:
    RUNNING.when(command).then_refused(InvalidValue, at)


def test_only_a_late_result_is_taken_after_the_end() -> None:
    """Row A18: the result of an interrupted turn's call comes when the next turn runs."""
    history = (OPENED, started(), called(), interrupted(), started("t2"))
    given(*history).when(returned()).then(returned())
    state = folded(*history, returned())
    assert [call.status for call in state.calls["t1", "c1"]] == ["late"]
    assert turn(state).open_calls == 0
    assert transcript(*history, returned()) == transcript(*history)


def test_a_late_result_changes_no_history() -> None:
    history = recorded(OPENED, started(), called(), interrupted())
    late = recorded(returned(), after=history, affects="none")
    assert fold(late).head.history_version == fold(history).head.history_version
    assert fold(late).head.fingerprint == fold(history).head.fingerprint


def test_a_result_is_late_only_once() -> None:
    given(OPENED, started(), called(), interrupted(), returned()).when(returned()).then_refused(
        CallCompleted, "tool_call_id"
    )


def test_a_late_result_of_a_call_that_nobody_asked_for_stays_out_of_sight() -> None:
    given(OPENED, started(), ended()).when(returned("c9")).then(returned("c9"))
    state = folded(OPENED, started(), ended(), returned("c9"))
    assert [(call.name, call.status) for call in state.calls["t1", "c9"]] == [(None, "late")]
    assert turn(state).open_calls == 0


def counted(*events: e.Fact, count: int | None, producer: ProducerStamp | None = RUNNER) -> State:
    sent = recorded(*events, producer=RUNNER, after=recorded(OPENED))
    return fold(recorded(ended("t1", count), producer=producer, after=sent))


def test_a_turn_counts_what_its_producer_sent_before_the_end() -> None:
    events = (
        started(),
        said("a"),
        called(),
        asked(call="c1"),
        approved(),
        returned(),
        e.UsageRecorded(turn_id="t1", model="m", input_tokens=1, output_tokens=1),
        e.DataRecorded(kind="trace", data=None, turn_id="t1"),
        e.RecordsLost(count=1, reason="crash", turn_id="t1"),
        e.DataRecorded(kind="trace", data=None),
    )
    state = counted(*events, count=9)
    assert (turn(state).records, turn(state).declared_records) == (9, 9)
    assert (state.head.miscounted_turns, state.head.unverified_turns) == (0, 0)


def test_a_record_that_cannot_be_read_counts_for_the_turn_of_its_envelope() -> None:
    sent = recorded(started(), producer=RUNNER, after=recorded(OPENED))
    lost = recorded(e.Opaque(reason="missing-body"), producer=RUNNER, after=sent, turn_id="t1")
    assert turn(fold(lost)).records == 2


def test_a_wrong_count_is_noticed() -> None:
    head = counted(started(), said("a"), count=3).head
    assert (head.miscounted_turns, head.unverified_turns) == (1, 0)


def test_a_missing_count_is_noticed() -> None:
    head = counted(started(), said("a"), count=None).head
    assert (head.miscounted_turns, head.unverified_turns) == (0, 1)


def test_an_end_that_turnlog_recorded_declares_nothing() -> None:
    head = counted(started(), said("a"), count=None, producer=None).head
    assert (head.miscounted_turns, head.unverified_turns) == (0, 0)
    head = counted(started(), said("a"), count=9, producer=None).head
    assert (head.miscounted_turns, head.unverified_turns) == (0, 0)


def test_late_records_and_what_turnlog_adds_are_not_counted() -> None:
    sent = recorded(started(), called(), asked(), producer=RUNNER, after=recorded(OPENED))
    withdrawn = recorded(e.GateWithdrawn(gate_id="g1", reason="turn-ended"), after=sent)
    state = fold(recorded(ended("t1", 3), returned(), producer=RUNNER, after=withdrawn))
    assert (turn(state).records, state.head.miscounted_turns) == (3, 0)


def test_a_turn_remembers_the_last_batch_of_its_own_producer() -> None:
    second = ProducerStamp(producer_id="runner", epoch=1, sequence=2)
    other = ProducerStamp(producer_id="gateway", epoch=4, sequence=7)
    facts = recorded(started(), producer=RUNNER, after=recorded(OPENED))
    facts = recorded(said("a"), producer=second, after=facts)
    running = turn(fold(recorded(said("b"), producer=other, after=facts)))
    assert (running.producer_id, running.producer_epoch, running.producer_sequence) == (
        "runner",
        1,
        2,
    )
    assert running.records == 3


def test_usage_is_summed() -> None:
    used = e.UsageRecorded(
        turn_id="t1", model="m", input_tokens=1, output_tokens=2, cache_read_tokens=3
    )
    total = turn(folded(OPENED, started(), used, used))
    assert (total.input_tokens, total.output_tokens) == (2, 4)
    assert (total.cache_read_tokens, total.cache_write_tokens) == (6, 0)
    RUNNING.when(used).then(used)


def test_usage_between_turns_needs_no_turn() -> None:
    used = e.UsageRecorded(model="m", input_tokens=1, output_tokens=1)
    given(OPENED).when(record(used)).then(used)


def test_usage_of_no_turn_in_an_odd_log_is_passed_over() -> None:
    used = e.UsageRecorded(turn_id="t9", model="m", input_tokens=1, output_tokens=1)
    assert folded(OPENED, used).turns == {}


@pytest.mark.parametrize("tokens", [-1, 2**40])
def test_token_counts_fit_in_a_column_even_summed(tokens: int) -> None:
    RUNNING.when(
        e.UsageRecorded(turn_id="t1", model="m", input_tokens=0, output_tokens=tokens)
    ).then_refused(InvalidValue, "output_tokens")


def test_a_model_is_named() -> None:
    RUNNING.when(
        e.UsageRecorded(turn_id="t1", model="", input_tokens=0, output_tokens=0)
    ).then_refused(InvalidValue, "model")


def test_a_turn_pauses_while_it_waits_for_nothing_but_gates() -> None:
    def paused(*events: e.Fact) -> bool:
        return turn(folded(OPENED, started(), *events)).paused

    assert not paused()
    assert paused(asked())
    assert paused(called(), asked(call="c1"))
    assert paused(asked(call="c1"), called())
    assert not paused(called(), asked(call="c1"), called("c2"))
    assert paused(called(), asked(call="c1"), called("c2"), returned("c2"))
    assert not paused(called(), asked(call="c1"), approved())
    assert not paused(asked(), interrupted())


def test_an_end_of_another_turn_leaves_the_running_one() -> None:
    state = folded(OPENED, started("t1"), started("t2"), ended("t1"), ended("t9"), ended("t1"))
    assert (state.head.turn_id, turn(state).status) == ("t2", "completed")


def test_a_turn_with_parts_keeps_them_apart_by_item() -> None:
    photo = Message(
        role="user", content=({"type": "attachment", "attachment_id": "a"}, {"type": "text"})
    )
    assert transcript(OPENED, started("t1", message("a"), photo)) == [
        ("user", ["a"]),
        ("user", [None, None]),
    ]


@pytest.mark.parametrize("refusal", [TurnExists, TurnOver, NoSuchTurn])
def test_a_refusal_names_the_turn(refusal: type[TurnExists | TurnOver | NoSuchTurn]) -> None:
    refused: Refusal = refusal("t1")
    assert (refused.at, "t1" in refused.detail) == (("turn_id",), True)


@pytest.mark.parametrize(
    ("timings", "expected"),
    [
        (None, 1_000),
        (RawJson(b'{"total":1234.9}'), 1_234),
        (RawJson(b'{"total":0}'), 0),
        (RawJson(b'{"total":-1}'), 1_000),
        (RawJson(b'{"total":1e300}'), 1_000),
        (RawJson(b'{"total":true}'), 1_000),
        (RawJson(b'{"total":"soon"}'), 1_000),
        (RawJson(b'{"first_output":5}'), 1_000),
        (RawJson(b"[5]"), 1_000),
        (RawJson(b"{"), 1_000),
    ],
)
def test_a_turn_took_what_its_end_tells_or_else_as_long_as_its_records(
    timings: object, expected: int
) -> None:
    end = e.TurnCompleted(turn_id="t1", timings=timings)
    assert turn(folded(started(), end)).total_ms == expected


def test_a_turn_that_has_not_ended_has_no_duration() -> None:
    assert turn(folded(started())).total_ms is None
