"""Writers at the same time, each with a connection of its own."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, Thread

import httpx
import pytest
from sqlalchemy import create_engine, make_url

from tests.api.batches import (
    Json,
    answered,
    append,
    batch,
    called,
    completed,
    event,
    events_of,
    problem,
    started,
    turn,
)
from tests.api.serving import PATIENCE_S, Served

ROUNDS = 5


def together(
    server: Served, project: str, sends: list[Callable[[httpx.Client], httpx.Response]]
) -> list[httpx.Response]:
    """Have every request start at the same moment; return the answers in the same order."""
    barrier = Barrier(len(sends))

    def go(send: Callable[[httpx.Client], httpx.Response]) -> httpx.Response:
        with server.client(project) as own:
            own.get("/sessions")
            barrier.wait(PATIENCE_S)
            return send(own)

    with ThreadPoolExecutor(len(sends)) as pool:
        return [answer.result(30) for answer in [pool.submit(go, send) for send in sends]]


def sender(session_id: str, body: Json) -> Callable[[httpx.Client], httpx.Response]:
    return lambda client: append(client, session_id, body)


def test_of_two_appends_that_expect_the_same_version_one_is_taken(
    client: httpx.Client, server: Served, project: str
) -> None:
    append(client, "s", batch(1, *turn("t0")))
    for number in range(1, ROUNDS + 1):
        version = client.get("/sessions/s").json()["head"]["version"]
        bodies = [
            batch(number, *turn(f"t{number}-{name}"), producer=name, expected_version=version)
            for name in ("a", "b")
        ]
        answers = together(server, project, [sender("s", body) for body in bodies])

        assert sorted(answer.status_code for answer in answers) == [201, 412]
        [late] = [answer for answer in answers if answer.status_code == 412]
        assert problem(late) == (412, "version-mismatch", [])
        assert late.json()["current_version"] == version + 3
        loser = bodies[answers.index(late)]
        del loser["expected_version"]
        assert append(client, "s", loser).status_code == 201
    versions = [item["version"] for item in events_of(client, "s")]
    assert versions == list(range(1, 4 + 6 * ROUNDS + 1))


def test_results_that_arrive_at_the_same_time_are_all_kept(
    client: httpx.Client, server: Served, project: str
) -> None:
    calls = [f"c{number}" for number in range(8)]
    append(client, "s", batch(1, started("t1"), *(called("t1", call) for call in calls)))

    answers = together(
        server,
        project,
        [sender("s", batch(1, answered("t1", call, call), producer=call)) for call in calls],
    )

    assert [answer.status_code for answer in answers] == [201] * 8
    recorded = events_of(client, "s")
    assert [item["version"] for item in recorded] == list(range(1, 19))
    assert {item["data"]["tool_call_id"] for item in recorded[-8:]} == set(calls)
    assert append(client, "s", batch(2, completed("t1"))).status_code == 201


def test_producers_in_sessions_of_their_own_do_not_disturb_each_other(
    client: httpx.Client, server: Served, project: str
) -> None:
    def turns_of(name: str) -> Callable[[httpx.Client], httpx.Response]:
        def send(own: httpx.Client) -> httpx.Response:
            for number in range(1, ROUNDS + 1):
                body = batch(number, *turn(f"t{number}", name), producer=name)
                assert append(own, name, body).status_code == 201
            return own.get(f"/sessions/{name}")

        return send

    names = [f"runner-{number}" for number in range(8)]
    together(server, project, [turns_of(name) for name in names])

    for name in names:
        recorded = events_of(client, name)
        assert [item["version"] for item in recorded] == list(range(1, 2 + 3 * ROUNDS))
        texts = {str(item["data"]["messages"]) for item in recorded if "messages" in item["data"]}
        assert len(texts) == 1
        assert name in texts.pop()


def test_a_session_that_many_open_at_the_same_time_is_opened_once(
    client: httpx.Client, server: Served, project: str
) -> None:
    for number in range(ROUNDS):
        body = {"session_id": f"s{number}", "title": "T"}

        def send(own: httpx.Client, body: Json = body) -> httpx.Response:
            return own.post("/sessions", json=body)

        answers = together(server, project, [send] * 6)

        assert sorted(answer.status_code for answer in answers) == [200] * 5 + [201]
        assert len(events_of(client, f"s{number}")) == 1


def test_batches_that_open_a_session_at_the_same_time_are_all_taken(
    client: httpx.Client, server: Served, project: str
) -> None:
    for number in range(ROUNDS):
        noted = [
            batch(1, event("data-recorded", kind="k", data=name), producer=name)
            for name in ("a", "b", "c", "d")
        ]
        answers = together(server, project, [sender(f"s{number}", body) for body in noted])

        assert [answer.status_code for answer in answers] == [201] * 4
        recorded = events_of(client, f"s{number}")
        assert [item["type"] for item in recorded] == ["session-opened"] + ["data-recorded"] * 4


def test_one_batch_sent_many_times_at_once_is_taken_once(
    client: httpx.Client, server: Served, project: str
) -> None:
    for number in range(1, ROUNDS + 1):
        body = batch(number, *turn(f"t{number}"))
        answers = together(server, project, [sender("s", body)] * 6)

        assert [answer.status_code for answer in answers] == [201] * 6
        assert len({str(answer.json()["events"]) for answer in answers}) == 1
        assert sum("idempotent-replayed" in answer.headers for answer in answers) == 5
    assert len(events_of(client, "s")) == 1 + 3 * ROUNDS


def test_a_producer_that_is_fenced_meanwhile_writes_nothing_after_the_mint(
    server: Served, project: str
) -> None:
    def mint(own: httpx.Client) -> httpx.Response:
        return own.post("/producers/runner/epochs", json={})

    sends = [sender(f"s{number}", batch(1, started("t1"))) for number in range(6)]
    *answers, minted = together(server, project, [*sends, mint])

    left = {turn["session_id"] for turn in minted.json()["open_turns"]}
    taken = {f"s{number}" for number in range(6) if answers[number].status_code == 201}
    assert left == taken
    for answer in answers:
        assert answer.status_code == 201 or problem(answer)[1] == "fenced"


def test_a_rename_meanwhile_makes_another_version_and_no_other_history(
    client: httpx.Client,
) -> None:
    seen = append(client, "s", batch(1, *turn("t1"))).json()["head"]
    client.patch("/sessions/s", json={"title": "renamed"})

    by_version = batch(2, *turn("t2"), expected_version=seen["version"])
    refused = append(client, "s", by_version)
    assert problem(refused) == (412, "version-mismatch", [])
    assert refused.json()["current_version"] == seen["version"] + 1
    claim = {name: seen[name] for name in ("history_version", "fingerprint")}
    assert append(client, "s", batch(2, *turn("t2"), head=claim)).status_code == 201


# PostgreSQL's writers do not exclude each other.
@pytest.mark.parametrize("database_kind", ["sqlite"])
def test_a_database_that_another_process_writes_to_is_waited_for(
    own_server: Served, project: str
) -> None:
    engine = create_engine(make_url(own_server.database_url))
    locked, go_on = Event(), Event()

    def hold() -> None:
        with engine.connect() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            locked.set()
            go_on.wait(PATIENCE_S)
            connection.exec_driver_sql("ROLLBACK")

    holder = Thread(target=hold)
    holder.start()
    with own_server.client(project) as client, ThreadPoolExecutor(1) as pool:
        assert locked.wait(PATIENCE_S)
        waiting = pool.submit(append, client, "s", batch(1, *turn("t1")))
        with own_server.client(project) as reader:
            assert reader.get("/sessions").json()["items"] == []
        assert not waiting.done()
        go_on.set()
        assert waiting.result(10).status_code == 201
    holder.join()
    engine.dispose()
