"""Which session a message at a place belongs to, in every situation."""

from dataclasses import replace
from itertools import product

import pytest

from domain.events import lane as e
from domain.lanes.resolving import (
    ACCIDENTAL,
    Resolution,
    Standing,
    goes_on,
    has_ended,
    is_resume_pending,
    moved,
    resolve,
)
from domain.lanes.state import Lane, LaneStatus
from domain.state import Status

OPENING = e.LaneOpened(
    lane_key="agent:main:telegram:dm:99",
    source={"platform": "telegram", "chat_id": "99"},
    owner="person:main:telegram:99",
    shared=False,
)
LANE = Lane(version=2, lane_key=OPENING.lane_key, session_id="old", owner=OPENING.owner)
OPEN = Standing(status="open", has_activity=True)


def resolved(lane: Lane | None, standing: Standing, *, force_new: bool = False) -> Resolution:
    return resolve(lane, standing, OPENING, "new", force_new=force_new)


def test_a_place_that_is_new_gets_a_session() -> None:
    found = resolved(None, Standing())
    assert (found.session_id, found.reason, found.created) == ("new", "created", True)
    assert found.facts == (OPENING, e.LaneBound(session_id="new", reason="created"))
    assert found.previous_session_id is None


def test_a_lane_keeps_its_session_and_nothing_is_recorded() -> None:
    found = resolved(LANE, OPEN)
    assert found == Resolution("old", "existing")
    assert not found.writes


@pytest.mark.parametrize("status", ["open", "moved", "pruned"])
@pytest.mark.parametrize("session_id", ["old", ""])
@pytest.mark.parametrize("reason", [None, "stuck"])
@pytest.mark.parametrize("standing", [OPEN, OPEN._replace(status="deleted")])
def test_a_lane_goes_on_exactly_where_nothing_is_opened(
    status: LaneStatus, session_id: str, reason: str | None, standing: Standing
) -> None:
    lane = LANE._replace(status=status, session_id=session_id, suspended_reason=reason)
    assert goes_on(lane, standing) is not resolved(lane, standing).created


def test_what_can_be_gone_on_with_keeps_its_session_and_its_mark() -> None:
    for lane, standing in (
        (LANE._replace(resume_reason="restart-timeout"), OPEN),
        (LANE, OPEN._replace(resume_reason="server-restarted")),
    ):
        found = resolved(lane, standing)
        assert found == Resolution("old", "resume-pending")
        assert is_resume_pending(lane, standing)


@pytest.mark.parametrize(
    ("lane", "standing"),
    [
        (LANE._replace(suspended_reason="stuck"), OPEN),
        (LANE, OPEN._replace(status="suspended", is_suspended=True)),
        (LANE._replace(suspended_reason="stuck", resume_reason="restart-timeout"), OPEN),
        (LANE, OPEN._replace(is_suspended=True, resume_reason="server-restarted")),
    ],
    ids=["lane", "session", "lane and mark", "session and mark"],
)
def test_a_suspended_lane_gets_a_new_session_whatever_else_is_so(
    lane: Lane, standing: Standing
) -> None:
    found = resolved(lane, standing)
    reset = e.LaneReset(
        session_id="new", previous_session_id="old", reason="suspended", had_activity=True
    )
    assert found == Resolution(
        "new",
        "suspended",
        (reset,),
        created=True,
        ends="lane-suspended",
        previous_session_id="old",
    )
    assert not is_resume_pending(lane, standing)


def test_a_new_session_can_be_asked_for() -> None:
    found = resolved(LANE, OPEN, force_new=True)
    assert (found.reason, found.created, found.ends) == ("forced", True, "lane-reset")
    assert found.facts == (
        e.LaneReset(
            session_id="new", previous_session_id="old", reason="forced", had_activity=True
        ),
    )


@pytest.mark.parametrize(
    "standing",
    [
        OPEN._replace(is_running=True),
        OPEN._replace(is_shared=True),
        Standing(status="deleted"),
    ],
    ids=["a turn runs", "another lane has it", "it is gone"],
)
def test_a_session_that_others_use_or_that_is_gone_is_left_as_it_is(standing: Standing) -> None:
    assert resolved(LANE, standing, force_new=True).ends is None


@pytest.mark.parametrize("status", ["absent", "deleted", "purged", "archived"])
def test_a_session_that_ended_on_purpose_is_not_gone_on_with(status: Status) -> None:
    found = resolved(LANE, Standing(status=status))
    assert (found.reason, found.created, found.ends) == ("session-ended", True, None)
    assert found.facts == (
        e.LaneBound(session_id="new", reason="session-ended", previous_session_id="old"),
    )


@pytest.mark.parametrize("because", sorted(ACCIDENTAL))
def test_a_session_that_ended_by_accident_is_taken_up_again(because: str) -> None:
    found = resolved(LANE, Standing(status="archived", ended_because=because))
    assert found == Resolution("old", "healed", heals=True)
    assert found.writes


def test_one_that_ended_by_accident_and_can_be_gone_on_with_is_both() -> None:
    standing = Standing(
        status="archived", ended_because="agent-close", resume_reason="server-restarted"
    )
    assert resolved(LANE, standing) == Resolution("old", "resume-pending", heals=True)


def test_a_lane_that_moved_away_for_good_is_a_place_that_is_new() -> None:
    found = resolved(LANE._replace(status="moved", moved_to="elsewhere"), OPEN)
    assert (found.session_id, found.reason) == ("new", "created")


def test_a_lane_whose_facts_cannot_be_read_is_a_place_that_is_new() -> None:
    assert resolved(LANE._replace(session_id=""), OPEN).reason == "created"


def test_a_lane_that_was_given_up_finds_its_session_again() -> None:
    pruned = LANE._replace(status="pruned")
    found = resolved(pruned, OPEN)
    assert (found.session_id, found.reason, found.created) == ("old", "recovered", False)
    assert found.facts == (OPENING, e.LaneBound(session_id="old", reason="recovered"))
    healed = resolved(pruned, Standing(status="archived", ended_because="agent-close"))
    assert (healed.reason, healed.heals) == ("recovered", True)


@pytest.mark.parametrize(
    ("standing", "suspended", "force_new"),
    [
        (Standing(status="deleted"), None, False),
        (OPEN, "stuck", False),
        (OPEN, None, True),
    ],
    ids=["gone", "suspended", "a new one is asked for"],
)
def test_a_lane_that_was_given_up_begins_anew_where_it_cannot_go_on(
    standing: Standing, suspended: str | None, *, force_new: bool
) -> None:
    pruned = LANE._replace(status="pruned", suspended_reason=suspended)
    found = resolved(pruned, standing, force_new=force_new)
    assert (found.session_id, found.reason, found.created) == ("new", "created", True)
    assert found.previous_session_id == "old"
    assert not found.heals


def test_what_stands_in_the_way_of_a_lane_moves_along_with_it() -> None:
    lane = LANE._replace(suspended_reason="stuck", resume_reason="restart-timeout", pinned=True)
    assert moved(lane, OPENING, "from-here") == (
        replace(OPENING, moved_from="from-here"),
        e.LaneBound(session_id="old", reason="moved"),
        e.LaneSuspended(reason="stuck"),
        e.LaneResumeMarked(reason="restart-timeout"),
        e.LanePinned(pinned=True),
    )
    assert len(moved(LANE, OPENING, "from-here")) == len(("opened", "bound"))


def test_every_situation_has_one_answer_and_time_is_in_none() -> None:
    statuses: tuple[Status, ...] = (
        "absent",
        "open",
        "suspended",
        "archived",
        "deleted",
        "purged",
    )
    ends = (None, "agent-close", "lane-reset")
    marks = (None, "server-restarted")
    standings = [
        Standing(
            status=status,
            ended_because=ended,
            resume_reason=mark,
            is_running=running,
            is_shared=shared,
            is_suspended=suspended or status == "suspended",
        )
        for status, ended, mark in product(statuses, ends, marks)
        for running, shared, suspended in product((False, True), repeat=3)
    ]
    places: tuple[LaneStatus, ...] = ("open", "moved", "pruned")
    lanes = [
        LANE._replace(status=status, suspended_reason=stuck)
        for status in places
        for stuck in (None, "stuck")
    ]
    for standing, lane in product(standings, lanes):
        for force in (False, True):
            found = resolved(lane, standing, force_new=force)
            assert found.created == (found.session_id == "new")
            is_bound = any(isinstance(f, e.LaneBound | e.LaneReset) for f in found.facts)
            assert is_bound or not found.created
            assert not (found.heals and has_ended(standing))
            if lane.suspended_reason or standing.is_suspended or force:
                assert found.session_id == "new"
