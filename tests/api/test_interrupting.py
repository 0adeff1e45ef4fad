"""What is left of a turn that is stopped: its questions end first, and the next turn works."""

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.api.batches import Json, append, batch, event, problem, said, started
from tests.api.chats import ADD, GAVE, Chat, chat_at, eventually, last_text, opened
from tests.api.serving import ON_ONE_DATABASE, served
from tests.databases import DatabaseKind, Databases

WAITS = "tool: wait {}"
TWO = 'ask: wait {}; add {"a":1,"b":2}'
FORMS = ("openai", "anthropic", "ui")
ENDS = {"turn-completed", "turn-failed", "turn-interrupted"}


def interrupt(chat: Chat, reason: str = "enough") -> httpx.Response:
    return chat.client.post(f"{chat.path}/interrupt", json={"reason": reason})


def types(chat: Chat) -> list[str]:
    return [each["type"] for each in chat.events()]


def ends(chat: Chat, turn_id: str) -> list[str]:
    found = chat.events(*ENDS)
    return [each["type"] for each in found if each["data"]["turn_id"] == turn_id]


def exported(chat: Chat, form: str) -> Json:
    return chat.read("/transcript", format=form)


def test_a_question_that_is_open_is_withdrawn_before_its_turn_ends(chat: Chat) -> None:
    waits, _ = chat.asked(TWO)
    assert chat.decide(waits).json()["continuation"]["status"] == "pending"
    eventually(lambda: chat.events("gate-consumed"), lambda found: len(found) == 1)

    assert interrupt(chat).status_code == 202

    (turn,) = chat.client.get(f"{chat.path}/turns").json()["items"]
    assert (turn["status"], turn["reason"], turn["open_calls"]) == ("interrupted", "enough", 0)
    found = [each for each in types(chat) if each in {"gate-withdrawn", *ENDS}]
    assert found == ["gate-withdrawn", "turn-interrupted"]
    assert last_text(chat.said("Hello")) == 'Message 2: you said "Hello".'


def test_what_waits_is_closed_in_the_commit_that_ends_it_and_new_words_are_taken(
    chat: Chat,
) -> None:
    (gate,) = chat.asked()

    assert interrupt(chat).json() == {"delivered": True}

    assert types(chat)[-3:].count("turn-interrupted") == 1
    closed, over = chat.events("gate-withdrawn", "turn-interrupted")
    assert (closed["type"], closed["data"]) == (
        "gate-withdrawn",
        {"gate_id": gate, "reason": "enough"},
    )
    assert closed["recorded_at"] == over["recorded_at"]
    assert closed["version"] < over["version"]
    assert last_text(chat.said("Hello")) == 'Message 2: you said "Hello".'
    assert chat.made() == []


@ON_ONE_DATABASE
def test_new_words_are_never_an_answer(chat: Chat) -> None:
    (gate,) = chat.asked()

    assert problem(chat.say("yes, do it"))[:2] == (409, "gate-open")
    assert chat.client.get(f"/approvals/{gate}").json()["status"] == "open"
    turn = chat.said("yes, do it", on_gate="withdraw")

    assert turn["status"] == "completed"
    assert chat.client.get(f"/approvals/{gate}").json()["status"] == "withdrawn"
    assert chat.events("gate-decided") == []
    assert chat.made() == []


@ON_ONE_DATABASE
@pytest.mark.parametrize("text", [WAITS, "delay: 600000 Hello", "Hello\nfail: hang"])
def test_an_interrupt_asked_for_twice_ends_the_turn_once(chat: Chat, text: str) -> None:
    running = chat.begun(text)
    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(interrupt, chat) for _ in range(3)]

    assert sorted(each.result().status_code for each in asked) == [202, 204, 204]
    assert ends(chat, running) == ["turn-interrupted"]
    assert interrupt(chat).status_code == 204
    assert chat.said("Again")["status"] == "completed"


@ON_ONE_DATABASE
def test_an_interrupt_right_after_another_stops_what_follows_from_the_queue(chat: Chat) -> None:
    chat.begun(WAITS)
    chat.say(WAITS, on_busy="queue")

    assert interrupt(chat).json() == {"delivered": True}
    stopped = eventually(lambda: interrupt(chat), lambda found: found.status_code == 202)

    assert stopped.json() == {"delivered": True}
    assert chat.events("interrupt-requested") == []
    assert [each["data"]["reason"] for each in chat.events("turn-interrupted")] == ["enough"] * 2


def test_an_interrupt_of_what_waits_is_told_once(chat: Chat) -> None:
    chat.asked()

    assert [interrupt(chat).status_code for _ in range(2)] == [202, 204]
    assert len(chat.events("turn-interrupted")) == 1


@ON_ONE_DATABASE
def test_the_harness_of_a_stopped_turn_goes_and_the_next_turn_is_cold_then_warm(
    chat: Chat,
) -> None:
    chat.said("Hello")
    running = chat.begun(WAITS)
    eventually(lambda: chat.events("tool-call-requested"), lambda found: len(found) == 1)
    interrupt(chat)
    assert chat.turn(running)["status"] == "interrupted"

    paths = [chat.said("Again")["path"] for _ in range(2)]

    assert paths in (["cold", "warm"], ["evicted", "warm"])


@ON_ONE_DATABASE
def test_what_was_said_by_then_is_kept_with_its_calls_closed_in_every_form(chat: Chat) -> None:
    running = chat.begun(f"Hello.\n{WAITS}")
    eventually(lambda: chat.events("tool-call-requested"), lambda found: len(found) == 1)

    interrupt(chat)

    assert chat.turn(running)["open_calls"] == 0
    (closed,) = chat.events("tool-call-completed")
    assert closed["data"]["is_error"] is True
    for form in FORMS:
        assert "Hello." in str(exported(chat, form))
    assert chat.said(ADD, on_gate="withdraw")["status"] == "paused"


def test_a_late_result_of_a_call_from_before_is_kept_out_of_sight(client: httpx.Client) -> None:
    call = event("tool-call-requested", turn_id="t1", tool_call_id="x", name="f", arguments='{"q":')
    late = event("tool-call-completed", turn_id="t1", tool_call_id="x", output="LATE")
    append(client, "s", batch(1, started("t1"), call))
    ended = event("turn-interrupted", turn_id="t1", reason="user")
    append(client, "s", batch(2, ended, started("t2")))

    taken = append(client, "s", batch(3, late))

    assert taken.status_code == 201
    transcript = client.get("/sessions/s/transcript").json()["items"]
    assert "LATE" not in str(transcript)
    audit = client.get("/sessions/s/audit", params={"limit": 200}).json()["items"]
    assert [each["turn_id"] for each in audit if each.get("late")] == ["t1"]
    assert problem(append(client, "s", batch(4, late)))[:2] == (409, "call-already-completed")


def test_a_late_result_of_a_call_that_was_rewound_is_kept_out_of_sight(
    client: httpx.Client,
) -> None:
    call = event("tool-call-requested", turn_id="t1", tool_call_id="x", name="f", arguments={})
    late = event("tool-call-completed", turn_id="t1", tool_call_id="x", output="LATE")
    append(client, "s", batch(1, started("t1"), call))
    assert (
        client.post("/sessions/s/rewind", json={"turns": 1, "interrupt": True}).status_code == 200
    )
    append(client, "s", batch(2, started("t2"), said("t2", "New")))

    taken = append(client, "s", batch(3, late))

    assert taken.status_code == 201
    shown = client.get("/sessions/s/transcript", params={"include": "archived,rewound"}).json()
    assert "LATE" not in str(shown)


@ON_ONE_DATABASE
def test_arguments_that_are_half_written_stay_the_text_that_they_are(client: httpx.Client) -> None:
    call = event("tool-call-requested", turn_id="t1", tool_call_id="x", name="f", arguments='{"q":')
    append(client, "s", batch(1, started("t1"), call))
    append(client, "s", batch(2, event("turn-interrupted", turn_id="t1", reason="user")))

    (message,) = client.get("/sessions/s/transcript").json()["items"][1:]
    (part,) = message["parts"]
    assert part["arguments"] == '{"q":'
    for form in FORMS:
        answer = client.get("/sessions/s/transcript", params={"format": form})
        assert answer.status_code == 200


def test_a_deleted_session_ends_what_waits_in_it_first(chat: Chat) -> None:
    chat.asked()
    found = chat.events()[-1]["version"]

    assert chat.client.delete(chat.path).status_code in {200, 202, 204}

    assert chat.client.post(f"{chat.path}/restore").status_code in {200, 201}
    after = [each["type"] for each in chat.events() if each["version"] > found]
    wanted = [each for each in after if each in {"gate-withdrawn", *ENDS, "session-deleted"}]
    assert wanted == ["gate-withdrawn", "turn-interrupted", "session-deleted"]
    assert chat.said("Hello")["status"] == "completed"


def test_a_producers_turn_is_ended_with_its_questions_by_the_deletion(
    client: httpx.Client,
) -> None:
    asked = event("gate-opened", turn_id="t1", kind="permission", tool="f", tool_call_id="x")
    append(client, "s", batch(1, started("t1"), asked))

    client.delete("/sessions/s")
    client.post("/sessions/s/restore")

    items = client.get("/sessions/s/events", params={"limit": 200}).json()["items"]
    found = [each["type"] for each in items]
    assert found.index("gate-withdrawn") < found.index("turn-interrupted")
    assert found.index("turn-interrupted") < found.index("session-deleted")


def test_a_stopping_server_interrupts_what_runs_and_keeps_what_waits(
    database_kind: DatabaseKind, databases: Databases
) -> None:
    url = databases.ready()
    with (
        served(database_kind, url, shutdown_grace_s="0") as first,
        first.client("default") as client,
    ):
        waiting = opened(chat_at(first, client, "waits"))
        running = opened(chat_at(first, client, "runs"))
        (gate,) = waiting.asked()
        turn_id = running.begun(WAITS)
        eventually(lambda: running.events("tool-call-requested"), lambda found: len(found) == 1)

    with served(database_kind, url) as second, second.client("default") as client:
        turn = chat_at(second, client, "runs").turn(turn_id)
        assert (turn["status"], turn["reason"], turn["open_calls"]) == (
            "interrupted",
            "shutdown",
            0,
        )
        assert last_text(chat_at(second, client, "waits").answer(gate).json()) == GAVE
    databases.drop(url)
