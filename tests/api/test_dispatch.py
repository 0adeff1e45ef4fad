"""Runners with a pool of their own get the decision, the turn and its lease by one call."""

import httpx
import pytest

from tests.api.batches import events_of, problem, types_of
from tests.api.runners import Runner, agent, approved, known, user
from tests.api.serving import ON_ONE_DATABASE


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
    assert (second["decision"], second["path"], second["reason"]) == ("resume", "warm", None)
    assert (second["seat_id"], second["history_from"]) == (first["seat_id"], "harness")
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


def test_what_a_dispatch_records_is_the_producers_batch_and_counts(runner: Runner) -> None:
    runner.take(user("One?"))
    runner.finish()
    stamps = [
        (each["producer"]["sequence"], each["type"])
        for each in events_of(runner.http, "s")
        if "producer" in each and each["producer"] is not None
    ]
    assert stamps[:2] == [(1, "turn-started"), (1, "harness-started")]
    assert {sequence for sequence, _ in stamps[2:]} == {2}
    turn = runner.http.get("/sessions/s/turns/runner-1-t1").json()
    assert (turn["status"], turn["path"], turn["history_from"]) == ("completed", "cold", "log")


@ON_ONE_DATABASE
def test_a_cold_runner_is_told_the_history_without_the_turns_own_input(runner: Runner) -> None:
    runner.take(user("One?"))
    runner.finish(park=False)
    told = runner.take(user("Two?"))
    messages = told["history"]["messages"]
    assert [(each["role"], each["parts"][0]["text"]) for each in messages] == [
        ("user", "One?"),
        ("assistant", "Yes."),
    ]
    runner.finish()


@pytest.mark.parametrize("form", ["openai", "anthropic", "ui"])
def test_the_history_comes_in_the_form_that_is_asked_for(runner: Runner, form: str) -> None:
    runner.take(user("One?"))
    runner.finish(park=False)
    asked = runner.ask(user("Two?"), history_format=form)
    told = asked.json()["history"]
    now = runner.http.get("/sessions/s/transcript", params={"format": form, "at": 6}).json()
    assert told["format"] == form
    assert told["messages"] == now["messages"]
    assert len(told["messages"]) == 2


@ON_ONE_DATABASE
def test_without_begin_it_is_told_and_nothing_recorded(runner: Runner) -> None:
    runner.take(user("One?"))
    runner.finish()
    before = types_of(runner.http, "s")
    for more in ({"begin": False}, {"dry_run": True}):
        answer = runner.ask(user("Two?"), **more)
        told = answer.json()
        assert (answer.status_code, told["decision"], told["path"]) == (200, "resume", "warm")
        assert told["explain"].startswith("Warm: ")
        assert not {"fence", "turn"} & told.keys()
    cold = runner.ask(user("Two?"), begin=False, seat=None).json()
    assert (cold["decision"], cold["evict"], cold["path"]) == ("cold", "seat-lost", "evicted")
    assert len(cold["history"]["messages"]) == 2
    assert types_of(runner.http, "s") == before


@ON_ONE_DATABASE
def test_a_full_request_that_agrees_is_warm(runner: Runner) -> None:
    runner.take(user("One?"))
    runner.finish()
    told = runner.take(user("One?"), agent("Yes."), user("Two?"))
    assert (told["decision"], told["before"]) == ("resume", [])
    runner.finish()


@ON_ONE_DATABASE
def test_another_configuration_lets_the_parked_harness_go(runner: Runner) -> None:
    runner.take(user("One?"))
    runner.finish()
    same = runner.take(user("Two?"), config_fingerprint="c1")
    assert same["decision"] == "resume"
    runner.finish()
    told = runner.take(user("Three?"), config_fingerprint="c2")
    assert (told["decision"], told["reason"], told["evict"]) == ("cold", "config", "config")
    assert told["seat_id"] != same["seat_id"]
    assert told["turn"]["records"] == 3
    runner.finish()
    explained = runner.http.get("/sessions/s/turns/runner-1-t5/explain").json()
    assert (explained["path"], explained["reason"]) == ("evicted", "config")


@ON_ONE_DATABASE
def test_facets_tell_what_differs(runner: Runner) -> None:
    runner.take(user("One?"))
    runner.finish()
    facets = {"config_facets": {"model": "a", "tools": "b"}}
    told = runner.ask(
        user("Two?"), begin=False, applied_facets={"model": "x", "tools": "b"}, **facets
    ).json()
    assert (told["reason"], "model" in told["explain"]) == ("config", True)
    told = runner.ask(
        user("Two?"), begin=False, applied_facets={"model": "a", "tools": "b"}, **facets
    ).json()
    assert told["decision"] == "resume"


@ON_ONE_DATABASE
@pytest.mark.parametrize("epoch", ["expired", "rotated", "expiring"])
def test_credentials_that_do_not_hold_let_it_go(runner: Runner, epoch: str) -> None:
    runner.take(user("One?"))
    runner.finish()
    told = runner.take(user("Two?"), credentials_epoch=epoch)
    assert (told["reason"], told["path"]) == (f"credentials-{epoch}", "evicted")
    runner.finish()


@ON_ONE_DATABASE
@pytest.mark.parametrize(
    ("seat", "reason"),
    [
        ({"alive": False}, "process-died"),
        ({"state": "busy"}, "not-parked"),
    ],
)
def test_a_harness_that_cannot_be_prompted_is_let_go(
    runner: Runner, seat: dict[str, object], reason: str
) -> None:
    runner.take(user("One?"))
    runner.finish()
    told = runner.take(user("Two?"), seat={"seat_id": runner.seat_id, **seat})
    assert (told["decision"], told["reason"]) == ("cold", reason)
    runner.finish()
    (gone,) = [each for each in events_of(runner.http, "s") if each["type"] == "harness-evicted"]
    assert (gone["data"]["reason"], gone["data"]["owner"]) == (reason, "runner-1")


@ON_ONE_DATABASE
def test_a_harness_of_its_own_that_is_not_named_any_more_is_lost(runner: Runner) -> None:
    runner.take(user("One?"))
    runner.finish()
    runner.pool = {}
    told = runner.take(user("Two?"))
    assert (told["path"], told["reason"]) == ("evicted", "seat-lost")
    runner.finish()


def test_a_rewind_travels_with_the_new_text(runner: Runner) -> None:
    runner.take(user("One?"))
    runner.finish()
    told = runner.take(user("Uno?"), rewind={"turns": 1})
    assert (told["decision"], told["reason"], told["before"]) == ("cold", "history", ["rewind"])
    assert told["history"]["messages"] == []
    runner.finish()
    assert known(runner.http) == [("user", "Uno?"), ("assistant", "Yes.")]


@ON_ONE_DATABASE
def test_a_first_turn_in_a_seat_that_the_runner_names(runner: Runner) -> None:
    body = runner.body(user("One?"))
    body["begin"]["seat_id"] = "seat-of-mine"
    assert runner.taken(runner.send(body), "One?")["seat_id"] == "seat-of-mine"
    runner.finish()
    (seat,) = runner.http.get("/pool").json()["seats"]
    assert (seat["seat_id"], seat["owner"], seat["here"]) == ("seat-of-mine", "runner-1", False)


def test_other_harnesses_are_asked_to_close_when_they_were_bypassed(client: httpx.Client) -> None:
    one, two = Runner(client, "one").open(), Runner(client, "two")
    one.take(user("One?"))
    one.finish()
    told = two.take(user("Two?"))
    assert (told["decision"], told["reason"], told["path"]) == ("cold", "other-owner", "evicted")
    two.finish()
    (asked,) = [each for each in events_of(client, "s") if each["type"] == "seat-close-requested"]
    assert asked["data"] == {"seat_id": one.seat_id, "owner": "one", "reason": "other-owner"}

    told = one.take(user("Three?"))
    assert (told["decision"], told["reason"]) == ("cold", "history")
    one.finish()


@ON_ONE_DATABASE
def test_a_hosted_turn_after_a_runners_is_its_own(client: httpx.Client) -> None:
    runner = Runner(client).open()
    runner.take(user("remember colour=green"))
    runner.finish("Noted.")
    hosted = client.post("/sessions/s/turns", json={"messages": [user("what is colour?")]})
    assert (hosted.json()["status"], hosted.json()["path"]) == ("completed", "evicted")
    told = runner.take(user("Next?"))
    assert (told["decision"], told["reason"]) == ("cold", "history")
    runner.finish()


@ON_ONE_DATABASE
def test_new_text_needs_a_turn_id_and_names_are_names(runner: Runner) -> None:
    for place, change in (
        ("/begin/turn_id", {"turn_id": None}),
        ("/begin/turn_id", {"turn_id": "../x"}),
        ("/begin/seat_id", {"seat_id": "a b"}),
    ):
        body = runner.body(user("One?"))
        body["begin"] |= change
        assert problem(runner.send(body)) == (422, "invalid-value", [place])
    body = runner.body(user("One?"), owner="\x00")
    assert problem(runner.send(body)) == (422, "invalid-value", ["/owner"])
    for more in ({"continue": "t1"}, {"queue_id": "q"}):
        refused = runner.ask(user("One?"), **more)
        assert problem(refused) == (422, "invalid-value", ["/messages"])
    assert problem(runner.ask())[:2] == (422, "invalid-value")


@ON_ONE_DATABASE
def test_readiness_and_path_are_headers_too(runner: Runner) -> None:
    answer = runner.ask(user("One?"))
    assert answer.headers["Turnlog-Path"] == "cold"
    assert answer.headers["Turnlog-Ready"] == "?0"
    assert answer.headers["ETag"] == f'"{answer.json()["head"]["version"]}"'


@ON_ONE_DATABASE
def test_an_answer_alone_needs_no_begin_to_be_judged(runner: Runner) -> None:
    runner.take(user("One?"))
    (gate,) = runner.wait_for("p1")
    told = runner.ask(answers=[approved(gate)], begin=False).json()
    assert (told["decision"], told["continuation"]) == ("resume", "started")
    assert runner.http.get(f"/approvals/{gate}").json()["status"] == "open"
