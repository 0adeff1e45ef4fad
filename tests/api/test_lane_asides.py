"""What people say to each other is recorded, and the agent sees it at its next turn."""

from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import httpx
import pytest

from domain.dispatch.asides import MOST, MOST_BYTES, MOST_FILE_BYTES
from domain.restarts import NOT_ADDRESSED
from tests.api.batches import Json, append, batch, completed, started, turn
from tests.api.chats import Chat, eventually, last_text, user
from tests.api.lane_chats import DIRECT, TOPIC, Gateway
from tests.api.runners import Runner
from tests.api.serving import PATIENCE_S, Served

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


def known(chat: Chat) -> list[str]:
    """Return what the model read at its last call, in order."""
    return [part["text"] for message in chat.known() for part in message["parts"]]


def asides(*texts: str) -> list[Json]:
    """Return turns in which something was said, and nothing ran."""
    return [
        each
        for number, text in enumerate(texts)
        for each in (
            started(f"aside-{number}", text),
            completed(f"aside-{number}", stop_reason=NOT_ADDRESSED, record_count=1),
        )
    ]


def append_aside(chat: Chat, number: int, *content: Json) -> httpx.Response:
    """Record parts of one message that was said aside, by a batch of that number."""
    begun = started(f"aside-{number}", content=[*content])
    over = completed(f"aside-{number}", stop_reason=NOT_ADDRESSED, record_count=1)
    return append(chat.client, chat.session_id, batch(number, begun, over))


def test_the_agent_sees_it_at_its_next_turn_and_nothing_ran_for_it(group: Gateway) -> None:
    aside = group.said("Lunch?", "1", run=False)
    group.said("Yes", "2", run=False)
    group.said("Hello", "3")
    group.said("Late", "4", run=False)

    chat = group.chat()
    assert (aside["status"], aside["stop_reason"]) == ("completed", "not-addressed")
    assert (aside["path"], aside["created"], aside["reply_to"]) == (None, True, "1")
    assert words(chat) == ["Lunch?", "Yes", "Hello", "Message", "Late"]
    assert known(chat) == ["[Alice] Lunch?", "[Alice] Yes", "[Alice] Hello"]
    assert len(chat.events("harness-started")) == 1
    used = chat.turn(chat.events("turn-started")[2]["data"]["turn_id"])["usage"]["input_tokens"]
    eventually(
        lambda: chat.read("/usage")["total"]["input_tokens"], lambda counted: counted == used
    )
    readiness = chat.read("/readiness")
    assert (readiness["ready"], readiness["reasons"]) == (True, [])
    asked = group.said("And?", "5")
    assert (asked["path"], asked["history_from"]) == ("warm", "harness")


def test_a_harness_that_waits_is_told_it_before_what_is_new_and_none_is_started(
    group: Gateway,
) -> None:
    group.said("Hello", "1")
    group.said("remember x=1", "2", run=False)
    group.said("Lunch?", "3", run=False)

    asked = group.said("And now\nwhat is x?", "4")

    chat = group.chat()
    assert (asked["path"], asked["reason"], asked["history_from"]) == ("warm", None, "harness")
    assert last_text(asked).endswith("x is 1.")
    assert known(chat) == chat.texts()[:-1]
    assert chat.texts()[2:4] == ["[Alice] remember x=1", "[Alice] Lunch?"]
    why = chat.read(f"/turns/{asked['turn_id']}/explain")
    assert why["explain"].startswith("Warm: the parked harness remembered the history (history ver")
    assert "but for 2 messages said aside, and was told that before what was new." in why["explain"]
    lines = chat.read("/audit", limit=200)["items"]
    assert [line["what"] for line in lines if "said aside first" in line["what"]] != []
    assert group.said("More", "5")["path"] == "warm"
    assert [each["data"].get("asides") for each in chat.events("harness-resumed")] == [2, None]
    assert len(chat.events("harness-started")) == 1
    assert known(chat) == chat.texts()[:-1]


def test_one_that_dies_before_it_takes_anything_leaves_it_to_the_next_which_is_told_once(
    direct: Gateway,
) -> None:
    direct.said("Hello", "1")
    direct.said("remember x=1", "2", run=False)

    asked = direct.said("fail: die-if-warm\nwhat is x?", "3")

    chat = direct.chat()
    assert (asked["path"], asked["reason"]) == ("evicted", "continuation-failed")
    assert last_text(asked).endswith("x is 1.")
    assert known(chat) == [
        "Hello",
        chat.texts()[1],
        "remember x=1",
        "fail: die-if-warm\nwhat is x?",
    ]
    direct.said("remember x=2", "4", run=False)
    chat.kill()
    again = direct.said("what is x?", "5")
    assert (again["history_from"], last_text(again)) == ("log", "x is 2.")
    assert known(chat) == chat.texts()[:-1]


@pytest.mark.parametrize(
    ("texts", "path"),
    [
        (["Hm."] * MOST, "warm"),
        (["Hm."] * (MOST + 1), "evicted"),
        (["remember x=1\n" + "y" * 100_000], "warm"),
        (["y" * MOST_BYTES], "evicted"),
    ],
    ids=["as many as are told", "one more", "a long one", "one that is too long"],
)
def test_only_so_much_is_told_so(chat: Chat, texts: list[str], path: str) -> None:
    chat.said("Hello")
    assert append(chat.client, chat.session_id, batch(1, *asides(*texts))).status_code == 201

    asked = chat.said("what is x?")

    reason = None if path == "warm" else "history"
    assert (asked["path"], asked["reason"]) == (path, reason)
    assert known(chat) == ["Hello", known(chat)[1], *texts, "what is x?"]
    assert last_text(asked) == ("x is 1." if "x=1" in texts[0] else "I do not know x.")


def test_files_are_told_with_it_but_only_so_much_of_them(chat: Chat) -> None:
    half = b"x" * (MOST_FILE_BYTES // 2)
    name = {"type": "attachment", "attachment_id": "a", "sha256": sha256(half).hexdigest()}
    sent = {**name, "data": b64encode(half).decode()}
    chat.said("Hello")
    for number, file in enumerate([sent, name], 1):
        assert append_aside(chat, number, file).status_code == 201

    assert chat.said("Well?")["path"] == "warm"
    pictures = [part for message in chat.known()[2:4] for part in message["parts"]]
    assert [each["sha256"] for each in pictures] == [name["sha256"]] * 2

    more = {"type": "attachment", "attachment_id": "b", "data": "eA=="}
    assert append_aside(chat, 3, {**name, "size": 1}, name, more).status_code == 201
    told = chat.said("And?")
    assert (told["path"], told["reason"]) == ("evicted", "history")


def test_whatever_else_happened_has_one_started_that_is_told_everything(direct: Gateway) -> None:
    direct.said("remember x=1", "1")
    direct.said("remember x=2", "2", run=False)
    chat = direct.chat()
    assert append(chat.client, chat.session_id, batch(1, *turn("t", "And you?"))).status_code == 201
    assert direct.said("what is x?", "3")["reason"] == "history"
    direct.said("remember x=3", "4", run=False)
    chat.client.post(f"{chat.path}/rewind", json={"turns": 1})

    asked = direct.said("what is x?", "5")

    assert (asked["path"], asked["reason"], last_text(asked)) == ("evicted", "history", "x is 2.")


def test_a_runner_starts_one_anew(group: Gateway) -> None:
    runner = Runner(group.client, session=group.chat().session_id)
    runner.take(user("Hello"))
    runner.finish()
    group.said("Lunch?", run=False)

    told = runner.ask(user("And?"), begin=False).json()

    assert (told["decision"], told["reason"], told["evict"]) == ("cold", "history", "history")


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
        with httpx.Client(base_url=group.client.base_url, timeout=PATIENCE_S) as own:
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
