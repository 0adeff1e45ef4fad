"""Inputs that wait for their turn: first in, first out, taken back once, never lost."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from domain.commands import Note
from domain.decide_note import QUEUE_LIMIT
from domain.events import InputQueued
from domain.keys import keys
from domain.raw_json import RawJson, dumped
from infrastructure.command_handler import Caller, Target
from infrastructure.runner import Attempt
from tests.api.batches import problem
from tests.api.chats import Chat, agent, eventually, last_text, opened, told, user
from tests.api.serving import ON_ONE_DATABASE, Served, open_log

WAITS = "tool: wait {}"


def queued(chat: Chat, text: str, **more: object) -> str:
    """Have an input wait; return its id."""
    answer = chat.say(text, on_busy="queue", **more)
    assert answer.status_code == 202, answer.text
    assert answer.json()["status"] == "queued"
    queue_id: str = answer.json()["queue_id"]
    return queue_id


def orphaned(chat: Chat, server: Served, project: str, *texts: str) -> None:
    """Have inputs wait where nothing runs, as after a server was killed."""
    target = Target(project_id=project, session_id=chat.session_id)
    requests = [dumped({"messages": [user(text)], "on_busy": "queue"}) for text in texts]
    waits = [
        InputQueued(queue_id=f"orphan-{n}", request=RawJson(request))
        for n, request in enumerate(requests)
    ]

    def write(attempt: Attempt) -> None:
        steps = [Note(event=event) for event in waits]
        log.handler.carry_out(attempt, target, steps, keys(waits), caller=Caller())

    with open_log(server.database_url) as log:
        asyncio.run(log.write(write))


def waiting(chat: Chat) -> list[str]:
    """Return which inputs wait."""
    return [item["queue_id"] for item in chat.read("/queue")["items"]]


def test_what_comes_while_a_turn_runs_waits_and_becomes_turns_in_order(chat: Chat) -> None:
    chat.begun(WAITS)
    ids = [queued(chat, f"number {n}") for n in range(3)]
    page = chat.read("/queue")
    assert [item["queue_id"] for item in page["items"]] == ids
    assert page["next_cursor"] is None

    chat.client.post(f"{chat.path}/interrupt", json={})

    eventually(chat.texts, lambda texts: "number 2" in texts[-2:])
    eventually(lambda: waiting(chat), lambda found: found == [])
    said = [text for text in chat.texts() if text.startswith("number")]
    assert said == ["number 0", "number 1", "number 2"]
    dequeued = [each["data"] for each in chat.events("input-dequeued")]
    assert [data["queue_id"] for data in dequeued] == ids
    assert [chat.ended(data["turn_id"])["path"] for data in dequeued][1:] == ["warm", "warm"]


@ON_ONE_DATABASE
def test_an_idle_session_queues_nothing(chat: Chat) -> None:
    assert told(chat.say("Hello", on_busy="queue"))["status"] == "completed"
    assert chat.events("input-queued") == []


def test_an_input_is_taken_back_once(chat: Chat) -> None:
    chat.begun(WAITS)
    queue_id = queued(chat, "never mind")
    path = f"{chat.path}/queue/{queue_id}"

    taken = chat.client.delete(path)

    assert (taken.status_code, taken.json()["status"]) == (200, "recalled")
    assert problem(chat.client.delete(path))[:2] == (409, "input-started")
    assert problem(chat.client.delete(f"{chat.path}/queue/other"))[:2] == (404, "no-such-input")
    assert waiting(chat) == []
    chat.client.post(f"{chat.path}/interrupt", json={})
    assert last_text(chat.said("Hello")) == 'Message 2: you said "Hello".'


def test_of_all_that_want_an_input_at_once_one_has_it(chat: Chat) -> None:
    """Some take it back, and the end of what it waits for begins its turn."""

    def recall(queue_id: str) -> str:
        answer = chat.client.delete(f"{chat.path}/queue/{queue_id}")
        return "recalled" if answer.status_code == 200 else problem(answer)[1]

    for number in range(6):
        chat.begun(WAITS)
        queue_id = queued(chat, f"number {number}")
        with ThreadPoolExecutor(4) as wanting:
            trials = [wanting.submit(recall, queue_id) for _ in range(3)]
            wanting.submit(chat.client.post, f"{chat.path}/interrupt", json={}).result()
        found = sorted(each.result() for each in trials)
        eventually(lambda: waiting(chat), lambda left: left == [])
        eventually(chat.read, lambda session: session["turn_id"] is None)

        recalled = [each["data"]["queue_id"] for each in chat.events("input-recalled")]
        begun = [each["data"]["queue_id"] for each in chat.events("input-dequeued")]
        assert (recalled + begun).count(queue_id) == 1
        won = ["recalled"] if queue_id in recalled else []
        assert found == ["input-started"] * (3 - len(won)) + won
        assert chat.texts().count(f"number {number}") == begun.count(queue_id)


def test_what_became_a_turn_is_not_taken_back(chat: Chat) -> None:
    chat.begun(WAITS)
    queue_id = queued(chat, "Hello")
    chat.client.post(f"{chat.path}/interrupt", json={})
    (dequeued,) = eventually(lambda: chat.events("input-dequeued"), lambda found: len(found) == 1)

    answer = chat.client.delete(f"{chat.path}/queue/{queue_id}")

    assert problem(answer)[:2] == (409, "input-started")
    assert answer.json()["turn_id"] == dequeued["data"]["turn_id"]


@ON_ONE_DATABASE
def test_so_many_wait_and_no_more(chat: Chat) -> None:
    chat.begun(WAITS)
    ids = [queued(chat, f"number {n}") for n in range(QUEUE_LIMIT)]

    assert problem(chat.say("one more", on_busy="queue"))[:2] == (409, "queue-full")

    chat.client.delete(f"{chat.path}/queue/{ids[0]}")
    queued(chat, "room again")
    assert len(waiting(chat)) == QUEUE_LIMIT


@ON_ONE_DATABASE
def test_an_input_waits_for_a_decision(chat: Chat) -> None:
    (gate,) = chat.asked()
    answer = chat.say("And then?", on_gate="queue")
    assert (answer.status_code, answer.json()["status"]) == (202, "queued")

    chat.decide(gate)

    texts = eventually(chat.texts, lambda texts: len(texts) == 4)
    assert texts[2:] == ["And then?", 'Message 2: you said "And then?".']


@ON_ONE_DATABASE
def test_an_input_that_can_become_no_turn_is_taken_back_with_the_reason(chat: Chat) -> None:
    chat.said("Hello")
    chat.begun(WAITS)
    prior = {"messages": [user("Never said"), agent("Never heard"), user("other")]}
    other = chat.post({**prior, "on_busy": "queue", "on_divergence": "reject"}).json()["queue_id"]
    last = queued(chat, "good")

    chat.client.post(f"{chat.path}/interrupt", json={})

    eventually(lambda: waiting(chat), lambda found: found == [])
    recalled = {each["data"]["queue_id"]: each["data"] for each in chat.events("input-recalled")}
    assert recalled.keys() == {other}
    assert recalled[other]["reason"] == "history-diverged"
    (dequeued,) = chat.events("input-dequeued")
    assert dequeued["data"]["queue_id"] == last


def test_the_same_message_waits_once(chat: Chat) -> None:
    chat.begun(WAITS)
    body = {"messages": [user("Hello", message_id="m1")], "on_busy": "queue"}
    assert chat.post(body).status_code == 202
    assert chat.post(body).status_code == 202

    chat.client.post(f"{chat.path}/interrupt", json={})

    eventually(lambda: waiting(chat), lambda found: found == [])
    assert [text for text in chat.texts() if text == "Hello"] == ["Hello"]
    assert told(chat.post(body))["messages"][0]["message_id"] == "m1"


def test_a_key_has_one_input_wait_and_is_answered_with_its_turn(chat: Chat) -> None:
    chat.begun(WAITS)
    key = {"Idempotency-Key": "k"}
    first = chat.say("Hello", key, on_busy="queue")
    again = chat.say("Hello", key, on_busy="queue")
    assert (again.status_code, again.json()["queue_id"]) == (202, first.json()["queue_id"])
    assert again.headers["idempotent-replayed"] == "true"

    chat.client.post(f"{chat.path}/interrupt", json={})
    (dequeued,) = eventually(lambda: chat.events("input-dequeued"), lambda found: len(found) == 1)

    turn = told(chat.say("Hello", key, on_busy="queue"))
    assert turn["turn_id"] == dequeued["data"]["turn_id"]


@ON_ONE_DATABASE
def test_the_head_that_an_input_claimed_is_not_compared_after_its_wait(chat: Chat) -> None:
    chat.begun(WAITS)
    claimed = {name: chat.read()["head"][name] for name in ("history_version", "fingerprint")}
    queued(chat, "Hello", head=claimed)

    chat.client.post(f"{chat.path}/interrupt", json={})

    eventually(lambda: waiting(chat), lambda found: found == [])
    assert [len(chat.events(f"input-{word}")) for word in ("dequeued", "recalled")] == [1, 0]


@ON_ONE_DATABASE
def test_a_history_that_was_sent_before_a_wait_takes_out_nothing_of_it(chat: Chat) -> None:
    before = chat.said("Hi")
    prior = [user("Hi"), agent(last_text(before))]
    chat.begun(WAITS)
    body = {"messages": [*prior, user("Hello")], "on_busy": "queue"}
    assert chat.post(body).status_code == 202

    chat.client.post(f"{chat.path}/interrupt", json={})

    eventually(chat.texts, lambda texts: "Hello" in texts)
    assert chat.events("history-rewound", "history-diverged") == []
    assert [text for text in chat.texts() if text in {"Hi", WAITS, "Hello"}] == [
        "Hi",
        WAITS,
        "Hello",
    ]


def test_a_rewind_holds_what_waits_until_somebody_begins_a_turn(chat: Chat) -> None:
    chat.said("Hello")
    chat.begun(WAITS)
    queue_id = queued(chat, "later")
    rewound = chat.client.post(f"{chat.path}/rewind", json={"turns": 1, "interrupt": True})
    assert rewound.status_code == 200, rewound.text
    assert waiting(chat) == [queue_id]

    turn = chat.said("instead", on_busy="queue")

    assert turn["messages"][0]["parts"][0]["text"] == "instead"
    eventually(chat.texts, lambda texts: "later" in texts)
    assert [text for text in chat.texts() if text in {"later", "instead"}] == ["instead", "later"]


@ON_ONE_DATABASE
@pytest.mark.parametrize("on_busy", ["queue", "reject"])
def test_new_text_overtakes_nothing_that_waits_where_nothing_runs(
    chat: Chat, server: Served, project: str, on_busy: str
) -> None:
    orphaned(chat, server, project, "first", WAITS)

    answer = chat.say("newcomer", on_busy=on_busy)

    assert answer.status_code == (409 if on_busy == "reject" else 202), answer.text
    assert "newcomer" not in chat.texts()
    eventually(chat.texts, lambda texts: WAITS in texts)
    chat.client.post(f"{chat.path}/interrupt", json={})
    if on_busy != "reject":
        eventually(chat.texts, lambda texts: "newcomer" in texts)
    eventually(lambda: waiting(chat), lambda found: found == [])
    said = [text for text in chat.texts() if text in {"first", WAITS, "newcomer"}]
    assert said == ["first", WAITS] + ["newcomer"] * (on_busy != "reject")


@ON_ONE_DATABASE
def test_only_what_interrupts_goes_ahead_of_what_waits(chat: Chat) -> None:
    chat.begun(WAITS)
    queued(chat, "first")
    assert told(chat.say("newcomer", on_busy="interrupt"))["status"] == "completed"
    eventually(chat.texts, lambda texts: "first" in texts)
    said = [text for text in chat.texts() if text in {"first", "newcomer"}]
    assert said == ["newcomer", "first"]


@ON_ONE_DATABASE
def test_new_text_does_not_interrupt_a_turn_whose_subagents_work(chat: Chat) -> None:
    turn_id = chat.begun(WAITS)
    child = replace(chat, session_id=f"{chat.session_id}.child")
    opened(child, parent={"session_id": chat.session_id})
    batch = {
        "producer": {"id": "child", "epoch": 1, "sequence": 1},
        "events": [{"type": "turn-started", "data": {"turn_id": "c1", "messages": [user("Work")]}}],
    }
    assert chat.client.post(f"{child.path}/events", json=batch).status_code == 201

    queue_id = chat.say("Hello", on_busy="interrupt").json()["queue_id"]

    assert chat.turn(turn_id)["status"] == "running"
    assert waiting(chat) == [queue_id]
    assert chat.client.post(f"{chat.path}/interrupt", json={}).json() == {"delivered": True}
    eventually(chat.texts, lambda texts: "Hello" in texts)


def test_what_waits_in_a_session_that_is_deleted_becomes_no_turn(chat: Chat) -> None:
    (gate,) = chat.asked()
    chat.say("And then?", on_gate="queue")

    assert chat.client.delete(chat.path).status_code == 204

    assert problem(chat.decide(gate))[:2] == (404, "no-such-session")
    chat.client.post(f"{chat.path}/restore", json={})
    eventually(lambda: waiting(chat), lambda found: found == [])
    assert problem(chat.decide(gate))[:2] == (410, "gate-gone")
