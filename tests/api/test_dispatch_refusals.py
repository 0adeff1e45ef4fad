"""Whatever stands in the way of a dispatch is told as a problem, and leaves all as it was."""

import httpx
import pytest

from tests.api.batches import Json, append, batch, event, events_of, problem, started, types_of
from tests.api.runners import Runner, agent, approved, user
from tests.api.serving import ON_ONE_DATABASE


@pytest.fixture
def runner(client: httpx.Client) -> Runner:
    return Runner(client).open()


def refused(answer: httpx.Response) -> tuple[int, str, str]:
    status, code, _ = problem(answer)
    return status, code, answer.json()["action"]


def head(runner: Runner) -> Json:
    found: Json = runner.http.get("/sessions/s/readiness").json()["head"]
    return {name: found[name] for name in ("history_version", "fingerprint")}


def noted(runner: Runner) -> list[Json]:
    kinds = {"dispatch-refused", "gate-answer-refused"}
    return [each["data"] for each in events_of(runner.http, "s") if each["type"] in kinds]


def test_of_no_session_there_is_no_turn(client: httpx.Client) -> None:
    assert refused(Runner(client).ask(user("One?"))) == (404, "no-such-session", "give-up")
    runner = Runner(client).open()
    client.delete("/sessions/s")
    assert refused(runner.ask(user("One?"))) == (404, "no-such-session", "give-up")


@ON_ONE_DATABASE
def test_an_archived_session_takes_none(runner: Runner) -> None:
    runner.http.patch("/sessions/s", json={"archived": True})
    assert refused(runner.ask(user("One?"))) == (409, "session-archived", "refresh")
    assert noted(runner) == [{"code": "session-archived", "request": "minimal"}]


@ON_ONE_DATABASE
def test_claims_that_are_not_the_logs_are_told(runner: Runner) -> None:
    runner.take(user("One?"))
    runner.finish()
    stale = head(runner)
    runner.take(user("Two?"))
    runner.finish()
    now = head(runner)

    ahead = {**now, "history_version": now["history_version"] + 7}
    mismatch = {**now, "fingerprint": stale["fingerprint"]}
    assert refused(runner.ask(user("3?"), head=ahead))[:2] == (409, "head-ahead-of-log")
    assert refused(runner.ask(user("3?"), head=mismatch))[:2] == (409, "head-mismatch")
    behind = runner.ask(user("3?"), head=stale)
    assert refused(behind) == (412, "head-behind", "refresh")
    told = behind.json()
    assert [each["type"] for each in told["since"]] == ["turn-started", "message-recorded"]
    assert told["head"]["history_version"] == now["history_version"]

    assert runner.take(user("3?"), head=now)["decision"] == "resume"
    runner.finish()


def test_a_refusal_uses_up_no_number_and_leaves_the_seat_parked(runner: Runner) -> None:
    runner.take(user("One?"))
    runner.finish()
    stale = {**head(runner), "fingerprint": "0" * 64}
    for _ in range(2):
        assert refused(runner.ask(user("2?"), head=stale))[1] == "head-mismatch"
    told = runner.take(user("2?"))
    assert (told["decision"], told["next_sequence"]) == ("resume", 4)
    runner.finish()


def test_a_refusal_is_recorded_unless_it_was_only_tried(runner: Runner) -> None:
    runner.take(user("One?"))
    for more in ({"dry_run": True}, {"begin": False}, {}):
        assert refused(runner.ask(user("2?"), **more)) == (409, "turn-in-progress", "attach")
    assert noted(runner) == [{"code": "turn-in-progress", "request": "minimal"}] * 2
    runner.finish()


@ON_ONE_DATABASE
def test_while_a_turn_runs_it_is_told_whose(runner: Runner) -> None:
    runner.take(user("One?"))
    other = Runner(runner.http, "runner-2")
    told = other.ask(user("Two?")).json()
    assert (told["turn_id"], told["owner"]) == ("runner-1-t1", "runner-1")
    assert told["lease_until"] is not None
    assert told["explain"].startswith("Refused: ")
    runner.finish()


@ON_ONE_DATABASE
@pytest.mark.parametrize(
    ("gate", "status", "code"),
    [("nothing", 404, "no-such-gate"), ("call-p1", 409, "gate-already-decided")],
)
def test_answers_that_fit_no_open_gate_disturb_nothing(
    runner: Runner, gate: str, status: int, code: str
) -> None:
    runner.take(user("One?"))
    (first,) = runner.wait_for("p1")
    runner.take(answers=[approved(first)])
    answer = runner.ask(answers=[approved(gate, "denied")])
    assert refused(answer)[:2] == (status, code)
    assert noted(runner) == [{"code": code, "named": "gate_id"}]
    runner.call_ends("p1")
    runner.finish()


@ON_ONE_DATABASE
def test_a_gate_that_is_gone_says_so(runner: Runner) -> None:
    runner.take(user("One?"))
    (gate,) = runner.wait_for("p1")
    runner.http.post("/sessions/s/interrupt", json={})
    answer = runner.ask(answers=[approved(gate)])
    assert refused(answer)[:2] == (410, "gate-gone")
    assert answer.json()["gate_status"] == "withdrawn"


@ON_ONE_DATABASE
def test_a_name_that_two_open_gates_have_is_ambiguous(runner: Runner) -> None:
    runner.take(user("One?"))
    asked = event(
        "gate-opened",
        turn_id=runner.turn_id,
        kind="permission",
        permission_id="p",
        tool_call_id="c",
        tool="bash",
    )
    runner.write(asked, asked)
    assert refused(runner.ask(answers=[approved("p")]))[:2] == (409, "ambiguous-gate")


@ON_ONE_DATABASE
def test_new_text_before_an_open_gate_waits_for_its_answer(runner: Runner) -> None:
    runner.take(user("One?"))
    (gate,) = runner.wait_for("p1")
    answer = runner.ask(user("Two?"))
    assert refused(answer) == (409, "gate-open", "answer-gate")
    assert answer.json()["gate_id"] == gate

    told = runner.take(user("Two?"), on_gate="withdraw")
    assert told["before"] == ["withdraw-gates"]
    assert (told["decision"], told["reason"]) == ("cold", "history")
    runner.finish()
    turn = runner.http.get("/sessions/s/turns/runner-1-t1").json()
    assert (turn["status"], turn["reason"]) == ("interrupted", "superseded")


@ON_ONE_DATABASE
def test_a_turn_that_runs_can_be_interrupted_for_new_text(client: httpx.Client) -> None:
    one, two = Runner(client, "one").open(), Runner(client, "two")
    one.take(user("One?"))
    told = two.take(user("Two?"), on_busy="interrupt")
    assert told["before"] == ["interrupt-running"]
    lost = one.write(event("turn-completed", turn_id=one.turn_id))
    assert refused(lost)[:2] == (409, "fenced")
    two.finish()


def test_a_prior_that_differs_is_refused_or_adopted(runner: Runner) -> None:
    runner.take(user("One?"))
    runner.finish()
    prior = [user("Uno?"), agent("Yes.")]
    answer = runner.ask(*prior, user("Two?"), on_divergence="reject")
    assert refused(answer) == (409, "history-diverged", "refresh")
    assert answer.json()["difference"] == {"kind": "text", "index": 0, "client_index": 0}
    claims = runner.ask(*prior, user("Two?"), head=head(runner))
    assert refused(claims)[1] == "history-diverged"

    told = runner.take(*prior, user("Two?"), on_divergence="adopt")
    assert (told["decision"], told["reason"], told["before"]) == (
        "cold",
        "history",
        ["adopt-prior"],
    )
    assert [each["parts"][0]["text"] for each in told["history"]["messages"]] == ["Uno?", "Yes."]
    runner.finish()


@ON_ONE_DATABASE
def test_a_prior_that_is_only_the_beginning_is_behind(runner: Runner) -> None:
    for text in ("One?", "Two?"):
        runner.take(user(text))
        runner.finish()
    answer = runner.ask(user("One?"), agent("Yes."), user("2?"), on_divergence="reject")
    assert refused(answer)[:2] == (409, "history-behind")


def test_missing_history_is_asked_for_and_heals_the_session(runner: Runner) -> None:
    runner.take(user("One?"))
    runner.finish(park=False)
    loss = event("records-lost", count=None, reason="crashed")
    append(runner.http, "s", batch(1, loss, producer="other"))

    answer = runner.ask(user("Two?"))
    assert refused(answer) == (409, "history-not-ready", "send-full-history")
    assert answer.json()["reasons"] == ["records-lost"]

    window = runner.ask(agent("Yes."), user("Two?"))
    assert refused(window)[:2] == (409, "history-not-ready")

    full = [user("One?"), agent("Yes."), user("And?"), agent("That."), user("Two?")]
    told = runner.take(*full)
    assert (told["decision"], told["before"], told["history_from"]) == (
        "cold",
        ["assert-prior"],
        "client",
    )
    assert len(told["history"]["messages"]) == 4
    assert told["readiness"]["reasons"][0]["code"] == "turn-running"
    runner.finish()
    assert runner.take(user("Three?"))["decision"] == "resume"
    runner.finish()


@ON_ONE_DATABASE
def test_a_parked_harness_goes_on_though_the_log_is_not_ready(runner: Runner) -> None:
    runner.take(user("One?"))
    runner.finish()
    loss = event("records-lost", count=None, reason="crashed")
    append(runner.http, "s", batch(1, loss, producer="other"))
    told = runner.take(user("Two?"))
    assert (told["decision"], told["readiness"]["ready"]) == ("resume", False)


@ON_ONE_DATABASE
def test_a_turn_without_a_lease_is_left_to_who_runs_it(client: httpx.Client) -> None:
    runner = Runner(client).open()
    append(client, "s", batch(1, started("t1"), producer="plain"))
    assert refused(runner.ask(user("Two?")))[:2] == (409, "turn-in-progress")
    assert types_of(client, "s")[-1] == "dispatch-refused"
