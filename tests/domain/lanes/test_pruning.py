"""A lane goes once nothing came for long and nothing holds it, and not before."""

import pytest

from domain.lanes.pruning import DAY_US, Cutoff, Resting, cutoff, may_go, why_spared

NOW = 100 * DAY_US
GIVEN = Cutoff(before=90 * DAY_US)
RESTED = Resting("open", GIVEN.before - 1)


def test_a_lane_goes_whose_last_activity_is_strictly_older_than_the_cutoff() -> None:
    assert cutoff(10, NOW) == GIVEN
    assert may_go(RESTED, GIVEN)
    assert not may_go(RESTED._replace(touched_at=GIVEN.before), GIVEN)
    assert not may_go(RESTED._replace(touched_at=NOW), GIVEN)


@pytest.mark.parametrize("days", [0, -1, None])
def test_with_no_days_lanes_rest_for_ever(days: int | None) -> None:
    assert cutoff(days, NOW) is None


@pytest.mark.parametrize(
    ("held", "why"),
    [
        (RESTED._replace(pinned=True), "pinned"),
        (RESTED._replace(suspended=True), "suspended"),
        (RESTED._replace(in_use=True), "in_use"),
        (RESTED._replace(resume_pending=True), "resume_pending"),
        (RESTED._replace(suspended=True, resume_pending=True), "suspended"),
        (RESTED._replace(in_use=True, resume_pending=True), "in_use"),
    ],
)
def test_what_holds_a_lane_keeps_it_and_is_named(held: Resting, why: str) -> None:
    assert why_spared(held, GIVEN) == why
    assert not may_go(held, GIVEN)


def test_a_pinned_lane_goes_only_where_that_is_said_and_nothing_else_holds_it() -> None:
    every = cutoff(10, NOW, include_pinned=True)
    assert every is not None
    assert may_go(RESTED._replace(pinned=True), every)
    assert why_spared(RESTED._replace(pinned=True, suspended=True), every) == "suspended"


@pytest.mark.parametrize(
    "other",
    [
        RESTED._replace(status="pruned"),
        RESTED._replace(status="moved"),
        RESTED._replace(touched_at=None),
    ],
)
def test_what_is_no_open_lane_any_more_or_of_unknown_age_does_not_go(other: Resting) -> None:
    assert why_spared(other, GIVEN) is None
    assert not may_go(other, GIVEN)
