"""Warm while nothing happened that the harness does not know; cold, with the reason, otherwise."""

import pytest

from tests.api.batches import Json, append, batch, event, problem, turn
from tests.api.chats import Chat, agent, eventually, last_text, told, user
from tests.api.serving import ON_ONE_DATABASE


def evicted(chat: Chat) -> list[str]:
    """Return why harnesses had to go, in order."""
    return [each["data"]["reason"] for each in chat.events("harness-evicted")]


def claimed(head: Json) -> Json:
    """Return a head as a request claims it."""
    return {name: head[name] for name in ("history_version", "fingerprint")}


def test_a_turn_after_a_turn_is_warm_and_costs_no_other_harness(chat: Chat) -> None:
    chat.said("remember a=1")

    turns = [chat.said(f"number {n}") for n in range(3)]

    assert [(turn["path"], turn["reason"], turn["history_from"]) for turn in turns] == [
        ("warm", None, "harness")
    ] * 3
    assert len(chat.events("harness-started")) == 1
    assert evicted(chat) == []


@ON_ONE_DATABASE
def test_names_and_titles_keep_it_warm(chat: Chat) -> None:
    chat.said("Hello")
    chat.client.patch(chat.path, json={"title": "Another"})

    assert chat.said("More")["path"] == "warm"


@ON_ONE_DATABASE
def test_a_rewind_makes_it_cold_and_forgets(chat: Chat) -> None:
    chat.said("remember a=1")
    chat.said("remember a=2")
    chat.client.post(f"{chat.path}/rewind", json={"turns": 1})

    turn = chat.said("what is a?")

    assert (turn["path"], turn["reason"], last_text(turn)) == ("evicted", "history", "a is 1.")
    assert evicted(chat) == ["history"]


def test_a_rewind_within_the_request_is_one_with_it(chat: Chat) -> None:
    chat.said("remember a=1")
    chat.said("remember a=2")

    turn = told(chat.say("what is a?", rewind={"turns": 1}))

    assert (turn["reason"], last_text(turn)) == ("history", "a is 1.")
    assert chat.texts()[-2:] == ["what is a?", "a is 1."]


def test_what_another_program_appends_makes_it_cold_and_is_known(chat: Chat) -> None:
    chat.said("Hello")
    append(chat.client, chat.session_id, batch(1, *turn("t1", "remember a=5")))

    asked = chat.said("what is a?")

    assert (asked["path"], asked["reason"], last_text(asked)) == ("evicted", "history", "a is 5.")
    (gone,) = chat.events("harness-evicted")
    moved = [each["type"] for each in gone["data"]["detail"]["moved_by"]]
    assert moved == ["turn-started", "message-recorded"]


@ON_ONE_DATABASE
def test_another_configuration_makes_it_cold_and_says_which_facet(chat: Chat) -> None:
    chat.said("Hello", config={"model": "small", "mode": "ask"})

    asked = chat.said("More", config={"model": "large", "mode": "ask"})

    assert (asked["path"], asked["reason"]) == ("evicted", "config")
    (gone,) = chat.events("harness-evicted")
    detail = gone["data"]["detail"]
    assert detail["facets"] == ["model"]
    assert detail["before"] != detail["after"]
    assert chat.said("And more")["path"] == "warm"
    assert chat.said("Same", config={"model": "large", "mode": "ask"})["path"] == "warm"


@ON_ONE_DATABASE
def test_a_turn_keeps_the_configuration_with_which_it_began_and_the_next_has_the_new_one(
    chat: Chat,
) -> None:
    chat.said("remember a=1", config={"model": "small"})
    turn_id = chat.begun('tool: wait {"for": "steer"}')
    eventually(lambda: chat.events("tool-call-requested"), bool)

    patched = chat.client.patch(chat.path, json={"config": {"model": "large"}})

    assert (patched.status_code, chat.turn(turn_id)["status"]) == (200, "running")
    assert chat.say("Go on", on_busy="steer").status_code == 202
    ended = chat.ended(turn_id)
    assert (ended["status"], ended["path"], evicted(chat)) == ("completed", "warm", [])
    asked = chat.said("what is a?")
    assert (asked["path"], asked["reason"], last_text(asked)) == ("evicted", "config", "a is 1.")
    assert chat.said("And more")["path"] == "warm"


@ON_ONE_DATABASE
def test_a_seat_that_was_let_go_leaves_a_cold_turn_that_remembers(chat: Chat) -> None:
    chat.said("remember a=1")
    chat.client.delete(f"/pool/{chat.session_id}")

    asked = chat.said("what is a?")

    assert (asked["path"], last_text(asked)) == ("cold", "a is 1.")
    assert evicted(chat) == ["request"]


@ON_ONE_DATABASE
def test_a_full_history_that_is_ours_keeps_it_warm(chat: Chat) -> None:
    answer = last_text(chat.said("Hello"))

    asked = told(chat.post({"messages": [user("Hello"), agent(answer), user("More")]}))

    assert (asked["path"], chat.texts().count("Hello")) == ("warm", 1)


def test_a_full_history_that_is_another_is_followed(chat: Chat) -> None:
    chat.said("remember a=1")

    mine = [user("remember a=2"), agent("I will remember a."), user("what is a?")]
    asked = told(chat.post({"messages": mine}))

    assert (asked["path"], asked["reason"], last_text(asked)) == ("evicted", "history", "a is 2.")
    assert chat.texts() == ["remember a=2", "I will remember a.", "what is a?", "a is 2."]
    (diverged,) = chat.events("history-diverged")
    assert asked["divergence"]["kind"] == diverged["data"]["kind"] == "text"


@ON_ONE_DATABASE
def test_a_full_history_that_is_another_is_refused_if_that_is_asked_for(chat: Chat) -> None:
    chat.said("remember a=1")
    before = chat.seat()

    mine = [user("remember a=2"), agent("I will remember a."), user("what is a?")]
    answer = chat.post({"messages": mine, "on_divergence": "reject"})

    assert problem(answer)[:2] == (409, "history-diverged")
    assert answer.json()["difference"]["kind"] == "text"
    assert chat.seat() == before
    assert chat.said("what is a?")["path"] == "warm"


@ON_ONE_DATABASE
def test_a_client_that_knows_less_is_told_so(chat: Chat) -> None:
    first = last_text(chat.said("one"))
    chat.said("two")

    mine = {"messages": [user("one"), agent(first), user("three")], "on_divergence": "reject"}

    assert problem(chat.post(mine))[:2] == (409, "history-behind")


@ON_ONE_DATABASE
def test_the_head_that_a_client_claims_is_checked(chat: Chat) -> None:
    first = claimed(chat.said("one")["head"])
    second = claimed(chat.said("two", head=first)["head"])
    behind = chat.say("three", head=first)
    ahead = chat.say("three", head={**second, "history_version": 10_000})
    other = chat.say("three", head={**second, "fingerprint": "0" * 64})

    assert problem(behind)[:2] == (412, "head-behind")
    assert behind.json()["current_history_version"] == second["history_version"]
    assert {each["type"] for each in behind.json()["since"]} >= {"turn-started"}
    assert problem(ahead)[:2] == (409, "head-ahead-of-log")
    assert problem(other)[:2] == (409, "head-mismatch")
    assert chat.said("three", head=second)["path"] == "warm"


def lossy(chat: Chat) -> None:
    """Have a runner say that it lost something."""
    lost = event("records-lost", count=None, reason="crash")
    append(chat.client, chat.session_id, batch(1, *turn("t1", "remember a=1"), lost))


@ON_ONE_DATABASE
def test_a_log_that_lacks_something_stands_in_for_nobody(chat: Chat) -> None:
    lossy(chat)

    answer = chat.say("what is a?")

    assert problem(answer)[:2] == (409, "history-not-ready")
    assert answer.json()["action"] == "send-full-history"
    assert answer.json()["reasons"] == ["records-lost"]
    assert chat.events("turn-started")[1:] == []


@ON_ONE_DATABASE
def test_a_full_history_heals_the_log(chat: Chat) -> None:
    lossy(chat)
    mine = [user("remember a=7"), agent("I will remember a."), user("what is a?")]

    asked = told(chat.post({"messages": mine}))

    assert (asked["path"], asked["history_from"], last_text(asked)) == ("cold", "client", "a is 7.")
    assert asked["readiness"]["ready"] is True
    assert len(chat.events("history-asserted")) == 1
    assert chat.said("what is a?")["path"] == "warm"


@ON_ONE_DATABASE
def test_a_seat_that_knows_everything_needs_no_log(chat: Chat) -> None:
    chat.said("remember a=1")
    lost = event("records-lost", count=None, reason="crash")
    assert append(chat.client, chat.session_id, batch(1, lost)).status_code == 201

    asked = chat.said("what is a?")

    assert (asked["path"], last_text(asked)) == ("warm", "a is 1.")
    assert asked["readiness"]["ready"] is False


@ON_ONE_DATABASE
def test_a_seat_that_is_behind_and_a_log_that_lacks_something_are_both_named(chat: Chat) -> None:
    chat.said("remember a=1")
    lossy(chat)
    before = chat.seat()

    asked = chat.say("what is a?")

    assert problem(asked)[:2] == (409, "history-not-ready")
    assert (asked.json()["seat"], asked.json()["reasons"]) == ("history", ["records-lost"])
    assert before is not None
    assert evicted(chat) == []


@pytest.mark.parametrize("kept", [True, False])
def test_a_transcript_says_the_same_warm_and_cold(chat: Chat, *, kept: bool) -> None:
    for text in ("remember a=1", 'tool: add {"a":1,"b":2}', "what is a?"):
        chat.said(text)
        if not kept:
            chat.client.delete(f"/pool/{chat.session_id}")

    chat.said("Hello")

    known = [_seen(message["parts"]) for message in chat.known()]
    assert known == [_seen(message["parts"]) for message in chat.transcript()[:-1]]


def _seen(parts: list[Json]) -> list[Json]:
    """Return parts without what a transcript adds for people."""
    return [{k: v for k, v in part.items() if k not in {"status", "name"}} for part in parts]
