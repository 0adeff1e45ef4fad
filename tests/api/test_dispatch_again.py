"""A dispatch whose answer was lost is asked again: the same turn, the same answer, run once."""

from base64 import b64encode
from typing import Any

import httpx
import pytest

from tests.api.batches import Json, append, batch, events_of, problem, said, started, types_of
from tests.api.runners import Runner, approved, known, user

REPLAYED = "Idempotent-Replayed"
SAME = ("decision", "path", "reason", "history_from", "evict", "seat_id", "fence", "turn")


@pytest.fixture
def runner(client: httpx.Client) -> Runner:
    return Runner(client).open()


def twice(runner: Runner, body: Json, **headers: str) -> tuple[Json, Json]:
    """Send the same twice; return both answers, and see to it that the second wrote nothing."""
    first = runner.send(body, **headers)
    before = types_of(runner.http, "s")
    second = runner.send(body, **headers)
    assert types_of(runner.http, "s") == before
    assert second.status_code == first.status_code, second.text
    assert REPLAYED not in first.headers
    assert second.headers[REPLAYED] == "true"
    return first.json(), second.json()


def assert_same(first: Json, second: Json, *more: str) -> None:
    for name in (*SAME, "next_sequence", *more):
        assert first.get(name) == second.get(name), name


def test_a_cold_start_again(runner: Runner) -> None:
    first, second = twice(runner, runner.body(user("One?")))
    assert_same(first, second, "history")
    assert second["fence"] == 1


def test_a_cold_start_again_is_told_the_same_history(runner: Runner) -> None:
    runner.take(user("One?"))
    runner.finish(park=False)
    first, second = twice(runner, runner.body(user("Two?"), rewind={"turns": 1}))
    assert_same(first, second, "history")
    assert first["history"]["messages"] == []
    other = runner.send(runner.body(user("Two?"), rewind={"to_turn": "runner-1-t1"}))
    assert problem(other)[:2] == (409, "record-conflict")


def test_a_warm_start_again_and_then_on(runner: Runner) -> None:
    runner.take(user("One?"))
    runner.finish()
    body = runner.body(user("Two?"))
    first, second = twice(runner, body)
    assert_same(first, second)
    runner.taken(runner.send(body), "Two?")
    runner.finish()
    assert known(runner.http)[-1] == ("assistant", "Yes.")


def test_answers_again(runner: Runner) -> None:
    runner.take(user("One?"))
    one, two = runner.wait_for("p1", "p2")
    runner.pool = {}
    body = runner.body(answers=[approved(one)])
    first, second = twice(runner, body)
    assert (first["decision"], second["decision"]) == ("pending", "pending")
    runner.sequence += 1
    first, second = twice(runner, runner.body(answers=[approved(two)]))
    assert_same(first, second, "history", "answers", "continuation")
    assert first["decision"] == "cold"


def test_going_on_again(runner: Runner) -> None:
    runner.take(user("One?"))
    (gate,) = runner.wait_for("p1")
    runner.http.post(f"/approvals/{gate}", json={"verdict": "approved"})
    first, second = twice(runner, runner.body(**{"continue": runner.turn_id}))
    assert_same(first, second, "answers", "continuation")


def test_a_waiting_input_again_waits_once(runner: Runner) -> None:
    runner.take(user("One?"))
    other = Runner(runner.http, "runner-2")
    first, second = twice(other, other.body(user("Two?"), on_busy="queue"))
    assert (first["decision"], first["queue_id"]) == ("queue", second["queue_id"])
    assert_same(first, second)


@pytest.mark.parametrize(
    "change",
    [
        {"messages": [user("Other?")]},
        {"messages": [], "answers": [{"gate": "g", "verdict": "approved"}]},
        {"owner": "somebody-else"},
        {"messages": [], "continue": "runner-1-t1"},
    ],
)
def test_something_else_under_a_number_that_was_used_is_a_conflict(
    runner: Runner, change: Json
) -> None:
    body = runner.body(user("One?"))
    runner.send(body)
    before = types_of(runner.http, "s")
    refused = runner.send({**body, **change})
    assert problem(refused)[:2] == (409, "record-conflict"), change
    assert types_of(runner.http, "s") == before


def test_another_turn_id_under_the_same_number_is_a_conflict(runner: Runner) -> None:
    body = runner.body(user("One?"))
    runner.send(body)
    body["begin"]["turn_id"] = "another"
    assert problem(runner.send(body))[:2] == (409, "record-conflict")


def test_a_batch_of_events_and_a_dispatch_share_their_numbers(runner: Runner) -> None:
    append(runner.http, "s", batch(1, started("t1"), producer="runner-1"))
    assert problem(runner.ask(user("One?")))[:2] == (409, "record-conflict")
    runner.sequence = 1
    append(runner.http, "s", batch(2, said("t1", "Hm."), producer="runner-1"))
    assert problem(runner.ask(user("One?")))[:2] == (409, "record-conflict")


def test_a_number_too_far_and_an_epoch_that_is_over_are_refused(runner: Runner) -> None:
    runner.sequence = 4
    refused = runner.ask(user("One?"))
    assert problem(refused)[:2] == (409, "sequence-gap")
    assert refused.json()["expected_sequence"] == 1
    runner.sequence = 0
    runner.http.post("/producers/runner-1/epochs", json={})
    refused = runner.ask(user("One?"))
    assert problem(refused)[:2] == (409, "fenced")
    assert refused.json()["current_epoch"] == 2
    body = runner.body(user("One?"))
    body["begin"]["producer"]["epoch"] = 3
    assert problem(runner.send(body))[:2] == (409, "unknown-epoch")


def test_a_later_epoch_says_where_the_one_before_stopped(runner: Runner) -> None:
    runner.take(user("One?"))
    runner.finish()
    runner.http.post("/producers/runner-1/epochs", json={})
    body = runner.body(user("Two?"))
    body["begin"]["producer"] |= {"epoch": 2, "sequence": 1}
    assert problem(runner.send(body))[:2] == (409, "sequence-gap")
    body["begin"]["producer"]["previous"] = {"epoch": 1, "sequence": 2}
    assert runner.send(body).json()["decision"] == "resume"


def test_an_idempotency_key_gets_the_same_and_no_other_request_does(runner: Runner) -> None:
    key = {"Idempotency-Key": "k1"}
    body = runner.body(user("One?"))
    first, second = twice(runner, body, **key)
    assert_same(first, second)
    other = {**body, "messages": [user("Other?")]}
    assert problem(runner.send(other, **key))[:2] == (422, "idempotency-key-reused")


def test_a_key_of_what_was_refused_can_come_again(runner: Runner) -> None:
    key = {"Idempotency-Key": "k1"}
    runner.take(user("One?"))
    other = Runner(runner.http, "runner-2")
    body = other.body(user("Two?"))
    assert problem(other.send(body, **key))[:2] == (409, "turn-in-progress")
    runner.finish()
    assert other.send(body, **key).json()["decision"] == "cold"


def test_a_message_that_began_a_turn_begins_no_other(runner: Runner) -> None:
    runner.take(user("One?", message_id="m1"))
    for _ in range(2):
        again = runner.ask(user("One?", message_id="m1"))
        assert (again.status_code, again.json()["decision"]) == (200, "started")
        assert again.json()["turn"]["turn_id"] == "runner-1-t1"
        assert again.json()["next_sequence"] == 2
    differs = runner.ask(user("Another?", message_id="m1"))
    assert problem(differs)[:2] == (409, "message-exists")
    runner.finish()
    assert types_of(runner.http, "s").count("turn-started") == 1


def test_after_somebody_took_over_the_first_fence_is_not_told_as_another(
    client: httpx.Client,
) -> None:
    one, two = Runner(client, "one").open(), Runner(client, "two")
    body = one.body(user("One?"))
    one.taken(one.send(body), "One?")
    two.take(user("Two?"), on_busy="interrupt")
    again = one.send(body).json()
    assert again["turn"]["turn_id"] == "one-t1"
    assert "fence" not in again


def test_a_connection_that_is_cut_before_the_answer_loses_nothing(runner: Runner) -> None:
    """The runner hangs up as soon as it has sent, and asks again."""
    body = runner.body(user("One?"))
    url = runner.http.base_url.join("sessions/s/dispatch")
    for _ in range(3):
        with pytest.raises(httpx.TimeoutException):
            runner.http.post(url, json=body, timeout=httpx.Timeout(10, read=0.000_1))
    told = runner.taken(runner.send(body), "One?")
    assert told["fence"] == 1
    runner.finish()
    assert types_of(runner.http, "s").count("turn-started") == 1


def test_what_waits_is_taken_up_by_its_runner(runner: Runner) -> None:
    runner.take(user("One?"))
    other = Runner(runner.http, "runner-2")
    queued = other.taken(other.ask(user("Two?"), on_busy="queue"))
    assert queued["decision"] == "queue"
    early = other.ask(queue_id=queued["queue_id"])
    assert problem(early)[:2] == (409, "turn-in-progress")
    runner.finish()

    body = other.body(queue_id=queued["queue_id"])
    first, second = twice(other, body)
    assert_same(first, second, "history")
    other.taken(other.send(body), "Two?")
    other.finish("Two.")
    assert known(runner.http)[-2:] == [("user", "Two?"), ("assistant", "Two.")]
    late = other.ask(queue_id=queued["queue_id"])
    assert problem(late)[:2] == (409, "input-started")
    assert problem(other.ask(queue_id="nothing"))[:2] == (404, "no-such-input")
    dequeued: list[Any] = [
        each["data"] for each in events_of(runner.http, "s") if each["type"] == "input-dequeued"
    ]
    assert dequeued == [{"queue_id": queued["queue_id"], "turn_id": other.turn_id}]


def test_no_other_program_takes_up_what_waits_for_a_runner(client: httpx.Client) -> None:
    """The server itself looks for waiting inputs every second."""
    one, two = Runner(client, "one").open(), Runner(client, "two")
    one.take(user("One?"))
    queued = two.taken(two.ask(user("Two?"), on_busy="queue"))
    one.finish()
    hosted = client.post("/sessions/s/turns", json={"messages": [user("Three?")]})
    assert hosted.json()["status"] == "completed"
    told = two.take(queue_id=queued["queue_id"])
    assert (told["decision"], told["reason"]) == ("cold", "other-owner")


@pytest.mark.parametrize(
    "content",
    [
        "long " * 40_000,
        [
            {"type": "text", "text": "See this."},
            {"type": "attachment", "attachment_id": "a1", "data": b64encode(b"x" * 9).decode()},
        ],
    ],
)
def test_long_texts_and_files_again(runner: Runner, content: object) -> None:
    message = {"role": "user", "content": content}
    first, second = twice(runner, runner.body(message))
    assert_same(first, second)
    other = runner.body({"role": "user", "content": "long " * 39_999})
    assert problem(runner.send(other))[:2] == (409, "record-conflict")
    runner.taken(runner.send(runner.body(message)))


def test_a_long_input_that_waits_again(runner: Runner) -> None:
    runner.take(user("One?"))
    other = Runner(runner.http, "runner-2")
    first, second = twice(other, other.body(user("long " * 40_000), on_busy="queue"))
    assert_same(first, second, "queue_id")
    differs = other.body(user("long " * 39_999), on_busy="queue")
    assert problem(other.send(differs))[:2] == (409, "record-conflict")
