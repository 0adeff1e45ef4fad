"""Which conversation a message belongs to, by worked examples."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from domain.lanes.keys import KeyPolicy, ids_of, is_shared, lane_id, lane_key, named_parts, owner
from domain.lanes.source import CHAT_TYPES, MEMBERS, PLATFORMS, Source, read_source
from domain.lanes.whatsapp import aliases_of

DOCUMENT = Path(__file__).parents[3] / "docs" / "lane-keys.md"
DEFAULT = KeyPolicy()
ONE_FOR_ALL = KeyPolicy(group_sessions_per_user=False)
PER_USER = KeyPolicy(thread_sessions_per_user=True)
PROFILES = KeyPolicy(profiles=True)
PHONE = "15551234567@s.whatsapp.net"
HIDDEN = "999999999999999@lid"
KNOWN = aliases_of({HIDDEN: [PHONE]})

DM = Source(platform="telegram", chat_id="99")
NAMELESS_DM = Source(platform="telegram")
GUILD = Source(platform="discord", chat_type="group", chat_id="guild-123", user_id="alice")
TOPIC = Source(
    platform="telegram",
    chat_type="group",
    chat_id="-1002285219667",
    thread_id="17585",
    user_id="42",
)
THREAD = Source(
    platform="discord",
    chat_type="thread",
    chat_id="thread-456",
    thread_id="thread-456",
    user_id="alice",
)
WHATSAPP = Source(platform="whatsapp", chat_id=PHONE)
FAMILY = Source(
    platform="whatsapp", chat_type="group", chat_id="120363000000000000@g.us", user_id=HIDDEN
)
SLACK = Source(platform="slack", scope_id="T1", chat_id="D1", user_id="U1")


@pytest.mark.parametrize(
    ("source", "policy", "key"),
    [
        (DM, DEFAULT, "telegram:dm:99"),
        (replace(DM, thread_id="topic-1", user_id="42"), DEFAULT, "telegram:dm:99:topic-1"),
        (replace(DM, prospective_thread_id="7"), DEFAULT, "telegram:dm:99"),
        (replace(NAMELESS_DM, user_id="jordan"), DEFAULT, "telegram:dm:jordan"),
        (replace(NAMELESS_DM, chat_id="", user_id="jordan"), DEFAULT, "telegram:dm:jordan"),
        (
            replace(NAMELESS_DM, user_id="jordan", user_id_alt="alt"),
            DEFAULT,
            "telegram:dm:alt",
        ),
        (replace(NAMELESS_DM, thread_id="7"), DEFAULT, "telegram:dm:7"),
        (NAMELESS_DM, DEFAULT, "telegram:dm"),
        (GUILD, DEFAULT, "discord:group:guild-123:alice"),
        (replace(GUILD, scope_id="g"), DEFAULT, "discord:group:guild-123:alice"),
        (GUILD, ONE_FOR_ALL, "discord:group:guild-123"),
        (replace(GUILD, user_id=None), DEFAULT, "discord:group:guild-123"),
        (TOPIC, DEFAULT, "telegram:group:-1002285219667:17585"),
        (replace(TOPIC, user_id="43"), DEFAULT, "telegram:group:-1002285219667:17585"),
        (TOPIC, PER_USER, "telegram:group:-1002285219667:17585:42"),
        (THREAD, DEFAULT, "discord:thread:thread-456:thread-456"),
        (replace(THREAD, user_id="bob"), DEFAULT, "discord:thread:thread-456:thread-456"),
        (replace(THREAD, thread_id=None, user_id=None), DEFAULT, "discord:thread:thread-456"),
        (
            replace(GUILD, prospective_thread_id="7"),
            DEFAULT,
            "discord:thread:guild-123:7",
        ),
        (
            replace(GUILD, prospective_thread_id="7", thread_id="8"),
            DEFAULT,
            "discord:group:guild-123:8",
        ),
        (WHATSAPP, DEFAULT, "whatsapp:dm:15551234567"),
        (replace(WHATSAPP, chat_id=HIDDEN), KeyPolicy(aliases=KNOWN), "whatsapp:dm:15551234567"),
        (replace(WHATSAPP, chat_id="@lid"), DEFAULT, "whatsapp:dm:@lid"),
        (
            FAMILY,
            KeyPolicy(aliases=KNOWN),
            "whatsapp:group:120363000000000000@g.us:15551234567",
        ),
        (
            replace(FAMILY, user_id=PHONE),
            KeyPolicy(aliases=KNOWN),
            "whatsapp:group:120363000000000000@g.us:15551234567",
        ),
        (FAMILY, ONE_FOR_ALL, "whatsapp:group:120363000000000000@g.us"),
        (SLACK, DEFAULT, "slack:dm:T1:D1"),
        (replace(SLACK, chat_id=None), DEFAULT, "slack:dm:T1:U1"),
        (replace(SLACK, chat_type="channel"), DEFAULT, "slack:channel:T1:D1:U1"),
        (replace(DM, profile="coder"), DEFAULT, "telegram:dm:99"),
        (replace(DM, profile="default"), PROFILES, "telegram:dm:99"),
        (DM, PROFILES, "telegram:dm:99"),
    ],
)
def test_a_place_has_the_key_that_other_gateways_give_it(
    source: Source, policy: KeyPolicy, key: str
) -> None:
    assert lane_key(source, policy) == f"agent:main:{key}"


def test_a_profile_has_keys_of_its_own() -> None:
    assert lane_key(replace(DM, profile="coder"), PROFILES) == "agent:coder:telegram:dm:99"
    assert lane_key(replace(DM, profile="main"), PROFILES) == "agent:main~:telegram:dm:99"


def test_the_document_gives_these_examples() -> None:
    rows = re.findall(r"^\| `(\{.*\})` \| `(.*)` \|$", DOCUMENT.read_text(), re.MULTILINE)
    assert len(rows) > 8
    assert [lane_key(read_source(json.loads(said)), DEFAULT) for said, _ in rows] == [
        key for _, key in rows
    ]


def test_the_document_names_every_member_and_platform() -> None:
    named = set(re.findall(r"`([a-z_]+)`", DOCUMENT.read_text()))
    assert named >= {*MEMBERS, *PLATFORMS, *CHAT_TYPES}


@pytest.mark.parametrize(
    ("source", "key"),
    [
        (replace(TOPIC, chat_id="a:b", thread_id="c"), "v2:agent:main:telegram:group:a%3Ab:c"),
        (replace(TOPIC, chat_id="a", thread_id="b:c"), "v2:agent:main:telegram:group:a:b%3Ac"),
        (replace(TOPIC, chat_id="a%3Ab", thread_id="c"), "agent:main:telegram:group:a%3Ab:c"),
        (replace(TOPIC, chat_id="%:", thread_id="c"), "v2:agent:main:telegram:group:%25%3A:c"),
    ],
)
def test_a_colon_within_an_id_is_told_from_one_between_ids(source: Source, key: str) -> None:
    assert lane_key(source, DEFAULT) == key


def test_a_members_own_lane_is_not_the_shared_thread_of_the_same_number() -> None:
    own = replace(TOPIC, thread_id=None, user_id="17585")
    assert lane_key(own, DEFAULT) == lane_key(TOPIC, DEFAULT)
    assert lane_id(own, DEFAULT) != lane_id(TOPIC, DEFAULT)
    assert owner(own, DEFAULT) != owner(TOPIC, DEFAULT)


def test_ids_that_look_alike_are_different_places() -> None:
    looks = ["a", "A", "a ", "\u00e9", "e\u0301", "../a", "..%2fa", "a" * 300, "a" * 301]
    lanes = {lane_id(replace(DM, chat_id=look), DEFAULT) for look in looks}
    assert len(lanes) == len(looks)


def test_the_id_of_a_lane_never_changes() -> None:
    assert lane_id(DM, DEFAULT) == "31d73a77b62bae5d2404220a968718d1"
    assert list(named_parts(SLACK, DEFAULT).items()) == [
        ("namespace", "main"),
        ("platform", "slack"),
        ("chat_type", "dm"),
        ("scope", "T1"),
        ("peer", "D1"),
    ]


@pytest.mark.parametrize(
    ("source", "policy", "shared"),
    [
        (DM, DEFAULT, False),
        (DM, ONE_FOR_ALL, False),
        (NAMELESS_DM, DEFAULT, False),
        (GUILD, DEFAULT, False),
        (GUILD, ONE_FOR_ALL, True),
        (replace(GUILD, user_id=None), DEFAULT, True),
        (TOPIC, DEFAULT, True),
        (TOPIC, PER_USER, False),
        (TOPIC, KeyPolicy(group_sessions_per_user=False, thread_sessions_per_user=True), True),
        (replace(GUILD, prospective_thread_id="7"), DEFAULT, True),
    ],
)
def test_several_people_share_a_conversation_that_is_nobodys_own(
    source: Source,
    policy: KeyPolicy,
    shared: bool,
) -> None:
    assert is_shared(source, policy) is shared


@pytest.mark.parametrize(
    ("source", "policy", "whose"),
    [
        (GUILD, DEFAULT, "person:main:discord:alice"),
        (replace(GUILD, chat_type="dm", chat_id="d-1"), DEFAULT, "person:main:discord:alice"),
        (DM, DEFAULT, "person:main:telegram:99"),
        (TOPIC, PER_USER, "person:main:telegram:42"),
        (SLACK, DEFAULT, "person:main:slack:T1:U1"),
        (replace(DM, user_id="a:b"), DEFAULT, "v2:person:main:telegram:a%3Ab"),
        (replace(DM, profile="coder"), PROFILES, "person:coder:telegram:99"),
        (FAMILY, KeyPolicy(aliases=KNOWN), "person:main:whatsapp:15551234567"),
        (WHATSAPP, DEFAULT, "person:main:whatsapp:15551234567"),
        (TOPIC, DEFAULT, "agent:main:telegram:group:-1002285219667:17585"),
        (replace(GUILD, user_id=None), DEFAULT, "agent:main:discord:group:guild-123"),
        (NAMELESS_DM, DEFAULT, "agent:main:telegram:dm"),
        (Source(platform="web", chat_id="7"), DEFAULT, "chat:main:web:7"),
        (Source(platform="web", chat_id="7", thread_id="8"), DEFAULT, "chat:main:web:7"),
        (Source(platform="web", chat_id="12", user_id="7"), DEFAULT, "person:main:web:7"),
        (Source(platform="web", user_id="7"), DEFAULT, "person:main:web:7"),
        (replace(SLACK, user_id=None), DEFAULT, "chat:main:slack:T1:D1"),
    ],
)
def test_a_conversation_is_a_persons_or_its_places(
    source: Source, policy: KeyPolicy, whose: str
) -> None:
    assert owner(source, policy) == whose


def test_a_person_is_known_by_every_id_and_in_a_chat_of_two_by_the_chats() -> None:
    both = Source(platform="signal", chat_id="c", user_id="u", user_id_alt="uuid")
    assert ids_of(both, KeyPolicy()) == {"u", "uuid"}
    assert ids_of(Source(platform="sms", chat_id="+1"), KeyPolicy()) == {"+1"}
    group = Source(platform="sms", chat_id="g", chat_type="group")
    assert ids_of(group, KeyPolicy()) == frozenset()
    one = Source(platform="whatsapp", chat_id="g", chat_type="group", user_id=HIDDEN)
    assert ids_of(one, KeyPolicy(aliases=KNOWN)) == {HIDDEN, "999999999999999", "15551234567"}
    assert ids_of(replace(one, user_id=PHONE), KeyPolicy(aliases=KNOWN)) >= {
        PHONE,
        "999999999999999",
    }
