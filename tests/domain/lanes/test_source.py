"""What a gateway says of where a message came from is read exactly, or refused with its place."""

from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.json_text import JsonValue
from domain.lanes.keys import KeyPolicy, lane_key
from domain.lanes.source import (
    CHAT_TYPES,
    ID_LIMIT,
    MEMBERS,
    NAME_LIMIT,
    PLACE_LIMIT,
    PLATFORMS,
    TOPIC_LIMIT,
    Source,
    description,
    read_source,
    recorded_source,
    source_json,
)
from domain.refusals import InvalidValue

WHOLE = Source(
    platform="discord",
    chat_id="456",
    chat_name="Help: the bot hangs",
    chat_type="thread",
    user_id="42",
    user_name="Alice",
    thread_id="456",
    chat_topic="Be kind.\nNo links.",
    user_id_alt="u-42",
    chat_id_alt="c-456",
    is_bot=True,
    scope_id="guild-1",
    parent_chat_id="123",
    message_id="789",
    role_authorized=True,
    profile="coder",
    auto_thread_created=True,
    auto_thread_initial_name="the bot hangs",
    prospective_thread_id="790",
)
IDS = st.text("abZ019:%~/. \u00e9", min_size=1, max_size=6)
TEXTS = st.none() | IDS
SAID = {
    **{field.name: TEXTS for field in fields(Source) if field.default is None},
    **{field.name: st.booleans() for field in fields(Source) if field.default is False},
    "platform": st.sampled_from(sorted(PLATFORMS)) | st.just("x-radio"),
    "chat_type": st.sampled_from(CHAT_TYPES),
    "chat_id": IDS,
    "profile": st.none() | st.sampled_from(["main", "default", "coder"]),
}
SOURCES = st.builds(Source, **SAID)


@settings(max_examples=30, deadline=None)
@given(source=SOURCES)
def test_what_is_written_of_a_source_is_read_as_the_same_source(source: Source) -> None:
    assert read_source(source_json(source)) == source
    assert recorded_source(source_json(source)) == source


def test_all_that_a_source_says_is_written_and_the_scope_under_both_its_names() -> None:
    said = source_json(WHOLE)
    assert set(said) == set(MEMBERS)
    assert said["guild_id"] == said["scope_id"] == "guild-1"
    assert read_source(said) == WHOLE


def test_what_is_not_known_is_not_written() -> None:
    assert source_json(Source(platform="sms", chat_id="")) == {"platform": "sms", "chat_type": "dm"}


def test_the_scope_is_read_under_both_its_names_and_the_newer_one_wins() -> None:
    slack: dict[str, JsonValue] = {"platform": "slack", "chat_id": "D1", "guild_id": "T1"}
    assert read_source(slack).scope_id == "T1"
    assert read_source(slack | {"scope_id": "T2"}).scope_id == "T2"
    assert read_source(slack | {"scope_id": None}).scope_id == "T1"


def test_ids_may_be_numbers_and_what_is_empty_or_null_is_not_known() -> None:
    assert read_source(
        {
            "platform": "telegram",
            "chat_id": -1002285219667,
            "chat_type": None,
            "user_id": 42,
            "user_name": "",
            "is_bot": None,
        }
    ) == Source(platform="telegram", chat_id="-1002285219667", user_id="42")


def test_a_source_that_says_only_its_platform_is_a_direct_chat() -> None:
    assert read_source({"platform": "telegram"}) == Source(platform="telegram", chat_type="dm")


@pytest.mark.parametrize("place", ["chat_id", "thread_id", "prospective_thread_id"])
def test_a_chat_of_many_has_to_be_named(place: str) -> None:
    group: dict[str, JsonValue] = {"platform": "discord", "chat_type": "group", "user_id": "42"}
    with pytest.raises(InvalidValue) as refused:
        read_source(group, "source")
    assert refused.value.at == ("source", "chat_id")
    assert read_source(group | {place: "7"}).chat_type == "group"


@pytest.mark.parametrize("platform", [*sorted(PLATFORMS), "x-radio", "x-2_b"])
def test_platforms_are_known_or_marked_as_ones_own(platform: str) -> None:
    assert read_source({"platform": platform}).platform == platform


@pytest.mark.parametrize(
    ("members", "at"),
    [
        ({"platform": "Telegram"}, ("platform",)),
        ({"platform": "fax"}, ("platform",)),
        ({"platform": "x-"}, ("platform",)),
        ({"platform": "x-Radio"}, ("platform",)),
        ({"platform": "x-" + "r" * 63}, ("platform",)),
        ({"platform": None}, ("platform",)),
        ({}, ("platform",)),
        ({"platform": "sms", "chat_type": "DM"}, ("chat_type",)),
        ({"platform": "sms", "profile": "../x"}, ("profile",)),
        ({"platform": "sms", "profile": "main~"}, ("profile",)),
        ({"platform": "sms", "chat_id": 1.5}, ("chat_id",)),
        ({"platform": "sms", "chat_id": True}, ("chat_id",)),
        ({"platform": "sms", "chat_id": 2**64}, ("chat_id",)),
        ({"platform": "sms", "chat_id": ["1"]}, ("chat_id",)),
        ({"platform": "sms", "user_id": "a\nb"}, ("user_id",)),
        ({"platform": "sms", "user_id": "a\x00b"}, ("user_id",)),
        ({"platform": "sms", "user_id": "a\ud800"}, ("user_id",)),
        ({"platform": "sms", "thread_id": "t" * (ID_LIMIT + 1)}, ("thread_id",)),
        ({"platform": "sms", "user_name": "n" * (NAME_LIMIT + 1)}, ("user_name",)),
        ({"platform": "sms", "user_name": "a\x00"}, ("user_name",)),
        ({"platform": "sms", "user_name": 5}, ("user_name",)),
        ({"platform": "sms", "chat_topic": "t" * (TOPIC_LIMIT + 1)}, ("chat_topic",)),
        ({"platform": "sms", "is_bot": "yes"}, ("is_bot",)),
        ({"platform": "sms", "delivered_via_upstream_relay": True}, None),
        ({"platform": "sms", "z" * 99: 1}, ("z" * 64,)),
    ],
)
def test_what_no_source_says_is_refused_with_its_place(
    members: dict[str, JsonValue], at: tuple[str, ...] | None
) -> None:
    with pytest.raises(InvalidValue) as refused:
        read_source(members, "source")
    assert refused.value.at == ("source", *(at or ("delivered_via_upstream_relay",)))


def test_a_source_is_an_object() -> None:
    with pytest.raises(InvalidValue) as refused:
        read_source("telegram")
    assert refused.value.at == ()


def test_no_refusal_repeats_what_was_said() -> None:
    with pytest.raises(InvalidValue) as refused:
        read_source({"platform": "telegram", "chat_id": "secret\n"})
    assert "secret" not in refused.value.detail


def test_ids_at_the_limits_are_kept_character_by_character() -> None:
    for chat_id in ("c" * ID_LIMIT, "../x", "%2f", " a ", "\u00e9", "e\u0301", "A", "a"):
        assert read_source({"platform": "matrix", "chat_id": chat_id}).chat_id == chat_id


def test_of_a_source_that_another_build_recorded_what_is_understood_is_read() -> None:
    recorded: dict[str, object] = {
        "platform": "carrier-pigeon",
        "chat_id": "7",
        "chat_name": None,
        "chat_type": "flock",
        "is_bot": "perhaps",
        "wingspan": 3,
    }
    assert recorded_source(recorded) == Source(platform="carrier-pigeon", chat_id="7")
    assert recorded_source({"platform": 5}) == Source(platform="")


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (Source(platform="telegram", user_name="Alice", user_id="42"), "DM with Alice"),
        (Source(platform="telegram", chat_name="Bob", chat_id="9"), "DM with Bob"),
        (Source(platform="telegram", user_id="42", chat_id="9"), "DM with 42"),
        (Source(platform="telegram", chat_id="9", thread_id="7"), "DM with 9, thread: 7"),
        (Source(platform="telegram"), "DM with somebody"),
        (Source(platform="local", chat_id="cli"), "this machine"),
        (
            Source(
                platform="telegram",
                chat_type="group",
                chat_id="-1",
                chat_name="My Group",
                thread_id="12345",
            ),
            "group: My Group, thread: 12345",
        ),
        (Source(platform="slack", chat_type="channel", chat_id="C1"), "channel: C1"),
        (Source(platform="discord", chat_type="thread", thread_id="7"), "thread, thread: 7"),
        (
            Source(platform="discord", chat_type="thread", chat_id="7", thread_id="7"),
            "thread: 7",
        ),
        (Source(platform="irc", user_name="Eve\n\x1b[2Jroot"), "DM with Eve [2Jroot"),
    ],
)
def test_a_place_is_described_in_one_line(source: Source, line: str) -> None:
    assert description(source) == line


def test_ids_together_are_no_longer_than_a_key_that_a_database_can_list() -> None:
    said: dict[str, JsonValue] = {
        "platform": "slack",
        "chat_type": "channel",
        "scope_id": "\U00010000" * 128,
        "chat_id": "C" * 512,
        "thread_id": "t:" * 128,
        "user_id": "U" * 512,
    }
    most = read_source(said)
    assert len(lane_key(most, KeyPolicy(thread_sessions_per_user=True)).encode()) < (
        PLACE_LIMIT + 64
    )
    with pytest.raises(InvalidValue) as refused:
        read_source(said | {"user_id_alt": "a"}, "source")
    assert refused.value.at == ("source",)
    more = read_source(said | {"chat_id_alt": "a" * 512, "message_id": "m" * 512})
    assert more.chat_id == most.chat_id
