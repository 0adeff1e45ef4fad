"""A turn has one owner; when its lease is over, another runner goes on, and the first is fenced."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import cast

import httpx
import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from infrastructure.composition import Turnlog, open_turnlog
from infrastructure.run_rows import SECOND
from infrastructure.settings import load
from tests.api.batches import Json, append, batch, called, event, events_of, problem, types_of
from tests.api.runners import Runner, approved, user

START = 1_800_000_000 * SECOND


@dataclass
class Clock:
    """A clock that stands still until somebody moves it."""

    now: int = START

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pair(clock: Clock, database_url: str) -> Iterator[tuple[Runner, Runner]]:
    """Two runners at a server that looks after nothing by itself."""
    settings = load(
        {
            "TURNLOG_DATABASE_URL": database_url,
            "TURNLOG_ALLOW_UNSAFE_DURABILITY": "true",
            "TURNLOG_ALLOW_UNVERIFIED_TURNS": "true",
        }
    )
    with open_turnlog(settings, clock) as log, closing(client_of(log)) as client:
        yield Runner(client, "one").open(), Runner(client, "two")


def client_of(log: Turnlog) -> httpx.Client:
    """Return a client, which is one of another copy of the library; no lifespan begins."""
    base = "http://127.0.0.1/v1/projects/default/"
    return cast("httpx.Client", TestClient(create_app(log), base_url=base))


def beat(runner: Runner) -> tuple[int, str | None]:
    path = f"/sessions/s/turns/{runner.turn_id}/heartbeat"
    answer = runner.http.post(path, json={"fence": runner.fence})
    return answer.status_code, answer.json().get("code")


def test_new_text_takes_over_from_a_runner_that_was_lost(
    pair: tuple[Runner, Runner], clock: Clock
) -> None:
    one, two = pair
    one.take(user("One?"))
    clock.now += 59 * SECOND
    assert problem(two.ask(user("Two?")))[:2] == (409, "turn-in-progress")
    clock.now += 2 * SECOND

    told = two.take(user("Two?"))
    assert (told["before"], told["path"], told["fence"]) == (["interrupt-lost"], "evicted", 2)
    assert [each["role"] for each in told["history"]["messages"]] == ["user"]
    late = one.write(event("turn-completed", turn_id=one.turn_id))
    assert problem(late)[:2] == (409, "fenced")
    assert beat(one) == (409, "turn-over")
    two.finish()
    turn = one.http.get("/sessions/s/turns/one-t1").json()
    assert (turn["status"], turn["reason"]) == ("interrupted", "owner-lost")


def test_who_is_heard_of_keeps_its_turn(pair: tuple[Runner, Runner], clock: Clock) -> None:
    one, two = pair
    one.take(user("One?"))
    for _ in range(3):
        clock.now += 50 * SECOND
        assert beat(one) == (200, None)
    assert problem(two.ask(user("Two?")))[:2] == (409, "turn-in-progress")
    one.finish()


def test_a_runner_that_comes_back_too_late_begins_anew(
    pair: tuple[Runner, Runner], clock: Clock
) -> None:
    one, _ = pair
    body = one.body(user("One?"))
    one.taken(one.send(body), "One?")
    clock.now += 61 * SECOND
    again = one.send(body).json()
    assert again["fence"] == 1  # nobody took it meanwhile
    one.finish()


def test_an_answer_to_a_turn_whose_holder_was_lost_goes_on_in_a_new_one(
    pair: tuple[Runner, Runner], clock: Clock
) -> None:
    one, two = pair
    one.take(user("One?"))
    first, second = one.wait_for("p1", "p2")
    one.take(answers=[approved(first)])
    clock.now += 61 * SECOND

    body: Json = two.body(answers=[approved(second)])
    told = two.taken(two.send(body))
    assert (told["decision"], told["before"]) == ("cold", ["take-answers", "interrupt-lost"])
    assert told["turn"]["turn_id"] == "two-t1"
    assert [each["gate_id"] for each in told["answers"]] == [second]
    again = two.send(body).json()
    for name in ("decision", "turn", "fence", "seat_id", "answers", "history"):
        assert again[name] == told[name], name
    two.finish()
    assert types_of(one.http, "s").count("turn-interrupted") == 1


def test_the_new_turn_answers_where_the_lost_one_would_have(
    pair: tuple[Runner, Runner], clock: Clock
) -> None:
    one, two = pair
    to = {"lane_id": "0f" * 16, "reply_to": "m1"}
    begun = event("turn-started", turn_id="t1", messages=[user("One?")], **to)
    gate = event("gate-opened", turn_id="t1", kind="permission", permission_id="p1")
    lost = batch(1, begun, called("t1", "c1"), gate, lease_s=60)
    assert append(one.http, "s", lost).status_code == 201
    clock.now += 61 * SECOND

    (waits,) = one.http.get("/sessions/s/approvals").json()["items"]
    two.take(answers=[approved(waits["gate_id"])])
    two.finish()
    turns = one.http.get("/sessions/s/turns").json()["items"]
    assert [(each["turn_id"], each["status"]) for each in turns] == [
        ("two-t1", "completed"),
        ("t1", "interrupted"),
    ]
    assert all(to.items() <= each.items() for each in turns)


def test_a_paused_turn_outlives_any_lease(pair: tuple[Runner, Runner], clock: Clock) -> None:
    one, _ = pair
    one.take(user("One?"))
    (gate,) = one.wait_for("p1")
    clock.now += 30 * 24 * 3_600 * SECOND
    told = one.take(answers=[approved(gate)])
    assert (told["decision"], told["fence"]) == ("resume", 2)
    one.call_ends("p1")
    one.finish()


def test_a_clock_that_steps_back_orders_nothing(pair: tuple[Runner, Runner], clock: Clock) -> None:
    one, _ = pair
    one.take(user("One?"))
    clock.now -= 3_600 * SECOND
    one.finish()
    assert one.take(user("Two?"))["decision"] == "resume"
    one.finish()
    times = [each["recorded_at"] for each in events_of(one.http, "s")]
    assert times == sorted(times)
