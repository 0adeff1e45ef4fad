"""What was cut off is gone on with by itself only if nothing at all stands in the way."""

from dataclasses import replace

import pytest

from domain.lanes.keys import KeyPolicy
from domain.lanes.recovery import (
    KNOWN_REASONS,
    HeldBack,
    Outside,
    Pending,
    held_back,
    is_fresh,
    lane_to_resume,
)
from domain.lanes.state import Lane
from domain.project_settings import LanePolicies, ProjectSettings

NOW = 10_000_000_000
HOUR = 3_600_000_000
SOURCE = {"platform": "telegram", "chat_id": "99", "chat_type": "dm", "user_id": "42"}
LANE = Lane(version=2, platform="telegram", source=SOURCE, session_id="s")
PENDING = Pending(
    session_id="s",
    lane_id="lane",
    reason="server-restarted",
    marked_at=NOW - HOUR + 1,
    status="open",
    is_suspended=False,
    is_running=False,
    waits=False,
    is_newest=True,
    is_hosted=True,
)
OUTSIDE = Outside(ProjectSettings(), KeyPolicy(), frozenset({"telegram"}), NOW)


def policies(**given: object) -> ProjectSettings:
    return ProjectSettings(lanes=replace(LanePolicies(), **given))  # type: ignore[arg-type]


@pytest.mark.parametrize("reason", sorted(KNOWN_REASONS))
def test_what_was_cut_off_by_nobodys_wish_is_gone_on_with(reason: str) -> None:
    assert held_back(LANE, PENDING._replace(reason=reason), OUTSIDE) is None


@pytest.mark.parametrize(
    ("lane", "pending", "outside", "expected"),
    [
        (LANE._replace(suspended_reason="stuck"), PENDING, OUTSIDE, "suspended"),
        (LANE, PENDING._replace(is_suspended=True), OUTSIDE, "suspended"),
        (LANE._replace(session_id="other"), PENDING, OUTSIDE, "left"),
        (LANE, PENDING._replace(status="archived"), OUTSIDE, "ended"),
        (LANE._replace(unreadable=1), PENDING, OUTSIDE, "unreadable"),
        (LANE._replace(platform="", source={}), PENDING, OUTSIDE, "unreadable"),
        (LANE, PENDING._replace(reason="gateway-upgrade"), OUTSIDE, "unknown-reason"),
        (LANE, PENDING._replace(marked_at=NOW - HOUR), OUTSIDE, "stale"),
        (
            LANE,
            PENDING,
            OUTSIDE._replace(
                settings=policies(allowed_users={"telegram": frozenset({"7"})}),
            ),
            "not-allowed",
        ),
        (
            LANE,
            PENDING,
            OUTSIDE._replace(settings=ProjectSettings(readable=False)),
            "not-allowed",
        ),
        (LANE, PENDING, OUTSIDE._replace(policy=None), "not-allowed"),
        (LANE, PENDING, OUTSIDE._replace(connected=frozenset({"slack"})), "not-connected"),
        (LANE, PENDING._replace(is_hosted=False), OUTSIDE, "not-hosted"),
        (LANE, PENDING._replace(is_running=True), OUTSIDE, "running"),
        (LANE, PENDING._replace(waits=True), OUTSIDE, "input-waits"),
        (LANE, PENDING._replace(is_newest=False), OUTSIDE, "went-on"),
    ],
)
def test_each_thing_that_stands_in_the_way_is_named(
    lane: Lane, pending: Pending, outside: Outside, expected: HeldBack
) -> None:
    assert held_back(lane, pending, outside) == expected


def test_a_suspended_lane_is_that_before_anything_else() -> None:
    lane = LANE._replace(suspended_reason="stuck", session_id="other")
    pending = PENDING._replace(is_running=True, reason="gateway-upgrade")
    assert held_back(lane, pending, OUTSIDE) == "suspended"


def test_who_is_allowed_is_gone_on_with() -> None:
    allowed = OUTSIDE._replace(settings=policies(allowed_users={"telegram": frozenset({"42"})}))
    assert held_back(LANE, PENDING, allowed) is None


@pytest.mark.parametrize("platform", ["api", "local", "web"])
def test_where_answers_are_fetched_nothing_has_to_be_connected(platform: str) -> None:
    lane = LANE._replace(platform=platform)
    assert held_back(lane, PENDING, OUTSIDE._replace(connected=frozenset())) is None


def test_a_mark_is_fresh_for_the_window_and_for_ever_without_one() -> None:
    assert is_fresh(NOW - 999_999, 1, NOW)
    assert not is_fresh(NOW - 1_000_000, 1, NOW)
    assert is_fresh(0, 0, NOW)
    endless = OUTSIDE._replace(settings=policies(resume_fresh_s=0))
    assert held_back(LANE, PENDING._replace(marked_at=0), endless) is None


def test_what_was_cut_off_belongs_to_the_lane_by_which_it_came() -> None:
    left = LANE._replace(session_id="newer")
    assert lane_to_resume([("other", LANE), ("lane", LANE)], PENDING) == ("lane", LANE)
    assert lane_to_resume([("other", LANE), ("lane", left)], PENDING) == ("lane", left)
    assert held_back(left, PENDING, OUTSIDE) == "left"


def test_a_turn_that_came_by_no_lane_belongs_to_the_one_that_has_its_session() -> None:
    direct = PENDING._replace(lane_id=None)
    left = LANE._replace(session_id="newer")
    assert lane_to_resume([("a", left), ("b", LANE)], direct) == ("b", LANE)
    assert lane_to_resume([("a", LANE), ("b", LANE)], direct) == "several-lanes"
    assert lane_to_resume([("a", left)], direct) == "left"
    moved = LANE._replace(status="moved")
    assert lane_to_resume([("lane", moved), ("b", LANE)], PENDING) == ("b", LANE)
    assert lane_to_resume([("lane", LANE._replace(status="pruned"))], PENDING) == "left"
