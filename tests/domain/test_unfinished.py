"""What becomes of the calls of a turn that is ended from outside?"""

import pytest

from domain import events as e
from domain.commands import DeleteSession, InterruptTurn
from domain.raw_json import RawJson
from domain.state import open_calls
from domain.unfinished import NOT_RUN, UNKNOWN
from tests.scenario import OPENED, RUNNER, folded, given, started

STOP = InterruptTurn(turn_id="t1", reason="user", by="ada")
STOPPED = e.TurnInterrupted(turn_id="t1", reason="user", by="ada")


def called(call_id: str) -> e.ToolCallRequested:
    return e.ToolCallRequested(
        turn_id="t1", tool_call_id=call_id, name="f", arguments=RawJson(b"{}")
    )


def asked(call_id: str) -> e.GateOpened:
    return e.GateOpened(
        gate_id=f"g-{call_id}", turn_id="t1", kind="permission", tool_call_id=call_id, tool="f"
    )


def closed(call_id: str, reason: str = "user") -> e.GateWithdrawn:
    return e.GateWithdrawn(gate_id=f"g-{call_id}", reason=reason)


def unseen(call_id: str, became: str) -> e.ToolCallCompleted:
    output = RawJson(b'{"turnlog":"%s"}' % became.encode())
    return e.ToolCallCompleted(turn_id="t1", tool_call_id=call_id, output=output, is_error=True)


HALF = (OPENED, started(), called("c1"), called("c2"), asked("c2"), called("c3"))
SETTLED = (closed("c2"), unseen("c1", UNKNOWN), unseen("c2", NOT_RUN), unseen("c3", UNKNOWN))


def test_questions_end_first_then_calls_then_the_turn() -> None:
    given(*HALF).when(STOP).then(*SETTLED, STOPPED)


def test_a_call_that_has_its_result_keeps_it() -> None:
    result = e.ToolCallCompleted(turn_id="t1", tool_call_id="c1", output=RawJson(b"1"))
    given(OPENED, started(), called("c1"), result).when(STOP).then(STOPPED)


def test_a_call_that_only_its_question_told_of_was_not_run() -> None:
    given(OPENED, started(), asked("c1")).when(STOP).then(
        closed("c1"), unseen("c1", NOT_RUN), STOPPED
    )


def test_a_call_id_that_is_used_twice_gets_an_outcome_each_time() -> None:
    given(OPENED, started(), called("c1"), called("c1")).when(STOP).then(
        unseen("c1", UNKNOWN), unseen("c1", UNKNOWN), STOPPED
    )


def test_a_deleted_session_leaves_no_call_open() -> None:
    given(OPENED, started(), asked("c1")).when(DeleteSession()).then(
        closed("c1", "session-deleted"),
        unseen("c1", NOT_RUN),
        e.TurnInterrupted(turn_id="t1", reason="session-deleted"),
        e.SessionDeleted(),
    )


@pytest.mark.parametrize("call_ids", [("c1",), ("c1", "c2")])
def test_what_a_runner_may_still_tell_is_left_to_it(call_ids: tuple[str, ...]) -> None:
    calls = [called(call_id) for call_id in call_ids]
    given(OPENED, started(), *calls, producer=RUNNER).when(STOP).then(STOPPED)


def test_no_call_is_open_afterwards() -> None:
    state = folded(*HALF, *SETTLED, STOPPED)

    assert open_calls(folded(*HALF)) != []
    assert [call for calls in state.calls.values() for call in calls if call.status == "open"] == []
    assert state.turns["t1"].open_calls == 0
