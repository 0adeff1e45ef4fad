"""Whoever dispatches at once: one turn begins, and each is told which, and whose."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import httpx

from tests.api.batches import Json, events_of, types_of
from tests.api.runners import Runner, approved, user
from tests.api.serving import PATIENCE_S, Served

AT_ONCE = 4
ROUNDS = 4


def at_once(runners: list[Runner], bodies: list[Json]) -> list[httpx.Response]:
    """Send every body at the same moment, each over a connection of its own."""
    barrier = Barrier(len(bodies))

    def send(runner: Runner, body: Json) -> httpx.Response:
        barrier.wait(PATIENCE_S)
        while (answer := runner.send(body)).status_code == 503:
            pass
        return answer

    with ThreadPoolExecutor(len(bodies)) as threads:
        return list(threads.map(send, runners, bodies))


def test_the_same_request_at_once_begins_one_turn(server: Served, project: str) -> None:
    clients = [server.client(project) for _ in range(AT_ONCE)]
    runners = [Runner(client) for client in clients]
    runners[0].open()
    for number in range(ROUNDS):
        runner = runners[number % AT_ONCE]
        for each in runners:
            each.sequence, each.pool = runner.sequence, runner.pool
        body = runner.body(user(f"{number}?"))
        answers = at_once(runners, [body] * AT_ONCE)
        assert {answer.status_code for answer in answers} == {201}
        told = [answer.json() for answer in answers]
        assert (
            len({(each["turn"]["turn_id"], each["fence"], each["seat_id"]) for each in told}) == 1
        )
        replays = [answer for answer in answers if "Idempotent-Replayed" in answer.headers]
        assert len(replays) == AT_ONCE - 1
        runner.taken(answers[0], f"{number}?")
        runner.finish()
        for each in runners:
            each.sequence, each.pool = runner.sequence, runner.pool
    assert types_of(clients[0], "s").count("turn-started") == ROUNDS
    for client in clients:
        client.close()


def test_of_several_runners_one_has_the_turn(server: Served, project: str) -> None:
    clients = [server.client(project) for _ in range(AT_ONCE)]
    runners = [Runner(client, f"r{n}") for n, client in enumerate(clients)]
    runners[0].open()
    fences: list[int] = []
    for number in range(ROUNDS):
        answers = at_once(runners, [each.body(user(f"{number}?")) for each in runners])
        statuses = Counter(answer.status_code for answer in answers)
        assert statuses == {201: 1, 409: AT_ONCE - 1}
        winner, answer = next(
            (each, answer)
            for each, answer in zip(runners, answers, strict=True)
            if answer.status_code == 201
        )
        for lost in answers:
            if lost is not answer:
                assert (lost.json()["code"], lost.json()["owner"]) == (
                    "turn-in-progress",
                    winner.name,
                )
        fences.append(winner.taken(answer, f"{number}?")["fence"])
        winner.finish()
    assert fences == list(range(1, ROUNDS + 1))
    for client in clients:
        client.close()


def test_one_gate_is_decided_once_by_several_answers(server: Served, project: str) -> None:
    clients = [server.client(project) for _ in range(AT_ONCE)]
    runners = [Runner(client, f"r{n}") for n, client in enumerate(clients)]
    runners[0].open()
    runners[0].take(user("One?"))
    (gate,) = runners[0].wait_for("p1")
    verdicts = ["approved", "denied"] * (AT_ONCE // 2)
    bodies = [
        each.body(answers=[approved(gate, verdict)])
        for each, verdict in zip(runners, verdicts, strict=True)
    ]
    answers = at_once(runners, bodies)
    told = [answer.json() for answer in answers]
    words = Counter(each["code"] if "code" in each else each["decision"] for each in told)
    assert words["gate-already-decided"] == AT_ONCE // 2, words
    assert words["resume"] + words["cold"] == 1, words
    kinds = Counter(each["type"] for each in events_of(clients[0], "s"))
    assert (kinds["gate-decided"], kinds["gate-consumed"]) == (1, 1)
    for client in clients:
        client.close()
