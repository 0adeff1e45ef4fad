"""Clients that are behind, see only the end, or are wrong about all but the words."""

from time import monotonic

import httpx
import pytest

from domain.times import rfc3339
from infrastructure import clock
from tests.api.batches import Json, append, batch, event, problem, types_of
from tests.api.runners import Runner, agent, known, user
from tests.api.serving import PATIENCE_S


@pytest.fixture
def runner(client: httpx.Client) -> Runner:
    return Runner(client).open()


def talked(runner: Runner, turns: int = 4) -> list[Json]:
    """Have so many turns, and return them as a client tells of them."""
    told: list[Json] = []
    for number in range(1, turns + 1):
        runner.take(user(f"{number}?"))
        runner.finish(f"{number}.")
        told += [user(f"{number}?"), agent(f"{number}.")]
    return told


def head(runner: Runner) -> Json:
    found: Json = runner.http.get("/sessions/s/readiness").json()["head"]
    return {name: found[name] for name in ("history_version", "fingerprint")}


def test_a_tab_that_was_left_open_is_told_what_happened_since(runner: Runner) -> None:
    told = talked(runner, 1)
    stale = head(runner)
    talked(runner, 1)
    before = known(runner.http)
    minimal = runner.ask(user("From the tab"), head=stale)
    assert problem(minimal)[:2] == (412, "head-behind")
    full = runner.ask(*told, user("From the tab"), head=stale)
    assert problem(full)[:2] == (412, "head-behind")
    assert minimal.json()["action"] == "refresh"
    assert known(runner.http) == before

    fresh = minimal.json()["head"]
    claim = {name: fresh[name] for name in ("history_version", "fingerprint")}
    assert runner.take(user("From the tab"), head=claim)["decision"] == "resume"
    runner.finish()


def test_a_client_that_sends_the_last_messages_only_never_diverges(runner: Runner) -> None:
    told = talked(runner)
    for number in range(2):
        answer = runner.take(*told[-5:], user(f"More {number}?"))
        assert (answer["decision"], answer["before"]) == ("resume", [])
        runner.finish(f"More {number}.")
        told += [user(f"More {number}?"), agent(f"More {number}.")]
    assert known(runner.http) == [(each["role"], each["content"]) for each in told]
    assert "history-diverged" not in types_of(runner.http, "s")


@pytest.mark.parametrize("policy", ["default", "adopt", "reject"])
def test_the_last_messages_alone_heal_nothing(runner: Runner, policy: str) -> None:
    told = talked(runner)
    runner.pool = {}
    loss = event("records-lost", count=None, reason="crashed")
    append(runner.http, "s", batch(1, loss, producer="other"))
    refused = runner.ask(*told[-5:], user("More?"), on_divergence=policy)
    assert problem(refused)[:2] == (409, "history-not-ready")
    assert refused.json()["action"] == "send-full-history"
    assert not {"history-asserted", "history-rewound"} & set(types_of(runner.http, "s"))

    healed = runner.take(*told, user("More?"), on_divergence=policy)
    assert (healed["decision"], healed["before"]) == ("cold", ["settle-reasons"])
    assert len(healed["history"]["messages"]) == len(told)
    runner.finish()


def test_ids_and_times_of_a_client_are_no_history(runner: Runner) -> None:
    told = talked(runner, 2)
    for number, message in enumerate(told):
        message["message_id"] = f"mine-{97 - number}"
    answer = runner.take(*told, user("More?", message_id="mine-0"))
    assert (answer["decision"], answer["before"]) == ("resume", [])
    runner.finish()

    ui = [
        {
            "id": f"x{number}",
            "role": each["role"],
            "metadata": {"createdAt": "1970-01-01T00:00:00Z"},
            "parts": [{"type": "text", "text": each["content"]}],
        }
        for number, each in enumerate([*told, user("More?"), agent("Yes."), user("Again?")])
    ]
    answer = runner.take(*ui[:-1], {**ui[-1], "content": "Again?"}, format="ui")
    assert (answer["decision"], answer["before"]) == ("resume", [])
    runner.finish()


def test_two_messages_of_one_id_are_told_apart_by_what_they_say(runner: Runner) -> None:
    told = talked(runner, 2)
    same = [{**each, "message_id": "same"} for each in told]
    answer = runner.take(*same, user("More?"))
    assert answer["decision"] == "resume"
    runner.finish()


def test_a_first_turn_with_a_history_asserts_it(runner: Runner) -> None:
    answer = runner.take(user("Before?"), agent("Before."), user("Now?"))
    assert (answer["decision"], answer["history_from"]) == ("cold", "client")
    assert answer["before"] == ["assert-prior"]
    assert len(answer["history"]["messages"]) == 2
    runner.finish()
    assert runner.take(user("Then?"))["decision"] == "resume"
    runner.finish()


def test_instructions_before_anything_else_are_no_history(runner: Runner) -> None:
    told = talked(runner, 1)
    system = {"role": "system", "content": "Be brief."}
    assert runner.take(system, *told, user("More?"))["decision"] == "resume"
    runner.finish()
    assert runner.take(system, user("And more?"))["decision"] == "resume"
    runner.finish()


def test_a_fork_is_told_what_it_shares(runner: Runner) -> None:
    told = talked(runner, 2)
    forked = runner.http.post("/sessions/s/fork", json={"session_id": "f"})
    assert forked.status_code == 201
    other = Runner(runner.http, "runner-2", "f")
    first = other.body(user("And here?"))
    answer = other.taken(other.send(first), "And here?")
    assert (answer["decision"], answer["reason"]) == ("cold", "no-seat")
    assert len(answer["history"]["messages"]) == len(told)
    assert other.send(first).json()["history"] == answer["history"]
    other.finish()
    assert (
        other.take(*told, user("And here?"), agent("Yes."), user("More?"))["decision"] == "resume"
    )
    other.finish()


def test_a_gate_that_nobody_answered_in_time_is_gone_on_from(runner: Runner) -> None:
    runner.take(user("One?"))
    soon = rfc3339(clock.now() + 300_000)
    gate = event(
        "gate-opened",
        turn_id=runner.turn_id,
        kind="permission",
        permission_id="p1",
        expires_at=soon,
    )
    runner.write(gate, runner.parked("awaiting_approval"))
    runner.records += 1
    deadline = monotonic() + PATIENCE_S
    while runner.http.get("/sessions/s/approvals/p1").json()["status"] == "open":
        assert monotonic() < deadline
    told = runner.take(**{"continue": runner.turn_id})
    assert (told["decision"], "answers" in told) == ("resume", False)
    runner.finish()
