"""What waits for an answer outlives the harness, the server, a rewind and a transfer."""

from collections.abc import Iterator
from json import dumps

import pytest
from sqlalchemy import update

from infrastructure import tables as t
from infrastructure.appending import append_batch
from tests.api.batches import Json, append, batch, event, events_of, problem, started
from tests.api.chats import ADD, GAVE, Chat, chat_at, eventually, last_text, opened, told
from tests.api.serving import ON_ONE_DATABASE, Served, served
from tests.databases import DatabaseKind, Databases
from tests.infrastructure import writing


@pytest.fixture
def database(databases: Databases) -> Iterator[str]:
    """A database that one server after another serves."""
    url = databases.ready()
    yield url
    databases.drop(url)


def asking(chat: Chat, **data: object) -> str:
    """Have a runner ask something; return the gate's id."""
    gate = event("gate-opened", turn_id="t1", **{"kind": "permission", **data})
    answer = append(chat.client, chat.session_id, batch(1, started("t1"), gate))
    assert answer.status_code == 201, answer.text
    (found,) = chat.client.get(f"{chat.path}/approvals").json()["items"]
    gate_id: str = found["gate_id"]
    return gate_id


def test_an_open_gate_survives_a_restart_and_is_answered_after_it(
    database_kind: DatabaseKind, database: str
) -> None:
    with served(database_kind, database) as first, first.client("p") as client:
        chat = opened(chat_at(first, client))
        (gate,) = chat.asked()
        before = chat.client.get(f"/approvals/{gate}").json()

    with served(database_kind, database) as second, second.client("p") as client:
        chat = chat_at(second, client)
        found = chat.client.get(f"/approvals/{gate}").json()
        assert found | {"through_version": 0} == before | {"through_version": 0}
        assert problem(chat.decide("nothing"))[:2] == (404, "no-such-gate")

        decided = chat.decide(gate)

        assert (decided.status_code, decided.json()["continuation"]["status"]) == (202, "started")
        assert chat.ended(before["turn_id"])["status"] == "completed"
        assert [made.arguments for made in chat.made()] == [{"a": 1, "b": 2}]
        assert chat.texts() == [ADD, GAVE]
        assert chat.decide(gate).headers["idempotent-replayed"] == "true"
        assert problem(chat.decide(gate, "denied"))[:2] == (409, "gate-already-decided")


@ON_ONE_DATABASE
def test_a_client_that_comes_later_learns_of_it(chat: Chat) -> None:
    (gate,) = chat.asked()

    (listed,) = chat.read("/approvals")["items"]

    (opened_at,) = chat.events("gate-opened")
    assert (listed["gate_id"], listed["opened_version"]) == (gate, opened_at["version"])
    assert chat.read()["open_gates"] == 1
    call = chat.transcript()[-1]["parts"][0]
    assert call["gate"] == {"gate_id": gate, "status": "open"}


def test_a_gate_that_is_decided_where_nobody_goes_on_is_gone_on_with_later(
    database_kind: DatabaseKind, database: str
) -> None:
    # Nothing is kept: each answer needs a new harness.
    with (
        served(database_kind, database, pool_approval_ttl_s="0") as first,
        first.client("p") as client,
    ):
        chat = opened(chat_at(first, client))
        (gate,) = chat.asked()
        turn_id = chat.read("/turns")["items"][0]["turn_id"]
        assert chat.seat() is None
    _decide_without_server(database, gate)

    with served(database_kind, database) as second, second.client("p") as client:
        chat = chat_at(second, client)

        assert chat.ended(turn_id)["status"] == "completed"
        assert len(chat.made()) == 1
        assert len(chat.events("gate-consumed")) == 1


def _decide_without_server(url: str, gate: str) -> None:
    """Record a decision where nobody keeps a harness, or goes on with anything."""
    decided = {"gate_id": gate, "verdict": "approved", "decided_by": "person", "via": "out-of-band"}
    brought = writing.batch([writing.propose("gate-decided", dumps(decided).encode())], "panel")
    session = writing.target("s", "p")
    with writing.opened(url) as store:
        store.runner.run(
            lambda attempt: append_batch(store.handler, attempt, session, brought, writing.NOBODY)
        )


@ON_ONE_DATABASE
def test_an_answer_is_kept_although_no_harness_can_be_started_now(
    database_kind: DatabaseKind, database: str
) -> None:
    with (
        served(database_kind, database, pool_capacity="1", pool_wait_s="1") as running,
        running.client("p") as client,
    ):
        chat, other = (opened(chat_at(running, client, name)) for name in ("s", "other"))
        (gate,) = chat.asked()
        turn_id = chat.read("/turns")["items"][0]["turn_id"]
        client.delete(f"/pool/{chat.session_id}")
        other.begun("tool: wait {}")

        answer = chat.answer(gate)
        refused = chat.say("Hello", on_gate="withdraw")

        assert answer.status_code == 202
        continuation = answer.json()["continuation"]
        assert (continuation["status"], continuation["reason"]) == ("blocked", "pool-full")
        assert problem(refused)[0] in {409, 503}
        client.post(f"{other.path}/interrupt", json={})
        assert chat.ended(turn_id)["status"] == "completed"
        assert len(chat.made()) == 1


@ON_ONE_DATABASE
def test_an_expired_gate_takes_no_answer_and_says_so_once(chat: Chat) -> None:
    gate = asking(chat, expires_at="2020-01-01T00:00:00Z")

    answers = [chat.decide(gate), chat.decide(gate, "denied"), chat.answer(gate)]

    assert [problem(answer)[:2] for answer in answers] == [(410, "gate-gone")] * 3
    eventually(lambda: chat.events("gate-expired"), bool)
    assert problem(chat.decide(gate))[:2] == (410, "gate-gone")
    assert chat.client.get(f"/approvals/{gate}").json()["status"] == "expired"
    assert len(chat.events("gate-expired")) == 1
    assert chat.events("gate-decided") == []


def over(server: Served, gate: str) -> None:
    """Have the time of a gate be over."""
    server.log.runner.run(
        lambda attempt: attempt.connection.execute(
            update(t.gates).where(t.gates.c.gate_id == gate).values(expires_at=1)
        )
    )


def test_a_harness_that_waits_goes_on_as_if_denied_when_nobody_answers_in_time(
    own_server: Served,
) -> None:
    with own_server.client("p") as client:
        chat = opened(chat_at(own_server, client))
        (gate,) = chat.asked()

        over(own_server, gate)

        (ended,) = eventually(lambda: chat.events("turn-completed"), bool)
        assert chat.client.get(f"/approvals/{gate}").json()["status"] == "expired"
        types = [each["type"] for each in chat.events()]
        assert types.index("gate-expired") < types.index("harness-resumed")
        assert chat.events("gate-decided", "gate-consumed") == []
        assert chat.made() == []
        assert problem(chat.decide(gate))[:2] == (410, "gate-gone")
        assert chat.turn(ended["data"]["turn_id"])["status"] == "completed"
        assert chat.said("Hello")["path"] == "warm"


@ON_ONE_DATABASE
def test_a_gate_whose_time_is_over_in_a_turn_that_works_ends_alone(own_server: Served) -> None:
    with own_server.client("p") as client:
        chat = opened(chat_at(own_server, client))
        waits, adds = chat.asked('ask: wait {"for":"steer"}; add {"a":1,"b":2}')
        chat.decide(waits)
        eventually(chat.made, lambda made: len(made) == 1)

        over(own_server, adds)

        eventually(lambda: chat.events("gate-expired"), bool)
        (turn,) = chat.read("/turns")["items"]
        assert chat.say("go on", on_busy="steer").json()["steers"] == turn["turn_id"]
        assert chat.ended(turn["turn_id"])["status"] == "completed"
        assert [made.name for made in chat.made()] == ["wait"]
        statuses = [chat.read(f"/approvals/{gate}")["status"] for gate in (waits, adds)]
        assert statuses == ["allowed", "expired"]


@ON_ONE_DATABASE
def test_the_gate_of_a_runners_turn_is_the_runners_to_go_on_with(chat: Chat) -> None:
    gate = asking(chat, permission_id="p1", tool="bash", arguments={"command": "ls"})

    decided = chat.client.post(f"/approvals/{gate}", json={"verdict": "approved"})

    assert decided.json()["continuation"] == {"status": "external", "turn_id": "t1"}
    (ready,) = chat.events("continuation-ready")
    assert ready["data"] == {"turn_id": "t1", "gate_ids": [gate]}
    again = chat.client.post(f"/approvals/{gate}", json={"verdict": "approved"})
    assert again.json()["decision"] == decided.json()["decision"]
    assert len(chat.events("continuation-ready")) == 1


@ON_ONE_DATABASE
def test_a_kind_of_question_that_nobody_knows_is_kept_listed_and_answered(chat: Chat) -> None:
    options = [{"option_id": "x", "name": "Do x", "kind": "x_custom"}]
    gate = asking(chat, permission_id="p1", tool="x_custom", options=options)

    (listed,) = chat.client.get("/approvals").json()["items"]
    decided = chat.decide("p1", option_id="x")

    assert (listed["gate_id"], listed["options"]) == (gate, options)
    assert decided.json()["decision"]["option_id"] == "x"


@ON_ONE_DATABASE
def test_an_old_answer_is_no_answer_to_a_new_question(chat: Chat) -> None:
    (first,) = chat.asked()
    told(chat.answer(first))
    chat.client.post(f"{chat.path}/rewind", json={"turns": 1})

    (second,) = chat.asked()

    assert second != first
    assert len(chat.made()) == 1
    again = chat.answer(first)
    assert again.status_code == 200
    assert chat.client.get(f"/approvals/{second}").json()["status"] == "open"
    assert len(chat.made()) == 1
    assert last_text(told(chat.answer(second))) == GAVE


@ON_ONE_DATABASE
def test_an_approved_call_that_has_not_run_is_exported_as_answered(chat: Chat) -> None:
    (gate,) = chat.asked("ask: wait {}")
    chat.decide(gate)

    shown = chat.read("/transcript", format="ui")["messages"]
    parts = [part for message in shown for part in message["parts"]]
    (call,) = [part for part in parts if part["type"] == "tool-wait"]

    assert call["state"] == "approval-responded"
    assert call["approval"] == {"id": gate, "approved": True}
    for form in ("openai", "anthropic"):
        assert chat.read("/transcript", format=form)["messages"]
    chat.client.post(f"{chat.path}/interrupt", json={})


def test_an_open_gate_travels_with_its_session(
    chat: Chat, project: str, database_kind: DatabaseKind, database: str
) -> None:
    (gate,) = chat.asked()
    turn_id = chat.read("/turns")["items"][0]["turn_id"]
    exported = chat.client.get(f"{chat.path}/export").content

    with served(database_kind, database) as other, other.client(project) as client:
        imported = client.post(
            "/imports", content=exported, headers={"Content-Type": "application/x-ndjson"}
        )
        assert imported.is_success, imported.text
        there = Chat(client=client, session_id=chat.session_id, harnesses=other.harnesses)
        waiting: list[Json] = there.read("/approvals")["items"]
        assert [each["gate_id"] for each in waiting] == [gate]

        decided = there.decide(gate)

        assert decided.json()["continuation"]["status"] == "started", decided.text
        assert there.ended(turn_id)["status"] == "completed"
        assert events_of(client, chat.session_id)


def test_a_hosted_question_ends_by_itself_where_the_settings_say_so(
    database_kind: DatabaseKind, database: str
) -> None:
    with served(database_kind, database, gate_ttl_s="1") as server, server.client("p") as client:
        chat = opened(chat_at(server, client))
        (gate,) = chat.asked()

        found = client.get(f"/approvals/{gate}").json()
        assert found["expires_at"] > found["opened_at"]
        over = eventually(lambda: client.get(f"/approvals/{gate}").json(), is_expired)
        assert problem(chat.decide(gate))[0] == 410
        assert chat.ended(over["turn_id"])["status"] == "completed"
        assert chat.made() == []


def is_expired(gate: Json) -> bool:
    return bool(gate["status"] == "expired")
