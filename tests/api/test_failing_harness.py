"""Harnesses that fail: the turn says so, nothing is lost, and the session goes on."""

from collections.abc import Iterator

import httpx
import pytest

from infrastructure.harness.port import HarnessFailed, Start
from tests.api.chats import Chat, chat_at, last_text, opened
from tests.api.mortal import MortalHarnesses
from tests.api.serving import ON_ONE_DATABASE, PATIENCE_S, Served, served
from tests.databases import DatabaseKind


class Failing:
    """Fails a start as often as it is told to."""

    def __init__(self) -> None:
        self.codes: list[str] = []

    def __call__(self, _: Start) -> None:
        if self.codes:
            raise HarnessFailed(self.codes.pop(0), "it was asked to")


@pytest.fixture
def failing() -> Failing:
    """What fails starts."""
    return Failing()


@pytest.fixture
def unlucky(database_kind: DatabaseKind, database_url: str, failing: Failing) -> Iterator[Served]:
    """A server whose harnesses fail to start."""
    harnesses = MortalHarnesses(failing)
    with served(database_kind, database_url, harnesses) as running:
        yield running


def test_a_harness_that_does_not_start_fails_the_turn_and_no_more(
    unlucky: Served, failing: Failing
) -> None:
    with unlucky.client("p") as client:
        chat = opened(chat_at(unlucky, client))
        failing.codes.append("start-failed")

        failed = chat.said("remember a=1")

        assert (failed["status"], failed["error"]["code"]) == ("failed", "start-failed")
        assert [message["role"] for message in failed["messages"]] == ["user"]
        assert failed["readiness"]["ready"] is True
        assert chat.seat() is None
        again = chat.said("what is a?")
        assert (again["status"], again["path"]) == ("completed", "cold")


@ON_ONE_DATABASE
@pytest.mark.parametrize(
    ("text", "code"),
    [("fail: error", "agent-error"), ("fail: die", "process-died")],
)
def test_a_harness_that_fails_in_its_turn_is_told_and_what_was_said_is_kept(
    chat: Chat, text: str, code: str
) -> None:
    failed = chat.said(f"First this.\n{text}")

    assert (failed["status"], failed["error"]["code"]) == ("failed", code)
    assert "words" not in failed["error"]
    assert any("First this." in said for said in chat.texts()[1:])
    assert chat.seat() is None
    again = chat.said("Hello")
    assert (again["status"], last_text(again)) == ("completed", 'Message 2: you said "Hello".')


def test_a_warm_harness_that_is_gone_is_replaced(chat: Chat) -> None:
    chat.said("remember a=1")

    asked = chat.said("fail: die-if-warm\nwhat is a?")

    assert (asked["status"], asked["path"], asked["reason"]) == (
        "completed",
        "evicted",
        "continuation-failed",
    )
    assert last_text(asked).endswith("a is 1.")
    assert chat.texts().count("fail: die-if-warm\nwhat is a?") == 1
    (gone,) = chat.events("harness-evicted")
    assert gone["data"]["detail"] == {"failure": "process-died"}


@ON_ONE_DATABASE
def test_a_warm_harness_that_said_something_is_not_asked_twice(chat: Chat) -> None:
    chat.said("remember a=1")

    failed = chat.said("First this.\nfail: die-if-warm")

    assert (failed["status"], failed["error"]["code"]) == ("failed", "process-died")
    assert len(chat.events("harness-started")) == 1
    assert chat.said("what is a?")["status"] == "completed"


@ON_ONE_DATABASE
def test_one_that_is_gone_before_its_turn_is_no_obstacle(chat: Chat) -> None:
    chat.said("remember a=1")
    chat.kill()

    asked = chat.said("what is a?")

    assert (asked["status"], last_text(asked)) == ("completed", "a is 1.")
    assert asked["path"] in {"cold", "evicted"}


def test_an_approved_call_is_made_although_its_harness_is_gone(chat: Chat) -> None:
    (gate,) = chat.asked()
    chat.kill()

    chat.decide(gate)

    turn_id = chat.read("/turns")["items"][0]["turn_id"]
    assert chat.ended(turn_id)["status"] == "completed"
    assert [made.arguments for made in chat.made()] == [{"a": 1, "b": 2}]
    assert chat.texts()[-1] == 'add gave {"sum":3}.'


@ON_ONE_DATABASE
def test_a_harness_that_hangs_is_ended_by_an_interrupt(chat: Chat) -> None:
    hanging = chat.begun("First this.\nfail: hang")

    stopped = chat.client.post(f"{chat.path}/interrupt", json={}, timeout=httpx.Timeout(PATIENCE_S))

    assert stopped.status_code == 202
    assert chat.ended(hanging)["status"] == "interrupted"
    assert chat.said("Hello")["status"] == "completed"
