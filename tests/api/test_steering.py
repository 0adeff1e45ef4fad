"""What is said in the midst of a turn: told between two steps, once, in its place, or kept."""

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from tests.api.batches import Json, problem
from tests.api.chats import Chat, agent, chat_at, eventually, last_text, opened, told, user
from tests.api.serving import ON_ONE_DATABASE, served
from tests.databases import DatabaseKind, Databases

UNTIL_STEERED = 'tool: wait {"for": "steer"}'
WAITS = "tool: wait {}"
ROUNDS = 8
KEPT = {"type", "text", "tool_call_id", "arguments", "output", "is_error", "denied"}


def steered(chat: Chat, text: str, **more: object) -> Json:
    """Say something while a turn runs; return the answer."""
    answer = chat.say(text, on_busy="steer", **more)
    assert answer.status_code == 202, answer.text
    found: Json = answer.json()
    assert found["status"] == "queued"
    return found


def calling(chat: Chat, text: str = UNTIL_STEERED) -> str:
    """Return a turn whose agent is in the midst of a call."""
    before = len(chat.made())
    turn_id = chat.begun(text)
    eventually(lambda: len(chat.made()), lambda made: made > before)
    return turn_id


def words(messages: list[Json]) -> list[Json]:
    """Return messages as far as a transcript and a model have them in common."""
    return [
        {
            "role": message["role"],
            "parts": [{key: part[key] for key in part if key in KEPT} for part in message["parts"]],
        }
        for message in messages
    ]


def became(chat: Chat) -> dict[str, list[str]]:
    """Return what became of each input that waited."""
    found: dict[str, list[str]] = {}
    for each in chat.events("input-queued", "input-dequeued", "input-recalled"):
        found.setdefault(each["data"]["queue_id"], []).append(each["type"])
    return found


def test_it_is_told_to_the_turn_that_runs_and_stands_where_the_agent_heard_it(chat: Chat) -> None:
    turn_id = calling(chat)

    answer = steered(chat, "remember a=7")

    assert answer["steers"] == turn_id
    assert chat.ended(turn_id)["status"] == "completed"
    roles = [message["role"] for message in chat.transcript()]
    assert roles == ["user", "assistant", "tool", "user", "assistant"]
    assert chat.texts()[-2:] == ["remember a=7", "I will remember a."]
    (dequeued,) = chat.events("input-dequeued")
    assert dequeued["data"] == {"queue_id": answer["queue_id"], "turn_id": turn_id}
    heard = chat.events("message-recorded")[0]
    assert (heard["version"], heard["data"]["message"]["role"]) == (dequeued["version"] + 1, "user")
    assert words(chat.known()) == words(chat.transcript()[:-1])
    assert chat.read("/queue")["items"] == []


@ON_ONE_DATABASE
def test_a_harness_stays_warm_after_it_and_a_new_one_is_told_the_same(chat: Chat) -> None:
    chat.ended((calling(chat), steered(chat, "remember a=7"))[0])

    warm = chat.said("what is a?")
    assert (warm["path"], last_text(warm)) == ("warm", "a is 7.")
    known = chat.known()
    assert words(known) == words(chat.transcript()[:-1])

    chat.kill()
    cold = chat.said("what is a?")
    assert (cold["history_from"], last_text(cold)) == ("log", "a is 7.")
    assert chat.known()[: len(known)] == known


@ON_ONE_DATABASE
def test_answers_beside_it_are_given_at_once(chat: Chat) -> None:
    turn_id = calling(chat, 'tools: ask_user {"question":"When?"}; wait {"for":"steer"}')
    (opened_gate,) = chat.events("gate-opened")
    answers = [{"gate": opened_gate["data"]["gate_id"], "verdict": "answered", "answer": "soon"}]

    assert steered(chat, "remember a=7", answers=answers)["steers"] == turn_id

    assert chat.ended(turn_id)["status"] == "completed"
    assert chat.texts()[-2:] == ["remember a=7", "I will remember a."]
    assert [each.name for each in chat.made()] == ["wait"]
    assert len(chat.events("gate-consumed")) == 1


@ON_ONE_DATABASE
def test_a_file_is_told_with_it(chat: Chat) -> None:
    turn_id = calling(chat)
    file = {"type": "attachment", "media_type": "image/png", "data": "AAAA"}
    said = {"role": "user", "content": [file, {"type": "text", "text": "And this?"}]}
    assert chat.post({"messages": [said], "on_busy": "steer"}).json()["steers"] == turn_id
    chat.ended(turn_id)
    assert "you sent image/png" in chat.texts()[-1]
    (kept, _) = chat.transcript()[3]["parts"]
    assert (kept["type"], kept["size"]) == ("attachment", 3)
    assert chat.client.get(f"/blobs/{kept['sha256']}").content == bytes(3)


@ON_ONE_DATABASE
def test_words_without_a_turn_to_steer_begin_one(chat: Chat) -> None:
    assert told(chat.say("Hello", on_busy="steer"))["status"] == "completed"
    assert chat.events("input-queued") == []


@ON_ONE_DATABASE
def test_it_waits_for_a_turn_of_its_own_if_the_one_that_runs_ends_before(chat: Chat) -> None:
    turn_id = calling(chat, WAITS)
    answer = steered(chat, "Hello")
    (item,) = chat.read("/queue")["items"]
    assert (item["queue_id"], item["steers"]) == (answer["queue_id"], turn_id)

    interrupt(chat)

    texts = eventually(chat.texts, lambda texts: len(texts) == 3)
    assert texts[1:] == ["Hello", 'Message 2: you said "Hello".']
    (dequeued,) = chat.events("input-dequeued")
    assert dequeued["data"]["turn_id"] != turn_id


@ON_ONE_DATABASE
@pytest.mark.parametrize(
    "more",
    [
        {"config": {"model": "another"}},
        {"rewind": {"turns": 1}},
        {"messages": [user("Hi"), agent("Hello"), user("go on")]},
    ],
)
def test_what_no_turn_that_runs_could_take_waits_as_in_a_queue(chat: Chat, more: Json) -> None:
    calling(chat, WAITS)

    answer = chat.post({"messages": [user("go on")], "on_busy": "steer", **more})

    assert (answer.status_code, answer.json()["status"]) == (202, "queued")
    assert "steers" not in answer.json()
    assert chat.read("/queue")["items"][0]["steers"] is None
    interrupt(chat)


@ON_ONE_DATABASE
def test_a_head_that_it_claims_is_compared_as_ever(chat: Chat) -> None:
    turn_id = calling(chat)
    head = {name: chat.read()["head"][name] for name in ("history_version", "fingerprint")}
    ahead = {**head, "history_version": head["history_version"] + 100}
    assert problem(chat.say("no", on_busy="steer", head=ahead))[:2] == (409, "head-ahead-of-log")
    assert steered(chat, "yes", head=head)["steers"] == turn_id
    chat.ended(turn_id)


def test_the_same_message_is_said_once_and_asked_again_it_gets_its_turn(chat: Chat) -> None:
    calling(chat, WAITS)
    body = {"messages": [user("Hello", message_id="m1")], "on_busy": "steer"}
    first, again = chat.post(body), chat.post(body)
    assert (first.status_code, again.status_code) == (202, 202)
    interrupt(chat)
    eventually(lambda: chat.read("/queue")["items"], lambda items: items == [])
    assert chat.texts().count("Hello") == 1

    turn_id = calling(chat)
    steered_body = {"messages": [user("Again", message_id="m2")], "on_busy": "steer"}
    assert chat.post(steered_body).json()["steers"] == turn_id
    chat.ended(turn_id)
    assert told(chat.post(steered_body))["turn_id"] == turn_id
    other = {"messages": [user("Other", message_id="m2")]}
    assert problem(chat.post(other))[:2] == (409, "message-exists")


@ON_ONE_DATABASE
def test_a_key_is_answered_with_the_turn_that_it_steered(chat: Chat) -> None:
    turn_id, key = calling(chat), {"Idempotency-Key": "k"}
    assert chat.say("Hello", key, on_busy="steer").status_code == 202
    chat.ended(turn_id)
    again = chat.say("Hello", key, on_busy="steer")
    assert (told(again)["turn_id"], again.headers["idempotent-replayed"]) == (turn_id, "true")


def taken_back(chat: Chat, queue_id: str) -> str:
    """Try to take an input back; return what that says became of it."""
    answer = chat.client.delete(f"{chat.path}/queue/{queue_id}")
    if answer.status_code == 200:
        return "input-recalled"
    assert problem(answer)[:2] == (409, "input-started")
    return "input-dequeued"


def interrupt(chat: Chat) -> None:
    """Stop whatever runs."""
    chat.client.post(f"{chat.path}/interrupt", json={})


def test_it_is_told_or_taken_back_and_never_both_nor_neither(chat: Chat) -> None:
    """Both happen as near to each other as they come: between two short calls, or at an end."""
    won: dict[str, str] = {}
    texts: dict[str, str] = {}
    with ThreadPoolExecutor(2) as both:
        for number in range(ROUNDS):
            ends = number % 4 == 0
            turn_id = calling(chat, WAITS if ends else f'tool: wait {{"ms": {5 * number}}}')
            answer = chat.say(f"number {number}", on_busy="steer")
            queue_id = answer.json().get("queue_id")
            if queue_id is not None:
                texts[queue_id] = f"number {number}"
                trial = both.submit(taken_back, chat, queue_id)
                if ends:
                    both.submit(interrupt, chat).result()
                won[queue_id] = trial.result()
            chat.ended(turn_id)
            eventually(lambda: chat.read("/queue")["items"], lambda items: items == [])
            eventually(lambda: chat.read("/turns")["items"], none_runs)
    found, said = became(chat), chat.texts()
    assert {queue_id: ["input-queued", last] for queue_id, last in won.items()} == found
    counts = {queue_id: said.count(text) for queue_id, text in texts.items()}
    assert counts == {queue_id: int(last == "input-dequeued") for queue_id, last in won.items()}


def none_runs(turns: list[Json]) -> bool:
    """Tell whether all of these turns are over."""
    return all(turn["status"] != "running" for turn in turns)


def test_everything_that_was_accepted_is_seen_once(chat: Chat) -> None:
    """The queue, and the transcript as it was then, as a client reads them while both change."""
    ids = [f"m{n}" for n in range(6)]
    chat.begun(WAITS)
    for message_id in ids:
        body = {"messages": [user("Hello", message_id=message_id)], "on_busy": "queue"}
        assert chat.post(body).status_code == 202
    interrupt(chat)
    left = len(ids)
    while left:
        queue = chat.read("/queue")
        then = chat.read("/transcript", limit=200, at=queue["through_version"])
        waiting = [item["message_id"] for item in queue["items"]]
        said = [each["message_id"] for each in then["items"] if each["message_id"] in ids]
        assert said + waiting == ids
        left = len(waiting)


def test_the_queue_says_who_waits_since_when_and_for_what(chat: Chat) -> None:
    turn_id = calling(chat, WAITS)
    chat.post({"messages": [user("a", message_id="m1")], "on_busy": "queue"})
    chat.post({"messages": [user("b", message_id="m2")], "on_busy": "steer"})
    items = chat.read("/queue")["items"]
    queued = chat.events("input-queued")
    assert [(item["message_id"], item["steers"]) for item in items] == [
        ("m1", None),
        ("m2", turn_id),
    ]
    for item, event in zip(items, queued, strict=True):
        assert (item["version"], item["queued_at"]) == (event["version"], event["recorded_at"])
        assert item["by"] == event.get("actor")
    interrupt(chat)


@pytest.fixture
def url(databases: Databases) -> Iterator[str]:
    """A database of the test's own."""
    made = databases.ready()
    yield made
    databases.drop(made)


@contextmanager
def serving(kind: DatabaseKind, url: str) -> Generator[Chat]:
    """Serve a database, and talk in its session `s`; what runs at the end is stopped at once."""
    with served(kind, url, pool_shutdown_s="1") as running, running.client("default") as client:
        yield chat_at(running, client)


def test_another_server_has_it_told_where_the_turn_runs(
    url: str, database_kind: DatabaseKind
) -> None:
    with serving(database_kind, url) as chat, serving(database_kind, url) as elsewhere:
        turn_id = calling(opened(chat))
        assert steered(elsewhere, "remember a=7")["steers"] == turn_id
        assert chat.ended(turn_id)["status"] == "completed"
        assert chat.texts()[-2:] == ["remember a=7", "I will remember a."]
        assert words(chat.known()) == words(chat.transcript()[:-1])


def test_what_waits_outlives_the_server_and_nothing_overtakes_it(
    url: str, database_kind: DatabaseKind
) -> None:
    with serving(database_kind, url) as chat:
        calling(opened(chat), WAITS)
        chat.say("first", on_busy="queue")
        steered(chat, "second")
    with serving(database_kind, url) as chat:
        assert chat.say("third", on_busy="queue").status_code in {200, 202}
        texts = eventually(chat.texts, lambda texts: "third" in texts)
        said = [text for text in texts if text in {"first", "second", "third"}]
        assert said == ["first", "second", "third"]
