"""May a client send only its newest message?"""

import pytest

from domain import events as e
from domain.readiness import Policy, readiness
from domain.state import Head, State
from tests.scenario import (
    OPENED,
    RUNNER,
    asked,
    called,
    ended,
    folded,
    started,
)

STRICT = Policy(unverified_turns=False)


def codes(state: State, policy: Policy = STRICT) -> list[str]:
    head = state.head
    turn = None if head.turn_id is None else state.turns.get(head.turn_id)
    judged = readiness(head, turn, policy)
    assert judged.ready == (not judged.reasons)
    assert judged.through_version == head.version
    return [reason.code for reason in judged.reasons]


def test_a_session_whose_turns_ended_is_ready() -> None:
    assert codes(folded(OPENED, started(), ended())) == []


def test_a_session_without_a_turn_is_ready_and_empty() -> None:
    assert readiness(folded(OPENED).head, None, STRICT).empty
    assert not readiness(folded(OPENED, started(), ended()).head, None, STRICT).empty


def test_a_running_turn_is_no_history_yet() -> None:
    assert codes(folded(OPENED, started())) == ["turn-running"]
    assert readiness(Head(turn_id="t1"), None, STRICT).ready is False


def test_a_turn_that_waits_for_gates_alone_is_history() -> None:
    assert codes(folded(OPENED, started(), called(), asked(call="c1"))) == []


def test_a_loss_is_a_reason_until_it_is_healed() -> None:
    lost = e.RecordsLost(count=None, reason="crash")
    assert codes(folded(OPENED, lost)) == ["records-lost"]
    assert codes(folded(OPENED, lost, e.LossHealed(loss_version=2))) == []


def test_what_this_build_cannot_read_is_a_reason() -> None:
    assert codes(folded(OPENED, e.Opaque(reason="unknown-type"))) == ["unreadable-events"]


def test_a_wrong_count_is_a_reason() -> None:
    assert codes(folded(OPENED, started(), ended("t1", 5), producer=RUNNER)) == [
        "record-count-mismatch"
    ]


def test_a_missing_count_is_a_reason_unless_the_project_allows_it() -> None:
    state = folded(OPENED, started(), ended(), producer=RUNNER)
    assert codes(state) == ["turn-unverified"]
    assert codes(state, Policy(unverified_turns=True)) == []


@pytest.mark.parametrize(
    ("known_after", "reasons"), [(0, []), (1, ["restored"]), (2, ["restored"])]
)
def test_what_was_known_before_a_restore_is_not_known(known_after: int, reasons: list[str]) -> None:
    policy = Policy(unverified_turns=False, known_after=known_after)
    assert codes(folded(OPENED), policy) == reasons


def test_what_was_opened_after_a_restore_is_known() -> None:
    policy = Policy(unverified_turns=False, known_after=5)
    assert readiness(Head(known_position=6), None, policy).ready


@pytest.mark.parametrize(
    ("agreements", "reasons"),
    [(0, ["agreement-required"]), (1, ["agreement-required"]), (2, []), (3, [])],
)
def test_a_session_waits_until_enough_comparisons_in_a_row_agreed(
    agreements: int, reasons: list[str]
) -> None:
    policy = Policy(unverified_turns=True, require_agreement=2)
    found = readiness(folded(OPENED).head, None, policy, agreements)

    assert [reason.code for reason in found.reasons] == reasons
    assert found.ready is (reasons == [])
