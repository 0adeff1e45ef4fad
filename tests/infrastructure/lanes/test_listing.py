"""What has to look through all lanes of a project holds up nobody else meanwhile."""

from dataclasses import replace

from infrastructure.lanes.listing import LaneQuery

NEWEST = LaneQuery(project_id="default")


def test_a_list_is_long_unless_an_index_has_its_order_or_its_few() -> None:
    assert not NEWEST.is_long
    assert not replace(NEWEST, status="all", active_since=0).is_long
    assert replace(NEWEST, status="suspended").is_long
    assert replace(NEWEST, platform="irc").is_long
    assert replace(NEWEST, pinned=True).is_long
    assert not replace(NEWEST, platform="irc", lane_key="agent:main:irc:dm:1").is_long
    assert not replace(NEWEST, status="pruned", session_id="s1").is_long
