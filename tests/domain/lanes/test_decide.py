"""What may be asked of a lane, and what follows."""

import pytest

from domain.events import lane as e
from domain.lanes.decide import (
    ClearResume,
    LaneCommand,
    MarkResume,
    PinLane,
    PruneLane,
    PurgeLane,
    SuspendLane,
    SwitchLane,
    decide,
)
from domain.lanes.resolving import Standing
from domain.lanes.state import Lane, LaneStatus
from domain.refusals import InvalidValue, LaneHasSessions, LaneIsSuspended, NoSuchLane

LANE = Lane(version=2, lane_key="agent:main:local:dm", session_id="one")
OPEN = Standing(status="open")
MARKED = LANE._replace(resume_reason="restart-interrupted")


@pytest.mark.parametrize(
    ("lane", "command", "facts"),
    [
        (LANE, SuspendLane(reason="stuck"), (e.LaneSuspended(reason="stuck"),)),
        (LANE._replace(suspended_reason="stuck"), SuspendLane(reason="again"), ()),
        (LANE, MarkResume(reason="timeout"), (e.LaneResumeMarked(reason="timeout"),)),
        (MARKED, MarkResume(reason="timeout"), ()),
        (MARKED, ClearResume(reason="completed"), (e.LaneResumeCleared(reason="completed"),)),
        (LANE, ClearResume(reason="completed"), ()),
        (
            LANE,
            SwitchLane(session_id="two"),
            (e.LaneSwitched(session_id="two", previous_session_id="one"),),
        ),
        (LANE, SwitchLane(session_id="one"), ()),
        (LANE, PinLane(pinned=True), (e.LanePinned(pinned=True),)),
        (LANE, PinLane(pinned=False), ()),
        (LANE, PruneLane(), (e.LanePruned(),)),
    ],
)
def test_what_is_so_already_is_not_recorded_again(
    lane: Lane, command: LaneCommand, facts: tuple[e.LaneEvent, ...]
) -> None:
    assert decide(lane, OPEN, command) == facts


def test_a_mark_of_the_session_is_kept_as_it_is() -> None:
    standing = OPEN._replace(resume_reason="restart-interrupted")
    assert decide(LANE, standing, MarkResume(reason="timeout")) == ()


@pytest.mark.parametrize(
    ("lane", "standing"),
    [
        (LANE._replace(suspended_reason="stuck"), OPEN),
        (LANE, Standing(status="suspended", is_suspended=True)),
    ],
)
def test_nothing_is_gone_on_with_in_a_suspended_lane(lane: Lane, standing: Standing) -> None:
    with pytest.raises(LaneIsSuspended):
        decide(lane, standing, MarkResume(reason="timeout"))


@pytest.mark.parametrize("status", ["moved", "pruned"])
def test_nothing_is_asked_of_a_lane_that_is_gone(status: str) -> None:
    with pytest.raises(NoSuchLane):
        decide(LANE._replace(status=status), OPEN, PruneLane())  # type: ignore[arg-type]


@pytest.mark.parametrize("status", ["open", "moved", "pruned"])
def test_a_lane_is_purged_once_nothing_is_left_that_was_said_there(status: LaneStatus) -> None:
    lane = LANE._replace(status=status, pinned=True)
    facts = decide(lane, Standing(status="deleted"), PurgeLane(has_sessions=False))
    assert facts == (e.LanePurged(events=2),)
    with pytest.raises(LaneHasSessions):
        decide(lane, OPEN, PurgeLane(has_sessions=True))


def test_a_lane_is_purged_only_once() -> None:
    with pytest.raises(NoSuchLane):
        decide(Lane(version=3, status="purged"), Standing(), PurgeLane(has_sessions=False))


@pytest.mark.parametrize("command", [SuspendLane, MarkResume, ClearResume])
def test_a_reason_is_a_name(command: type[SuspendLane | MarkResume | ClearResume]) -> None:
    with pytest.raises(InvalidValue) as refused:
        decide(LANE, OPEN, command(reason=""))
    assert refused.value.at == ("reason",)
