"""What people say to each other is recorded, and the agent sees it at its next turn."""

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.api.chats import Chat, eventually
from tests.api.lane_chats import DIRECT, TOPIC, Gateway
from tests.api.serving import Served

WAITS = "tool: wait {}"


@pytest.fixture
def group(server: Served, client: httpx.Client) -> Gateway:
    """A topic of a group, which its members share."""
    return Gateway(client, server.harnesses, TOPIC)


@pytest.fixture
def direct(server: Served, client: httpx.Client) -> Gateway:
    """A direct chat."""
    return Gateway(client, server.harnesses, DIRECT)


def words(chat: Chat) -> list[str]:
    """Return what was said, each by its first word, in order."""
    return [text.removeprefix("[Alice] ").split()[0] for text in chat.texts()]


def test_the_agent_sees_it_at_its_next_turn_and_nothing_ran_for_it(group: Gateway) -> None:
    aside = group.said("Lunch?", "1", run=False)
    group.said("Yes", "2", run=False)
    group.said("Hello", "3")
    group.said("Late", "4", run=False)

    chat = group.chat()
    assert (aside["status"], aside["stop_reason"]) == ("completed", "not-addressed")
    assert (aside["path"], aside["created"], aside["reply_to"]) == (None, True, "1")
    assert words(chat) == ["Lunch?", "Yes", "Hello", "Message", "Late"]
    known = [message["parts"][0]["text"] for message in chat.known()]
    assert known == ["[Alice] Lunch?", "[Alice] Yes", "[Alice] Hello"]
    assert len(chat.events("harness-started")) == 1
    used = chat.turn(chat.events("turn-started")[2]["data"]["turn_id"])["usage"]["input_tokens"]
    eventually(
        lambda: chat.read("/usage")["total"]["input_tokens"], lambda counted: counted == used
    )
    readiness = chat.read("/readiness")
    assert (readiness["ready"], readiness["reasons"]) == (True, [])
    assert group.said("And?", "5")["history_from"] == "log"


def test_other_forms_of_the_history_alternate(group: Gateway) -> None:
    group.said("Lunch?", run=False)
    group.said("Yes", run=False)
    group.said("Hello")
    group.said("Late", run=False)

    chat = group.chat()
    told = chat.read("/transcript", format="anthropic")["messages"]
    assert [each["role"] for each in told] == ["user", "assistant", "user"]
    verified = chat.client.post(f"{chat.path}/verify", json={}).json()
    assert verified["ok"] is True
    prior = chat.read("/transcript", format="openai")["messages"]
    compared = chat.client.post(f"{chat.path}/compare", json={"messages": prior}).json()
    assert compared["agrees"] is True


def test_what_is_undone_and_repeated_is_what_was_for_the_agent(group: Gateway) -> None:
    for text, runs in [("one", True), ("aside", False), ("two", True), ("later", False)]:
        group.said(text, run=runs)
    lane = f"/lanes/{group.resolved()['lane_id']}"
    chat = group.chat()

    undone = group.client.post(f"{lane}/undo", json={"turns": 1}).json()
    assert (undone["turns_rewound"], undone["target"]["text"]) == (2, "[Alice] two")
    assert words(chat) == ["one", "Message", "aside"]
    assert group.client.post(f"{lane}/redo", json={}).status_code == 200
    assert words(chat)[-1] == "later"
    assert group.client.post(f"{lane}/undo", json={"turns": 9}).json()["turns_rewound"] == 4
    group.said("aside", run=False)
    nothing = group.client.post(f"{lane}/undo", json={})
    assert (nothing.status_code, nothing.json()["code"]) == (409, "nothing-to-rewind")


def test_it_waits_for_the_turn_that_runs_and_keeps_its_place(direct: Gateway) -> None:
    direct.post({"text": WAITS, "message_id": "1"}, {"Prefer": "respond-async"})
    chat = direct.chat()
    for number, text in enumerate(["one", "two"]):
        direct.waits(f"{text} aside", f"a{number}", run=False)
    direct.waits("three", "2")
    last = direct.waits("four aside", "a3", run=False)
    again = direct.waits("four aside", "a3", run=False)

    chat.client.post(f"{chat.path}/interrupt", json={})

    said = eventually(lambda: words(chat), lambda found: found[-1:] == ["four"])
    assert [each for each in said if each != "Message"] == ["tool:", "one", "two", "three", "four"]
    assert (last, chat.read("/queue")["items"]) == (again, [])
    dequeued = {each["data"]["queue_id"] for each in chat.events("input-dequeued")}
    assert last in dequeued
    assert chat.events("input-recalled") == []


def test_it_comes_once_however_often_and_from_wherever_it_is_sent(group: Gateway) -> None:
    def deliver(number: int) -> httpx.Response:
        with httpx.Client(base_url=group.client.base_url, timeout=30) as own:
            return Gateway(own, group.harnesses, TOPIC).say("Lunch?", str(number % 2), run=False)

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(deliver, range(6)))

    assert {answer.status_code for answer in answers} <= {200, 202}
    chat = group.chat()
    assert eventually(chat.texts, lambda texts: len(texts) == 2) == ["[Alice] Lunch?"] * 2
    addressed = group.say("Lunch?", "1")
    assert addressed.headers["idempotent-replayed"] == "true"


def test_it_leaves_what_can_be_gone_on_with_and_an_open_gate(direct: Gateway) -> None:
    asked = direct.said('ask: add {"a":1,"b":2}', "1")
    direct.waits("Hm", "2", run=False)
    chat = direct.chat()
    assert chat.turn(asked["turn_id"])["status"] == "paused"

    chat.decide(asked["gates"][0]["gate_id"])

    assert eventually(lambda: words(chat), lambda found: found[-1] == "Hm")[-1] == "Hm"
    assert chat.turn(asked["turn_id"])["status"] == "completed"


def test_it_keeps_nobody_from_answering_a_gate_and_having_it_withdrawn(direct: Gateway) -> None:
    asked = direct.said('ask: add {"a":1,"b":2}', "1")
    direct.waits("Hm", "2", run=False)
    answers = [{"gate": asked["gates"][0]["gate_id"], "verdict": "approved"}]
    direct.post({"text": "and then?", "message_id": "3", "answers": answers})
    chat = direct.chat()
    said = eventually(lambda: words(chat), lambda found: len(found) == 5)
    assert said[1:4] == ["add", "Hm", "and"]

    direct.said('ask: add {"a":1,"b":2}', "4")
    direct.waits("Hm", "5", run=False)
    direct.said("never mind", "6", on_gate="withdraw")
    assert eventually(lambda: words(chat), lambda found: found[-1] == "Hm")[-3] == "never"
