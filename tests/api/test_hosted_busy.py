"""New text while a turn runs: refused with who holds it, or in its place if that is asked for."""

from tests.api.batches import append, batch, problem, started
from tests.api.chats import Chat, eventually, last_text, told
from tests.api.serving import ON_ONE_DATABASE

WAITS = "tool: wait {}"


@ON_ONE_DATABASE
def test_a_turn_that_runs_is_never_disturbed_unasked(chat: Chat) -> None:
    running = chat.begun(WAITS)

    answer = chat.say("Hello")

    assert problem(answer)[:2] == (409, "turn-in-progress")
    assert (answer.json()["turn_id"], answer.json()["action"]) == (running, "attach")
    assert answer.json()["owner"].startswith("host-")
    assert answer.json()["lease_until"] is not None
    assert chat.turn(running)["status"] == "running"
    (refused,) = chat.events("dispatch-refused")
    assert refused["data"]["code"] == "turn-in-progress"


@ON_ONE_DATABASE
def test_new_text_takes_its_place_if_that_is_asked_for(chat: Chat) -> None:
    running = chat.begun(WAITS)

    turn = told(chat.say("Hello", on_busy="interrupt"))

    assert (turn["status"], last_text(turn)) == ("completed", 'Message 2: you said "Hello".')
    over = chat.turn(running)
    assert (over["status"], over["reason"]) == ("interrupted", "superseded")


def test_a_runners_turn_is_refused_with_its_holder(chat: Chat) -> None:
    append(chat.client, chat.session_id, batch(1, started("t1"), lease_s=60))

    answer = chat.say("Hello")

    assert problem(answer)[:2] == (409, "turn-in-progress")
    assert (answer.json()["turn_id"], answer.json()["owner"]) == ("t1", "runner")


def test_interrupt_stops_what_runs_and_keeps_what_was_said(chat: Chat) -> None:
    running = chat.begun("First this.\n" + WAITS)
    eventually(lambda: chat.events("tool-call-requested"), lambda found: len(found) == 1)

    stopped = chat.client.post(f"{chat.path}/interrupt", json={"reason": "enough"})

    assert (stopped.status_code, stopped.json()) == (202, {"delivered": True})
    turn = chat.turn(running)
    assert (turn["status"], turn["reason"], turn["open_calls"]) == ("interrupted", "enough", 0)
    assert "First this." in "".join(chat.texts())
    assert last_text(chat.said("Hello")) == 'Message 2: you said "Hello".'


def test_interrupt_withdraws_what_waits(chat: Chat) -> None:
    (gate,) = chat.asked()

    stopped = chat.client.post(f"{chat.path}/interrupt", json={})

    assert (stopped.status_code, stopped.json()) == (202, {"delivered": True})
    assert chat.client.get(f"/approvals/{gate}").json()["status"] == "withdrawn"
    assert problem(chat.decide(gate))[:2] == (410, "gate-gone")
    assert chat.said("Hello")["status"] == "completed"
    assert chat.made() == []


@ON_ONE_DATABASE
def test_interrupt_asks_a_runner(chat: Chat) -> None:
    append(chat.client, chat.session_id, batch(1, started("t1"), lease_s=60))

    stopped = chat.client.post(f"{chat.path}/interrupt", json={})

    assert (stopped.status_code, stopped.json()) == (202, {"delivered": False})
    (asked,) = chat.events("interrupt-requested")
    assert asked["data"]["turn_id"] == "t1"
    assert chat.turn("t1")["status"] == "running"


@ON_ONE_DATABASE
def test_where_nothing_runs_there_is_nothing_to_interrupt(chat: Chat) -> None:
    stopped = chat.client.post(f"{chat.path}/interrupt", json={})

    assert (stopped.status_code, stopped.content) == (204, b"")
    assert problem(chat.client.post("/sessions/none/interrupt", json={}))[:2] == (
        404,
        "no-such-session",
    )


@ON_ONE_DATABASE
def test_interrupt_at_the_start_is_the_end_of_the_turn(chat: Chat) -> None:
    running = chat.begun("Hello")
    chat.client.post(f"{chat.path}/interrupt", json={})

    assert chat.ended(running)["status"] in {"interrupted", "completed"}
    assert chat.said("Again")["status"] == "completed"
