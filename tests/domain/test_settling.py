"""What was missing is settled: the record counts as complete, until what stood before is back."""

import pytest

from domain import events as e
from domain.commands import ExpireGates, Note
from domain.decide_note import decide_note
from domain.readiness import Policy, readiness
from domain.refusals import NoSuchGate, NoSuchTurn, NothingToAccept, TurnOver
from domain.state import State
from tests.scenario import (
    OPENED,
    RUNNER,
    approved,
    asked,
    ended,
    folded,
    gate,
    given,
    said,
    started,
)

LOST = e.RecordsLost(count=None, reason="crash")
ASSERTED = e.HistoryAsserted(messages=2, reasons=("records-lost",))
ACCEPTED = e.GapAccepted(reasons=("records-lost",))
BAD = e.Opaque(reason="unreadable")
REWOUND = e.HistoryRewound(turn_id="t1", from_version=2, through_version=9, turns=1, messages=2)
STRICT = Policy(unverified_turns=False)


def codes(state: State) -> list[str]:
    turn = None if state.head.turn_id is None else state.turns[state.head.turn_id]
    return [reason.code for reason in readiness(state.head, turn, STRICT).reasons]


@pytest.mark.parametrize("settling", [ASSERTED, ACCEPTED])
def test_all_reasons_of_before_are_settled(settling: e.SettlingEvent) -> None:
    before = (OPENED, started(), said("a"), ended(), LOST, BAD)
    assert codes(folded(*before, producer=RUNNER)) == [
        "records-lost",
        "unreadable-events",
        "turn-unverified",
    ]
    state = folded(*before, settling, producer=RUNNER)
    assert codes(state) == []
    assert state.head.complete_from == state.head.version


def test_a_loss_after_it_counts() -> None:
    assert codes(folded(OPENED, LOST, ASSERTED, LOST)) == ["records-lost"]


def test_a_settled_loss_can_be_healed_and_the_others_still_count() -> None:
    healed = e.LossHealed(loss_version=2)
    assert codes(folded(OPENED, LOST, ASSERTED, healed)) == []
    assert codes(folded(OPENED, LOST, ASSERTED, LOST, healed)) == ["records-lost"]


def test_what_was_settled_counts_again_once_it_is_back() -> None:
    turn = (OPENED, started(), said("a"), ended(), LOST, BAD)
    back = e.RewindReverted(rewind_version=7, turns=1, messages=2)
    state = folded(*turn, REWOUND, ASSERTED, started("t2"), ended("t2"), back)
    assert codes(state) == ["records-lost", "unreadable-events"]
    healed = folded(*turn, REWOUND, ASSERTED, back, e.LossHealed(loss_version=5))
    assert codes(healed) == ["unreadable-events"]


def test_a_loss_healed_meanwhile_does_not_come_back() -> None:
    turn = (OPENED, started(), said("a"), ended(), LOST)
    back = e.RewindReverted(rewind_version=6, turns=1, messages=2)
    assert codes(folded(*turn, REWOUND, ASSERTED, e.LossHealed(loss_version=5), back)) == []


def test_what_comes_back_from_after_it_is_complete() -> None:
    turn = (OPENED, LOST, ASSERTED, started(), said("a"), ended())
    back = e.RewindReverted(rewind_version=7, turns=1, messages=2)
    assert codes(folded(*turn, REWOUND, back)) == []


GATE = e.GateOpened(
    gate_id="g1", turn_id="t1", kind="permission", expires_at="2026-01-01T00:00:01Z"
)
SECOND = 1767225601_000_000


def test_gates_expire_when_their_time_has_come() -> None:
    waiting = given(OPENED, started(), GATE, asked("g2"))
    waiting.when(ExpireGates(now=SECOND)).then(e.GateExpired(gate_id="g1"))
    waiting.when(ExpireGates(now=SECOND - 1)).then_nothing()
    given(OPENED).when(ExpireGates(now=SECOND)).then_nothing()


def test_a_decision_is_consumed_once() -> None:
    decided = (OPENED, started(), asked(), approved())
    consumed = e.GateConsumed(gate_id="g1", turn_id="t1", seat_id="s1")
    given(*decided).when(Note(event=consumed)).then(consumed)
    given(*decided, consumed).when(Note(event=consumed)).then_nothing()
    other = e.GateConsumed(gate_id="g2", turn_id="t1")
    state = folded(*decided, consumed, consumed, other)
    assert gate(state).consumed_version == len(decided) + 1
    for history in (decided[:-1], decided[:1]):
        given(*history).when(Note(event=consumed)).then_refused(NoSuchGate, "gate_id")


def test_a_gate_is_withdrawn_while_it_is_open() -> None:
    withdrawn = e.GateWithdrawn(gate_id="g1", reason="cancelled")
    given(OPENED, started(), asked()).when(Note(event=withdrawn)).then(withdrawn)
    for history in ((OPENED, started()), (OPENED, started(), asked(), approved())):
        given(*history).when(Note(event=withdrawn)).then_nothing()


def test_nothing_is_accepted_as_missing_that_is_not() -> None:
    given(OPENED).when(Note(event=ACCEPTED)).then(ACCEPTED)
    given(OPENED).when(Note(event=e.GapAccepted(reasons=()))).then_refused(NothingToAccept)


def test_only_a_running_turn_is_interrupted_or_continued() -> None:
    asking: list[e.RequestEvent] = [
        e.InterruptRequested(turn_id="t1", reason="cancelled"),
        e.ContinuationReady(turn_id="t1", gate_ids=("g1",)),
    ]
    for event in asking:
        given(OPENED, started(), ended()).when(Note(event=event)).then_refused(TurnOver, "turn_id")
        given(OPENED).when(Note(event=event)).then_refused(NoSuchTurn, "turn_id")
    assert decide_note(folded(OPENED, started()), asking[0])[0].turn_id == "t1"
