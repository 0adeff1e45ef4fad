"""An older lane is taken over by the conversation that it was, and by no other."""

from dataclasses import replace

import pytest

from domain.lanes.adoption import ALIASES_TRIED, Candidate, legacy_keys, may_adopt
from domain.lanes.keys import KeyPolicy, lane_id, lane_key
from domain.lanes.source import Source, source_json
from domain.lanes.whatsapp import aliases_of

DEFAULT = KeyPolicy()
DM = Source(platform="slack", scope_id="T1", chat_id="D1", user_id="U1")
CHANNEL = replace(DM, chat_type="channel", chat_id="C1")
PHONE = "15551234567@s.whatsapp.net"
HIDDEN = "999999999999999@lid"
WHATSAPP = Source(platform="whatsapp", chat_id=PHONE, thread_id="7")
KNOWN = KeyPolicy(aliases=aliases_of({HIDDEN: [PHONE]}))


@pytest.mark.parametrize(
    ("source", "condition"), [(DM, "claimed-once"), (CHANNEL, "same-workspace")]
)
def test_a_slack_chat_may_be_known_without_its_workspace(source: Source, condition: str) -> None:
    unscoped = replace(source, scope_id=None)
    (found,) = legacy_keys(source, DEFAULT)
    assert found.lane_id == lane_id(unscoped, DEFAULT)
    assert found.lane_key == lane_key(unscoped, DEFAULT)
    assert (found.condition, found.scope_id) == (condition, "T1")
    assert legacy_keys(unscoped, DEFAULT) == ()


@pytest.mark.parametrize(
    ("source", "before", "claimed", "adopted"),
    [
        (DM, "T1", False, True),
        (DM, "T1", True, True),
        (DM, "T2", False, False),
        (DM, None, False, True),
        (DM, None, True, False),
        (CHANNEL, "T1", False, True),
        (CHANNEL, "T2", False, False),
        (CHANNEL, None, False, False),
    ],
)
def test_no_workspace_gets_what_may_be_anothers(
    source: Source, before: str | None, claimed: bool, adopted: bool
) -> None:
    (found,) = legacy_keys(source, DEFAULT)
    old = source_json(replace(source, scope_id=before))
    assert may_adopt(found, old, claimed=claimed) is adopted


def test_a_lane_of_which_nothing_can_be_read_is_no_channels() -> None:
    (found,) = legacy_keys(CHANNEL, DEFAULT)
    assert not may_adopt(found, {"scope_id": 5.5}, claimed=False)


def test_a_whatsapp_chat_may_be_known_by_each_spelling_of_the_persons_ids() -> None:
    found = legacy_keys(WHATSAPP, KNOWN)
    assert [candidate.lane_key for candidate in found] == [
        f"agent:main:whatsapp:dm:{spelled}:7"
        for spelled in (
            "15551234567@s.whatsapp.net",
            "15551234567@c.us",
            "15551234567@lid",
            "999999999999999",
            "999999999999999@s.whatsapp.net",
            "999999999999999@c.us",
            "999999999999999@lid",
        )
    ]
    assert len({candidate.lane_id for candidate in found}) == len(found)
    assert lane_id(WHATSAPP, KNOWN) not in {candidate.lane_id for candidate in found}
    assert {candidate.condition for candidate in found} == {"newest"}
    assert all(may_adopt(candidate, {}, claimed=True) for candidate in found)


def test_what_was_known_before_an_alias_was_is_found_by_either_id() -> None:
    hidden = replace(WHATSAPP, chat_id=HIDDEN)
    before = lane_id(hidden, DEFAULT)
    for source in (hidden, WHATSAPP):
        assert before in {candidate.lane_id for candidate in legacy_keys(source, KNOWN)}


def test_a_sender_without_a_chat_is_known_by_each_spelling_too() -> None:
    sender = replace(WHATSAPP, chat_id=None, user_id=PHONE)
    assert _keys(legacy_keys(sender, KNOWN)) == _keys(legacy_keys(WHATSAPP, KNOWN))


def test_only_so_many_ids_of_one_person_are_tried() -> None:
    policy = KeyPolicy(aliases=aliases_of({"1": [str(n) for n in range(2, 200)]}))
    found = legacy_keys(replace(WHATSAPP, chat_id="199"), policy)
    assert len(found) == 4 * (ALIASES_TRIED + 1) - 1


@pytest.mark.parametrize(
    "source",
    [
        replace(WHATSAPP, chat_type="group"),
        replace(WHATSAPP, chat_id=None),
        replace(WHATSAPP, chat_id="@lid"),
        Source(platform="telegram", chat_id="99"),
    ],
)
def test_other_places_have_no_older_names(source: Source) -> None:
    assert legacy_keys(source, KNOWN) == ()


def _keys(found: tuple[Candidate, ...]) -> set[str]:
    return {candidate.lane_key for candidate in found}
