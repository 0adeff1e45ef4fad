"""A conversation goes on at another place only where it takes nobody's."""

import pytest

from domain.events import lane as e
from domain.lanes.elsewhere import branched, check_free
from domain.lanes.state import Lane, LaneStatus
from domain.refusals import LaneExists


def test_a_place_with_a_conversation_is_not_free() -> None:
    with pytest.raises(LaneExists):
        check_free(Lane(status="open"))


@pytest.mark.parametrize("status", ["moved", "pruned"])
def test_a_place_that_was_left_is_free(status: LaneStatus) -> None:
    check_free(Lane(status=status))
    check_free(None)


def test_a_branch_is_bound_to_the_place_where_it_goes_on() -> None:
    opening = e.LaneOpened(lane_key="k", source={}, owner="o", shared=False)
    assert branched(opening, "new") == (
        opening,
        e.LaneBound(session_id="new", reason="branched"),
    )
