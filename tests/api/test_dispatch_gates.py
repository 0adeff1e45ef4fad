"""A runner's paused turn goes on with answers, from wherever they came, and each is told once."""

from threading import Thread

import httpx
import pytest

from tests.api.batches import Json, append, batch, event, events_of, problem, started, types_of
from tests.api.runners import Runner, approved, known, user
from tests.api.streams import frames


@pytest.fixture
def runner(client: httpx.Client) -> Runner:
    return Runner(client).open()


def facts(client: httpx.Client, *types: str) -> list[Json]:
    return [each["data"] for each in events_of(client, "s") if each["type"] in types]


def paused(runner: Runner, *names: str) -> list[str]:
    runner.take(user("One?"))
    return runner.wait_for(*names)


def test_a_paused_turn_goes_on_warm_with_its_answer(runner: Runner) -> None:
    (gate,) = paused(runner, "p1")
    fence = runner.fence or 0
    told = runner.take(answers=[approved(gate)])
    assert (told["decision"], told["continuation"]) == ("resume", "started")
    assert (told["before"], told["fence"]) == (["take-answers"], fence + 1)
    (answer,) = told["answers"]
    assert {name: answer[name] for name in ("gate_id", "permission_id", "tool_call_id")} == {
        "gate_id": gate,
        "permission_id": "p1",
        "tool_call_id": "call-p1",
    }
    assert answer["decision"]["verdict"] == "approved"
    runner.call_ends("p1")
    runner.finish()
    assert types_of(runner.http, "s")[6:9] == ["gate-decided", "harness-resumed", "gate-consumed"]


def test_an_answer_goes_by_any_of_its_names_and_with_edited_arguments(runner: Runner) -> None:
    paused(runner, "p1", "p2")
    edited = {**approved("call-p1"), "arguments": {"command": "ls"}, "option_id": "once"}
    told = runner.take(answers=[edited, {"gate": "p2", "verdict": "denied", "message": "No."}])
    assert [each["decision"]["verdict"] for each in told["answers"]] == ["approved", "denied"]
    assert told["answers"][0]["decision"]["arguments"] == {"command": "ls"}
    assert told["answers"][0]["decision"]["option_id"] == "once"
    assert told["answers"][1]["decision"]["message"] == "No."


def test_an_answer_comes_in_band_too(runner: Runner) -> None:
    (gate,) = paused(runner, "p1")
    part = {"type": "gate_answer", "gate": gate, "verdict": "approved"}
    answer = runner.ask({"role": "user", "content": [part]})
    assert answer.status_code == 201, answer.text
    told = runner.taken(answer)
    assert (told["decision"], told["answers"][0]["decision"]["via"]) == ("resume", "in-band")
    runner.call_ends("p1")
    runner.finish()


def test_the_first_of_two_answers_is_told_to_the_harness_that_waits(runner: Runner) -> None:
    one, two = paused(runner, "p1", "p2")
    first = runner.take(answers=[approved(one)])
    assert (first["decision"], first["continuation"]) == ("resume", "pending")
    assert [each["gate_id"] for each in first["answers"]] == [one]
    runner.call_ends("p1")
    runner.write(runner.parked("awaiting_approval"))
    second = runner.take(answers=[approved(two)])
    assert (second["decision"], second["continuation"]) == ("resume", "started")
    assert [each["gate_id"] for each in second["answers"]] == [two]


def test_without_its_harness_a_new_one_starts_with_the_last_answer(runner: Runner) -> None:
    one, two = paused(runner, "p1", "p2")
    runner.pool = {}
    first = runner.ask(answers=[approved(one)])
    told = runner.taken(first)
    assert (first.status_code, told["decision"], told["continuation"]) == (
        201,
        "pending",
        "pending",
    )
    assert "answers" not in told
    told = runner.take(answers=[approved(two)])
    assert (told["decision"], told["reason"]) == ("cold", "seat-lost")
    assert [each["gate_id"] for each in told["answers"]] == [two, one]
    assert [each["parts"][0]["type"] for each in told["history"]["messages"]] == [
        "text",
        "tool_call",
    ]
    for name in ("p1", "p2"):
        runner.call_ends(name)
    runner.finish()
    assert [each["seat_id"] for each in facts(runner.http, "gate-consumed")] == [
        runner.seat_id,
        runner.seat_id,
    ]


def test_a_decision_from_elsewhere_is_heard_of_and_gone_on_with(runner: Runner) -> None:
    (gate,) = paused(runner, "p1")
    heard: list[Json] = []
    types = "continuation-ready,interrupt-requested,seat-close-requested"
    stream = runner.http.stream("GET", "/events/stream", params={"types": types})
    with stream as response:
        answer = runner.http.post(f"/approvals/{gate}", json={"verdict": "approved"})
        assert answer.json()["continuation"] == {"status": "external", "turn_id": runner.turn_id}
        for frame in frames(response.iter_bytes()):
            if frame.name == "event":
                heard.append(frame.json)
                break
    assert heard[0]["type"] == "continuation-ready"
    assert heard[0]["session_id"] == "s"
    assert heard[0]["data"] == {"turn_id": runner.turn_id, "gate_ids": [gate]}

    told = runner.take(**{"continue": heard[0]["data"]["turn_id"]})
    assert (told["decision"], told["continuation"]) == ("resume", "started")
    assert told["answers"][0]["decision"]["verdict"] == "approved"
    runner.call_ends("p1")
    runner.finish()
    assert len(facts(runner.http, "gate-consumed")) == 1


def test_the_same_answers_again_go_on_with_it_too(runner: Runner) -> None:
    (gate,) = paused(runner, "p1")
    runner.http.post(f"/approvals/{gate}", json={"verdict": "approved"})
    told = runner.take(answers=[approved(gate)])
    assert (told["decision"], told["before"]) == ("resume", [])
    assert [each["gate_id"] for each in told["answers"]] == [gate]


def test_what_goes_on_already_is_not_begun_twice(runner: Runner) -> None:
    (gate,) = paused(runner, "p1")
    runner.take(answers=[approved(gate)])
    before = types_of(runner.http, "s")
    again = runner.ask(answers=[approved(gate)])
    assert (again.status_code, again.json()["decision"]) == (200, "started")
    assert again.json()["next_sequence"] == runner.sequence + 1
    live = runner.ask(**{"continue": runner.turn_id})
    assert (live.status_code, live.json()["decision"]) == (200, "live")
    other = Runner(runner.http, "runner-2").ask(**{"continue": runner.turn_id})
    assert (other.status_code, other.json()["decision"]) == (200, "external")
    assert types_of(runner.http, "s") == before


def test_nothing_is_to_tell_while_a_turn_waits_undecided(runner: Runner) -> None:
    paused(runner, "p1")
    told = runner.ask(**{"continue": runner.turn_id})
    assert (told.status_code, told.json()["decision"]) == (200, "pending")


def test_only_a_turn_that_runs_goes_on(runner: Runner) -> None:
    runner.take(user("One?"))
    runner.finish()
    refused = runner.ask(**{"continue": runner.turn_id})
    assert problem(refused)[:2] == (409, "turn-over")
    assert problem(runner.ask(**{"continue": "nothing"}))[:2] == (404, "no-such-turn")


def test_another_runner_takes_over_a_turn_that_waited(client: httpx.Client) -> None:
    one, two = Runner(client, "one").open(), Runner(client, "two")
    (gate,) = paused(one, "p1")
    told = two.take(answers=[approved(gate)])
    assert (told["decision"], told["reason"]) == ("cold", "other-owner")
    assert told["turn"]["turn_id"] == "one-t1"
    two.call_ends("p1")
    late = one.write(event("turn-completed", turn_id=one.turn_id))
    assert problem(late)[:2] == (409, "fenced")
    two.finish()
    assert facts(client, "seat-close-requested")[0]["owner"] == "one"


def test_an_answer_for_a_turn_that_another_runner_runs_is_its(client: httpx.Client) -> None:
    one, two = Runner(client, "one").open(), Runner(client, "two")
    one.take(user("One?"))
    asked = event("gate-opened", turn_id=one.turn_id, kind="input", permission_id="q")
    call = event(
        "tool-call-requested", turn_id=one.turn_id, tool_call_id="c", name="bash", arguments={}
    )
    one.write(call, asked)
    told = two.ask(answers=[{"gate": "q", "verdict": "answered", "answer": 4}])
    assert (told.status_code, told.json()["decision"]) == (201, "external")
    assert facts(client, "continuation-ready")[0]["turn_id"] == "one-t1"
    mine = one.ask(**{"continue": one.turn_id})
    assert (mine.status_code, mine.json()["decision"]) == (200, "live")


def test_answers_with_text_finish_the_turn_first(runner: Runner) -> None:
    (gate,) = paused(runner, "p1")
    told = runner.taken(runner.ask(user("And two?"), answers=[approved(gate)]))
    assert (told["decision"], told["rest"]) == ("resume", "text")
    assert told["turn"]["turn_id"] == "runner-1-t1"
    runner.call_ends("p1")
    runner.finish()
    runner.take(user("And two?"))
    runner.finish("Two.")
    assert known(runner.http)[-2:] == [("user", "And two?"), ("assistant", "Two.")]


def test_answers_with_text_that_could_not_begin_are_not_taken(runner: Runner) -> None:
    one, _ = paused(runner, "p1", "p2")
    refused = runner.ask(user("And two?"), answers=[approved(one)])
    assert problem(refused)[:2] == (409, "gate-open")
    assert runner.http.get(f"/approvals/{one}").json()["status"] == "open"


def test_an_interrupt_is_asked_of_the_runner(runner: Runner) -> None:
    runner.take(user("One?"))
    answer = runner.http.post("/sessions/s/interrupt", json={"reason": "enough"})
    assert (answer.status_code, answer.json()) == (202, {"delivered": False})
    (asked,) = facts(runner.http, "interrupt-requested")
    assert (asked["turn_id"], asked["reason"]) == (runner.turn_id, "enough")
    ended = runner.write(
        event("turn-interrupted", turn_id=runner.turn_id, reason="enough"), runner.parked()
    )
    assert ended.status_code == 201
    told = runner.take(user("Two?"))
    assert told["decision"] == "resume"


def test_a_turn_that_was_never_leased_is_gone_on_with_by_its_own_producer(
    client: httpx.Client,
) -> None:
    runner = Runner(client).open()
    asked = event("gate-opened", turn_id="t1", kind="permission", permission_id="p1")
    append(client, "s", batch(1, started("t1"), asked, producer="runner-1"))
    runner.sequence = 1
    client.post("/sessions/s/approvals/p1", json={"verdict": "approved"})
    other = Runner(client, "runner-2").ask(**{"continue": "t1"})
    assert other.json()["decision"] == "external"
    told = runner.take(**{"continue": "t1"})
    assert (told["decision"], told["turn"]["records"]) == ("cold", 3)
    assert [each["permission_id"] for each in told["answers"]] == ["p1"]


def test_two_that_go_on_at_once_are_told_apart(client: httpx.Client) -> None:
    one, two = Runner(client, "one").open(), Runner(client, "two")
    (gate,) = paused(one, "p1")
    client.post(f"/approvals/{gate}", json={"verdict": "approved"})
    answers: list[tuple[int, str]] = []

    def go_on(runner: Runner) -> None:
        answer = runner.ask(**{"continue": "one-t1"})
        answers.append((answer.status_code, answer.json()["decision"]))

    threads = [Thread(target=go_on, args=(each,)) for each in (one, two)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(status for status, _ in answers) == [200, 201]
    assert (200, "external") in answers
    assert len(facts(client, "gate-consumed")) == 1
