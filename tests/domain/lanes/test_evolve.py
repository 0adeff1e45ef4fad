"""What facts make of a lane."""

from domain.events import Opaque
from domain.events import lane as e
from domain.lanes.evolve import bound, evolve
from domain.lanes.state import NO_LANE, Bound, Lane
from domain.recorded import Envelope, Recorded

OPENED = e.LaneOpened(
    lane_key="agent:main:slack:group:T1:C1",
    source={"platform": "slack", "chat_type": "group", "chat_id": "C1"},
    owner="agent:main:slack:group:T1:C1",
    shared=True,
    policy={"profiles": False},
)
BOUND = e.LaneBound(session_id="one", reason="created")
RESET = e.LaneReset(
    session_id="two", previous_session_id="one", reason="suspended", had_activity=True
)
SWITCHED = e.LaneSwitched(session_id="one", previous_session_id="two")


def recorded(version: int, at: int) -> Recorded:
    envelope = Envelope(
        project_id="default",
        session_id="lane:0f",
        version=version,
        event_id=f"{version}",
        type="lane-opened",
        schema=1,
        affects="none",
        recorded_at=at,
        body_digest=b"",
    )
    return Recorded(
        envelope, 0, b"", bytes([version]) * 32, b"", b"{}", Opaque(reason="unreadable")
    )


def folded(*events: e.LaneEvent | None) -> Lane:
    lane = NO_LANE
    for number, event in enumerate(events, 1):
        lane = evolve(lane, recorded(number, number * 10), event)
    return lane


def test_a_lane_is_what_its_opening_and_its_binding_say() -> None:
    lane = folded(OPENED, BOUND)
    assert (lane.version, lane.hash) == (2, b"\x02" * 32)
    assert (lane.status, lane.lane_key, lane.owner) == ("open", OPENED.lane_key, OPENED.owner)
    assert (lane.platform, lane.chat_type, lane.shared) == ("slack", "group", True)
    assert (lane.policy, lane.session_id) == ({"profiles": False}, "one")
    assert (lane.created_at, lane.updated_at, lane.bound_at) == (10, 20, 20)


def test_a_reset_takes_away_what_stood_in_the_way_and_says_why() -> None:
    lane = folded(
        OPENED,
        BOUND,
        e.LaneSuspended(reason="stuck"),
        e.LaneResumeMarked(reason="restart-timeout"),
        RESET,
    )
    assert (lane.session_id, lane.previous_session_id) == ("two", "one")
    assert (lane.suspended_reason, lane.resume_reason, lane.resume_at) == (None, None, 0)
    assert (lane.reset_reason, lane.reset_at, lane.had_activity) == ("suspended", 50, True)


def test_a_switch_leaves_nothing_of_the_reset_before() -> None:
    lane = folded(OPENED, BOUND, RESET, SWITCHED)
    assert (lane.session_id, lane.previous_session_id) == ("one", "two")
    assert (lane.reset_reason, lane.reset_at, lane.had_activity) == (None, 0, False)


def test_marks_stand_until_they_are_taken_away() -> None:
    marked = folded(OPENED, BOUND, e.LaneResumeMarked(reason="shutdown-timeout"))
    assert (marked.resume_reason, marked.resume_at) == ("shutdown-timeout", 30)
    cleared = evolve(marked, recorded(4, 40), e.LaneResumeCleared(reason="completed"))
    assert (cleared.resume_reason, cleared.resume_at) == (None, 0)
    assert folded(OPENED, BOUND, e.LaneSuspended(reason="stuck")).suspended_reason == "stuck"


def test_a_lane_can_be_pinned_moved_and_given_up() -> None:
    assert folded(OPENED, BOUND, e.LanePinned(pinned=True)).pinned
    moved = folded(OPENED, BOUND, e.LaneMoved(to_lane_id="0e", follow=False))
    assert (moved.status, moved.moved_to, moved.follows) == ("moved", "0e", False)
    assert folded(OPENED, BOUND, e.LanePruned()).status == "pruned"


def test_a_lane_that_is_opened_again_is_as_new_but_for_its_age_and_its_pin() -> None:
    lane = folded(
        OPENED,
        BOUND,
        e.LanePinned(pinned=True),
        e.LaneSuspended(reason="stuck"),
        e.LaneMoved(to_lane_id="0e"),
        OPENED,
    )
    assert (lane.status, lane.suspended_reason, lane.follows) == ("open", None, False)
    assert lane.moved_to == "0e", "whoever claimed it is known"
    assert (lane.created_at, lane.pinned, lane.session_id) == (10, True, "one")


def test_of_a_purged_lane_nothing_is_known_whether_its_facts_can_still_be_read_or_not() -> None:
    purged = Lane(version=4, hash=b"\x04" * 32, status="purged", created_at=10, updated_at=40)
    assert folded(OPENED, BOUND, e.LanePinned(pinned=True), e.LanePurged(events=3)) == purged
    assert folded(None, None, None, e.LanePurged(events=3)) == purged
    again = evolve(purged, recorded(5, 50), OPENED)
    assert (again.status, again.lane_key, again.pinned) == ("open", OPENED.lane_key, False)
    assert (again.session_id, again.created_at) == ("", 10)


def test_a_fact_that_cannot_be_read_only_moves_the_version() -> None:
    lane = folded(OPENED, BOUND, None)
    assert (lane.version, lane.unreadable, lane.session_id) == (3, 1, "one")


def test_a_source_of_another_shape_is_none() -> None:
    lane = folded(e.LaneOpened(lane_key="k", source="text", owner="k", shared=False))
    assert (lane.source, lane.platform) == ({}, "")


def test_the_sessions_that_a_lane_had_are_those_that_it_was_bound_to() -> None:
    assert bound(recorded(2, 20), BOUND) == Bound("one", 2, 20, "created")
    assert bound(recorded(3, 30), RESET) == Bound("two", 3, 30, "suspended")
    assert bound(recorded(4, 40), SWITCHED) == Bound("one", 4, 40, "switched")
    assert bound(recorded(5, 50), e.LanePruned()) is None
    assert bound(recorded(6, 60), None) is None
