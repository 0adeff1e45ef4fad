"""Runners with a pool of their own get the decision, the turn and its lease by one call."""

import httpx
import pytest

from tests.api.batches import types_of
from tests.api.runners import Runner, approved, user


@pytest.fixture
def runner(client: httpx.Client) -> Runner:
    return Runner(client).open()


def test_a_first_turn_is_cold_and_the_next_one_warm(runner: Runner) -> None:
    first = runner.take(user("One?"))
    assert (first["decision"], first["reason"], first["path"]) == ("cold", "no-seat", "cold")
    assert (first["history_from"], first["evict"], first["before"]) == ("log", None, [])
    assert first["history"] == {
        "format": "turnlog",
        "messages": [],
        "losses": [],
        "through_version": 1,
    }
    assert first["turn"] == {"turn_id": "runner-1-t1", "records": 2}
    assert (first["fence"], first["next_sequence"]) == (1, 2)
    runner.finish()

    second = runner.take(user("Two?"))
    assert (second["decision"], second["path"], second["seat_id"]) == (
        "resume",
        "warm",
        first["seat_id"],
    )
    assert "history" not in second
    assert second["fence"] == 2
    runner.finish()
    assert types_of(runner.http, "s") == [
        "session-opened",
        *["turn-started", "harness-started"],
        *["message-recorded", "turn-completed", "harness-parked"],
        *["turn-started", "harness-resumed"],
        *["message-recorded", "turn-completed", "harness-parked"],
    ]


def test_a_paused_turn_goes_on_with_answers(runner: Runner) -> None:
    runner.take(user("One?"))
    (gate,) = runner.wait_for("p1")
    told = runner.take(answers=[approved(gate)])
    assert (told["decision"], told["continuation"]) == ("resume", "started")
    assert told["before"] == ["take-answers"]
    (answer,) = told["answers"]
    assert (answer["gate_id"], answer["permission_id"], answer["tool_call_id"]) == (
        gate,
        "p1",
        "call-p1",
    )
    assert answer["decision"]["verdict"] == "approved"
    runner.call_ends("p1")
    runner.finish()
    assert types_of(runner.http, "s")[6:9] == ["gate-decided", "harness-resumed", "gate-consumed"]
