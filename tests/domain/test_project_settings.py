"""What a project sets is read strictly and patched by RFC 7396; the rest has its default."""

import pytest

from domain.json_text import JsonValue
from domain.lanes.source import PLATFORM_RULE
from domain.merge_patch import merged
from domain.patch_settings import UnreadableSettings, patched
from domain.project_settings import (
    HomeChannel,
    LanePolicies,
    ProjectSettings,
    SessionPolicies,
    settings_json,
)
from domain.read_settings import PLATFORMS_LIMIT, USERS_LIMIT, InvalidSettings, read_settings

DEFAULTS: JsonValue = {
    "lanes": {
        "group_sessions_per_user": True,
        "thread_sessions_per_user": False,
        "profiles": False,
        "redact_ids": False,
        "prune_after_days": 0,
        "resume_fresh_s": 3600,
        "allowed_users": None,
        "home_channels": {},
    },
    "sessions": {"retain_ended_days": 0},
}
EVERYTHING: JsonValue = {
    "lanes": {
        "group_sessions_per_user": False,
        "thread_sessions_per_user": True,
        "profiles": True,
        "redact_ids": True,
        "prune_after_days": 90,
        "resume_fresh_s": 0,
        "allowed_users": {"slack": [], "telegram": ["42", "alice"]},
        "home_channels": {"signal": {"chat_id": "7", "name": "Home"}, "slack": {"chat_id": "C1"}},
    },
    "sessions": {"retain_ended_days": 36_500},
}
FLAG = "expected true or false"
DAYS = "expected a whole number from 0 to 36500"
ID = "an id is a text or a whole number"
NAME = "a name has 1 to 256 characters and no control characters"
OBJECT = "expected an object"
UNKNOWN = "there is no such setting"


def wrong(patch: JsonValue, stored: JsonValue = None) -> list[tuple[str, str]]:
    with pytest.raises(InvalidSettings) as caught:
        patched({} if stored is None else stored, patch)
    return [("/".join(map(str, each.at)), each.detail) for each in caught.value.wrong]


def test_what_nobody_set_has_its_default() -> None:
    assert settings_json(read_settings({})) == DEFAULTS
    assert read_settings({}) == ProjectSettings()


def test_everything_that_is_set_is_shown_as_it_was_set() -> None:
    assert settings_json(read_settings(EVERYTHING, 3)) == EVERYTHING
    assert read_settings(EVERYTHING, 3) == ProjectSettings(
        version=3,
        lanes=LanePolicies(
            group_sessions_per_user=False,
            thread_sessions_per_user=True,
            profiles=True,
            redact_ids=True,
            prune_after_days=90,
            resume_fresh_s=0,
            allowed_users={"slack": frozenset(), "telegram": frozenset({"42", "alice"})},
            home_channels={
                "signal": HomeChannel(chat_id="7", name="Home"),
                "slack": HomeChannel(chat_id="C1"),
            },
        ),
        sessions=SessionPolicies(retain_ended_days=36_500),
    )


def test_an_id_that_a_platform_writes_as_a_number_is_one_too() -> None:
    found = read_settings(
        {
            "lanes": {
                "allowed_users": {"telegram": [42]},
                "home_channels": {"telegram": {"chat_id": -100}},
            }
        }
    )

    assert found.allows("telegram", "42")
    assert found.lanes.home_channels["telegram"].chat_id == "-100"


def test_who_is_on_no_list_may_not_speak_and_without_lists_everybody_may() -> None:
    listed = read_settings({"lanes": {"allowed_users": {"slack": [], "telegram": ["42"]}}})

    assert ProjectSettings().allows("telegram", "anybody")
    assert listed.allows("telegram", "unknown", "42")
    assert not listed.allows("telegram", "43")
    assert not listed.allows("telegram")
    assert not listed.allows("slack", "42")
    assert not listed.allows("discord", "42")


def test_nobody_may_speak_where_what_was_set_cannot_be_read() -> None:
    assert not ProjectSettings(readable=False).allows("telegram", "42")


@pytest.mark.parametrize(
    ("target", "patch", "result"),  # the cases of RFC 7396, appendix A
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_a_merge_patch_does_what_its_standard_says(
    target: JsonValue, patch: JsonValue, result: JsonValue
) -> None:
    assert merged(target, patch) == result


def test_a_null_restores_a_default_of_one_policy_of_a_platform_or_of_a_group() -> None:
    some: JsonValue = {"lanes": {"profiles": True, "allowed_users": {"slack": [], "x-1": ["1"]}}}

    assert patched(some, {"lanes": {"profiles": None}}) == {
        "lanes": {"allowed_users": {"slack": [], "x-1": ["1"]}}
    }
    assert patched(some, {"lanes": {"allowed_users": {"x-1": None}}}) == {
        "lanes": {"profiles": True, "allowed_users": {"slack": []}}
    }
    assert patched(some, {"lanes": None, "sessions": None}) == {}
    assert patched(EVERYTHING, {}) == EVERYTHING


def test_every_place_of_a_patch_that_means_nothing_is_told() -> None:
    lanes: JsonValue = {
        "group_sessions_per_user": 1,
        "profiles": "yes",
        "prune_after_days": -1,
        "resume_fresh_s": True,
        "allowed_users": {"telegram": "42", "slack": ["ok", "", None], "Telegram": []},
        "home_channels": {
            "x-1": {"name": ""},
            "x-2": "chat",
            "x-3": {"chat_id": "1", "title": "t"},
        },
        "colour": "red",
    }
    assert wrong({"lanes": lanes, "sessions": {"retain_ended_days": 0.5}, "version": 3}) == [
        ("version", UNKNOWN),
        ("lanes/colour", UNKNOWN),
        ("lanes/group_sessions_per_user", FLAG),
        ("lanes/profiles", FLAG),
        ("lanes/prune_after_days", DAYS),
        ("lanes/resume_fresh_s", "expected a whole number from 0 to 31536000"),
        ("lanes/allowed_users/Telegram", PLATFORM_RULE),
        ("lanes/allowed_users/telegram", "expected an array of user ids"),
        ("lanes/allowed_users/slack/1", "an id is not empty"),
        ("lanes/allowed_users/slack/2", ID),
        ("lanes/home_channels/x-1/chat_id", ID),
        ("lanes/home_channels/x-1/name", NAME),
        ("lanes/home_channels/x-2", OBJECT),
        ("lanes/home_channels/x-2/chat_id", ID),
        ("lanes/home_channels/x-3/title", UNKNOWN),
        ("sessions/retain_ended_days", DAYS),
    ]


def test_a_null_for_what_there_is_not_is_told_too() -> None:
    assert wrong({"colour": None, "lanes": {"colour": None}, "sessions": {"x": None}}) == [
        ("colour", UNKNOWN),
        ("lanes/colour", UNKNOWN),
        ("sessions/x", UNKNOWN),
    ]
    assert wrong({"lanes": 5, "sessions": []}) == [("lanes", OBJECT), ("sessions", OBJECT)]
    assert wrong("everything") == [("", OBJECT)]


def test_lists_have_a_limit() -> None:
    many: JsonValue = {f"x-{number}": {"chat_id": "1"} for number in range(PLATFORMS_LIMIT + 1)}
    users: JsonValue = [str(number) for number in range(USERS_LIMIT // 2 + 1)]

    assert wrong({"lanes": {"home_channels": many}}) == [
        ("lanes/home_channels", "at most 100 platforms")
    ]
    assert wrong({"lanes": {"allowed_users": {"x-a": users, "x-b": users}}}) == [
        ("lanes/allowed_users", "at most 10000 user ids")
    ]


@pytest.mark.parametrize(
    ("stored", "patch"),
    [
        ({"lanes": {"later": 1}}, {"lanes": {"profiles": True}}),
        ({"lanes": {"prune_after_days": "later"}}, {"sessions": {"retain_ended_days": 1}}),
        ({"lanes": "all of it"}, {"lanes": {"allowed_users": None}}),
        ({"later": True}, {"later": {}}),
        (None, {"lanes": {"profiles": True}}),
        ("no object", {"lanes": None}),
    ],
)
def test_what_cannot_be_read_is_not_written_over_by_the_way(
    stored: JsonValue, patch: JsonValue
) -> None:
    with pytest.raises(UnreadableSettings):
        patched(stored, patch)


def test_whoever_says_so_takes_away_what_cannot_be_read() -> None:
    later: JsonValue = {"later": 1, "lanes": {"later": 2, "profiles": True}}

    assert patched(later, {"later": None, "lanes": {"later": None}}) == {
        "lanes": {"profiles": True}
    }
    assert patched(None, {"lanes": None, "sessions": None}) == {}
    assert patched({"lanes": 5}, {"lanes": None}) == {}


def test_a_patch_of_what_cannot_be_read_is_told_its_own_mistakes_first() -> None:
    assert wrong({"lanes": {"profiles": 5}}, {"lanes": {"later": 1}}) == [("lanes/profiles", FLAG)]
