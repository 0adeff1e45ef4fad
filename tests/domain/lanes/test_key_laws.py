"""Laws of keys and lane ids, over sources and settings that nobody would think of."""

from dataclasses import replace
from itertools import product
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from domain.lanes.keys import (
    KeyPolicy,
    is_shared,
    joined,
    lane_id,
    lane_key,
    named_parts,
    owner,
    participant,
)
from domain.lanes.source import CHAT_TYPES, Source
from domain.lanes.whatsapp import Aliases, aliases_of, canonical

MANY = settings(max_examples=50, deadline=None)
IDS = ["a", "b", "1", "", ":", "%", "~", "a:b", "b:1", "a%3Ab", "a%", "%3A", "main", "v2"]
PEOPLE = st.sampled_from(["1", "12", "a", "b", "a:b", "+1@lid", "@lid", "%3A"])
TEXTS = st.text(":%3A~a", max_size=4)
PROFILES = st.sampled_from(["default", "main", "main2", "coder", "a"])
CHATS = st.sampled_from([chat for chat in IDS if chat])
MAYBE = st.sampled_from([None, *IDS])
MAYBE_SOMEBODY = st.none() | PEOPLE
POLICIES = st.sampled_from(
    [
        KeyPolicy(
            group_sessions_per_user=groups,
            thread_sessions_per_user=threads,
            profiles=profiles,
            aliases=aliases_of(aliases),
        )
        for groups, threads, profiles in product([True, False], repeat=3)
        for aliases in ({}, {"1": ["12", "a"]})
    ]
)
SAID = {
    "platform": st.sampled_from(["telegram", "slack", "whatsapp"]),
    "chat_id": MAYBE,
    "user_id": MAYBE_SOMEBODY,
    "user_id_alt": MAYBE_SOMEBODY,
    "thread_id": MAYBE,
    "prospective_thread_id": MAYBE,
    "scope_id": st.sampled_from([None, "T", "a", "a:b"]),
    "profile": st.sampled_from([None, "default", "main", "coder"]),
}
DMS = st.builds(Source, **SAID)
GROUPS = st.builds(Source, **SAID, chat_type=st.sampled_from(CHAT_TYPES[1:]))
SOURCES = DMS | GROUPS
CHANGES = st.sampled_from(sorted(SAID)).flatmap(
    lambda name: SAID[name].map(lambda value: {name: value})
)


@MANY
@given(one=SOURCES, change=CHANGES, other=SOURCES, policy=POLICIES)
def test_lanes_are_one_exactly_when_their_named_parts_are(
    one: Source, change: dict[str, Any], other: Source, policy: KeyPolicy
) -> None:
    for another in (replace(one, **change), other):
        same = named_parts(one, policy) == named_parts(another, policy)
        assert (lane_id(one, policy) == lane_id(another, policy)) is same
        if same:
            assert lane_key(one, policy) == lane_key(another, policy)
            assert is_shared(one, policy) is is_shared(another, policy)


@MANY
@given(one=st.lists(TEXTS, max_size=3), other=st.lists(TEXTS, max_size=3))
def test_no_two_lists_of_parts_make_one_key(one: list[str], other: list[str]) -> None:
    assert (joined(["agent", *one]) == joined(["agent", *other])) is (one == other)
    assert joined(["agent", *one]) != joined(["person", *other])


@MANY
@given(source=SOURCES, policy=POLICIES)
def test_an_ordinary_key_is_what_other_gateways_write(source: Source, policy: KeyPolicy) -> None:
    parts = _spelled_out(source, policy)
    if any(":" in part for part in parts):
        assert lane_key(source, policy).startswith("v2:agent:")
    else:
        assert lane_key(source, policy) == ":".join(["agent", *parts])


@MANY
@given(place=DMS, chats=st.tuples(CHATS, CHATS), threads=st.tuples(MAYBE, MAYBE), policy=POLICIES)
def test_no_setting_lets_two_direct_chats_meet(
    place: Source,
    chats: tuple[str, str],
    threads: tuple[str | None, str | None],
    policy: KeyPolicy,
) -> None:
    one, other = (
        replace(place, chat_id=chat, thread_id=thread)
        for chat, thread in zip(chats, threads, strict=True)
    )
    assume(_named(one, policy.aliases) != _named(other, policy.aliases))
    assert lane_id(one, policy) != lane_id(other, policy)
    if threads[0] == threads[1]:
        assert lane_key(one, policy) != lane_key(other, policy)


@MANY
@given(place=DMS, people=st.tuples(PEOPLE, PEOPLE), policy=POLICIES)
def test_no_setting_lets_two_senders_without_a_chat_meet(
    place: Source, people: tuple[str, str], policy: KeyPolicy
) -> None:
    one, other = (replace(place, chat_id=None, user_id_alt=None, user_id=each) for each in people)
    assume(participant(one, policy) != participant(other, policy))
    assert lane_id(one, policy) != lane_id(other, policy)
    assert lane_key(one, policy) != lane_key(other, policy)


@MANY
@given(place=GROUPS, people=st.tuples(PEOPLE, PEOPLE), policy=POLICIES)
def test_who_speaks_tells_conversations_apart_exactly_where_they_are_not_shared(
    place: Source, people: tuple[str, str], policy: KeyPolicy
) -> None:
    one, other = (replace(place, user_id_alt=None, user_id=each) for each in people)
    assume(participant(one, policy) != participant(other, policy))
    shared = is_shared(one, policy)
    assert is_shared(other, policy) is shared
    assert (lane_id(one, policy) == lane_id(other, policy)) is shared
    assert (lane_key(one, policy) == lane_key(other, policy)) is shared
    assert (owner(one, policy) == owner(other, policy)) is shared


@MANY
@given(source=SOURCES, policy=POLICIES)
def test_a_member_whom_nobody_names_shares_with_all_such_members(
    source: Source, policy: KeyPolicy
) -> None:
    nobody = replace(source, user_id=None, user_id_alt=None)
    assert is_shared(nobody, policy) is (source.chat_type != "dm")
    assert "user" not in named_parts(nobody, policy)


@MANY
@given(source=SOURCES, policy=POLICIES, profiles=st.tuples(PROFILES, PROFILES))
def test_profiles_meet_only_where_they_are_not_told_apart(
    source: Source, policy: KeyPolicy, profiles: tuple[str, str]
) -> None:
    one, other = (replace(source, profile=each) for each in profiles)
    same = not policy.profiles or profiles[0] == profiles[1]
    assert (lane_id(one, policy) == lane_id(other, policy)) is same


def _named(source: Source, aliases: Aliases) -> str | None:
    """Return whom a direct chat is with, whatever dialect says it."""
    if source.chat_id and source.platform == "whatsapp":
        return canonical(source.chat_id, aliases) or source.chat_id
    return source.chat_id


def _spelled_out(source: Source, policy: KeyPolicy) -> list[str]:
    """Return the parts of a key, rule by rule."""
    profile = (policy.profiles and source.profile) or "default"
    parts = [{"default": "main", "main": "main~"}.get(profile, profile), source.platform]
    scope = [source.scope_id] if source.platform == "slack" and source.scope_id else []
    person = source.user_id_alt or source.user_id or ""
    if source.platform == "whatsapp":
        person = canonical(person, policy.aliases) or person
    if source.chat_type == "dm":
        listed = [_named(source, policy.aliases) or person, source.thread_id or ""]
        return [*parts, "dm", *scope, *(part for part in listed if part)]
    thread = source.thread_id or source.prospective_thread_id or ""
    chat_type = source.chat_type if source.thread_id or not thread else "thread"
    listed = [source.chat_id or "", thread]
    if policy.group_sessions_per_user and not (thread and not policy.thread_sessions_per_user):
        listed.append(person)
    return [*parts, chat_type, *scope, *(part for part in listed if part)]
