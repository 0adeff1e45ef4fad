"""What a lane leaves is over, and what others have there is not."""

import pytest

from domain.lanes.leaving import Leaving, leaving
from domain.lanes.resolving import Standing
from domain.refusals import TurnInProgress
from domain.state import Status, Turn

OURS = frozenset({"here", "moved-from"})
OPEN = Standing(status="open")
SHARED = OPEN._replace(is_shared=True)


def turn(lane_id: str | None = "here", *, paused: bool = False) -> Turn:
    return Turn(
        turn_id="t1",
        number=1,
        started_version=2,
        first_message=0,
        started_at=0,
        lane_id=lane_id,
        open_gates=1 if paused else 0,
    )


@pytest.mark.parametrize("status", ["open", "suspended"])
def test_what_runs_is_interrupted_and_the_session_ends(status: Status) -> None:
    found = leaving(Standing(status=status), turn("other"), OURS, interrupt=True)
    assert found == Leaving("t1", ends=True, names=None)
    assert all(found.recalls(lane_id) for lane_id in ("here", "other", None))


def test_what_runs_stays_if_it_is_not_to_be_interrupted() -> None:
    with pytest.raises(TurnInProgress) as refused:
        leaving(OPEN, turn(), OURS, interrupt=False)
    assert refused.value.turn_id == "t1"


def test_what_waits_for_an_answer_goes_unasked() -> None:
    assert leaving(OPEN, turn(paused=True), OURS, interrupt=False).stops == "t1"


def test_what_another_lane_has_does_not_end() -> None:
    found = leaving(SHARED, turn("moved-from"), OURS, interrupt=True)
    assert found == Leaving("t1", ends=False, names=OURS)
    assert [found.recalls(lane_id) for lane_id in ("here", "other", None)] == [True, False, False]


@pytest.mark.parametrize("lane_id", ["other", None])
def test_a_turn_of_another_lane_is_in_nobodys_way(lane_id: str | None) -> None:
    assert leaving(SHARED, turn(lane_id), OURS, interrupt=False).stops is None


@pytest.mark.parametrize("status", ["absent", "archived", "deleted", "purged"])
def test_what_has_ended_is_left_as_it_is(status: Status) -> None:
    found = leaving(Standing(status=status), None, OURS, interrupt=True)
    assert found == Leaving()
    assert not found.recalls("here")


def test_a_session_at_rest_ends() -> None:
    assert leaving(OPEN, None, OURS, interrupt=False) == Leaving(ends=True, names=None)
