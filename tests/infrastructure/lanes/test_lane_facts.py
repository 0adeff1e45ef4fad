"""What was stored of a lane is read for ever; the rest stays readable."""

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Final

import pytest

from domain.events import lane as e
from domain.identifiers import is_id
from domain.registry import KINDS, LANE_KINDS, LANE_NAMES
from infrastructure.lanes.facts import decode, lane_of, stream_name
from infrastructure.serialization import encoded

DIRECTORY: Final = Path(__file__).parents[2] / "golden" / "lane_events"
# Only ever added to: a name that a stored fact has had is taken for good.
GOLDEN: Final[Mapping[str, e.LaneEvent]] = {
    "lane-opened": e.LaneOpened(
        lane_key="agent:main:telegram:group:-100:17585",
        source={"platform": "telegram", "chat_type": "group", "chat_id": "-100"},
        owner="agent:main:telegram:group:-100:17585",
        shared=True,
        policy={"group_sessions_per_user": True},
        moved_from="0" * 32,
    ),
    "lane-bound": e.LaneBound(session_id="two", reason="moved", previous_session_id="one"),
    "lane-reset": e.LaneReset(
        session_id="two", previous_session_id="one", reason="suspended", had_activity=True
    ),
    "lane-switched": e.LaneSwitched(session_id="one", previous_session_id="two"),
    "lane-suspended": e.LaneSuspended(reason="stuck"),
    "lane-resume-marked": e.LaneResumeMarked(reason="restart-timeout"),
    "lane-resume-cleared": e.LaneResumeCleared(reason="completed"),
    "lane-moved": e.LaneMoved(to_lane_id="0" * 32, follow=False),
    "lane-pinned": e.LanePinned(pinned=True),
    "lane-pruned": e.LanePruned(),
    "lane-purged": e.LanePurged(events=4),
}


def test_names_are_permanent_and_no_session_has_them() -> None:
    assert {name: kind.schema for name, kind in LANE_KINDS.items()} == dict.fromkeys(GOLDEN, 1)
    assert len(LANE_NAMES) == len(LANE_KINDS)
    assert not set(LANE_KINDS) & set(KINDS)
    assert {path.stem for path in DIRECTORY.glob("*.json")} == set(GOLDEN)


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_a_golden_form_fills_every_field_and_is_read_and_stored_so(name: str) -> None:
    event, body = GOLDEN[name], (DIRECTORY / f"{name}.json").read_bytes().rstrip(b"\n")
    assert all(getattr(event, field.name) is not None for field in fields(event))
    assert decode(name, 1, body) == event
    assert encoded(event) == body


@pytest.mark.parametrize(
    ("name", "schema", "body"),
    [
        ("lane-of-tomorrow", 1, b"{}"),
        ("lane-bound", 2, b'{"session_id":"one","reason":"created"}'),
        ("lane-bound", 1, b'{"session_id":1,"reason":"created"}'),
        ("lane-bound", 1, b'{"session_id":"one"'),
        ("lane-bound", 1, b"[]"),
        ("lane-bound", 1, None),
    ],
)
def test_what_cannot_be_read_is_none(name: str, schema: int, body: bytes | None) -> None:
    assert decode(name, schema, body) is None


def test_members_of_a_later_build_are_passed_over() -> None:
    body = json.dumps({"reason": "stuck", "until": "2027"}).encode()
    assert decode("lane-suspended", 1, body) == e.LaneSuspended(reason="stuck")


def test_no_session_can_be_called_as_a_lanes_stream() -> None:
    name = stream_name("0" * 32)
    assert not is_id(name)
    assert lane_of(name) == "0" * 32
    assert lane_of("chat-1") is None
