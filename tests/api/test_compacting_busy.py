"""While a history is summed up nothing else moves it: one run of a session at a time."""

from threading import Thread
from typing import cast

import httpx  # noqa: TC002 - as elsewhere
from sqlalchemy import Connection

from domain.commands import Note, Own
from domain.events import SessionSuspended
from domain.keys import keys
from infrastructure.command_handler import Caller, Target
from infrastructure.runner import Attempt
from tests.api.batches import append, batch, problem, started, turn
from tests.api.chats import ASYNC, Chat, chat_at, eventually, last_text, opened, told, user
from tests.api.serving import ON_ONE_DATABASE, Served
from tests.api.summing_up import SLOW, ask, begun, rests, talked, untouched


@ON_ONE_DATABASE
def test_new_text_is_refused_unless_it_may_wait(chat: Chat) -> None:
    talked(chat)
    running = begun(chat)

    answer = chat.say("Hello")

    assert problem(answer)[:2] == (409, "compacting")
    assert (answer.json()["compaction_id"], answer.json()["action"]) == (running, "retry")
    assert answer.json()["owner"].startswith("host-")
    assert answer.json()["lease_until"] is not None
    assert problem(ask(chat))[:2] == (409, "compacting")
    assert ask(chat).json()["compaction_id"] == running
    rests(chat)
    assert chat.said("Hello")["path"] == "warm"


def test_what_waited_comes_in_its_order_when_it_is_done(chat: Chat) -> None:
    talked(chat)
    begun(chat)
    for text in ("first", "second"):
        answer = chat.say(text, on_busy="queue")
        assert (answer.status_code, answer.json()["status"]) == (202, "queued")
    assert len(chat.read("/queue")["items"]) == 2

    assert chat.client.post(f"{chat.path}/interrupt", json={}).status_code == 202

    eventually(lambda: chat.read("/queue")["items"], lambda items: items == [])
    texts = eventually(chat.texts, lambda found: "Message 5" in found[-1])
    assert [text for text in texts if text in {"first", "second"}] == ["first", "second"]
    assert untouched(chat)


@ON_ONE_DATABASE
def test_what_waited_comes_after_a_summary_too(chat: Chat) -> None:
    talked(chat)
    assert ask(chat, ASYNC, instructions="delay: 1500").status_code == 202

    queued = chat.say("Hello", on_busy="queue")

    assert queued.status_code == 202, queued.text
    eventually(chat.texts, lambda found: 'you said "Hello"' in found[-1])
    types = [event["type"] for event in chat.events()]
    assert types.index("history-compacted") < types.index("input-dequeued")


@ON_ONE_DATABASE
def test_new_text_takes_its_place_if_that_is_asked_for(chat: Chat) -> None:
    talked(chat)
    begun(chat)

    turn = told(chat.say("Hello", on_busy="interrupt"))

    assert (turn["status"], last_text(turn)) == ("completed", 'Message 4: you said "Hello".')
    assert untouched(chat)
    rests(chat)


def test_interrupt_stops_it_and_tells_who_waits(chat: Chat) -> None:
    talked(chat)
    answers: list[httpx.Response] = []
    waiting = Thread(target=lambda: answers.append(ask(chat, instructions=SLOW)))
    waiting.start()
    stopped = eventually(
        lambda: chat.client.post(f"{chat.path}/interrupt", json={"reason": "enough"}),
        lambda answer: answer.status_code == 202,
    )
    waiting.join()

    assert stopped.json() == {"delivered": True}
    (answer,) = answers
    assert problem(answer)[:2] == (409, "compaction-interrupted")
    assert (answer.json()["reason"], answer.json()["by"]) == ("enough", "local")
    assert chat.client.post(f"{chat.path}/interrupt", json={}).status_code == 204
    assert untouched(chat)


@ON_ONE_DATABASE
def test_while_a_turn_runs_nothing_is_summed_up(chat: Chat) -> None:
    talked(chat)
    running = chat.begun("tool: wait {}")

    answer = ask(chat)

    assert problem(answer)[:2] == (409, "turn-in-progress")
    assert answer.json()["turn_id"] == running
    assert answer.json()["owner"].startswith("host-")
    rests(chat)


def test_the_history_is_not_moved_by_hand_meanwhile(chat: Chat) -> None:
    talked(chat)
    last = chat.transcript()[1]["message_id"]
    begun(chat)
    given = {"summary": "So.", "through_message_id": last}

    assert problem(ask(chat, **given))[:2] == (409, "compacting")
    for path, body in (("/rewind", {"turns": 1}), ("/rewind", {"turns": 1, "dry_run": True})):
        assert problem(chat.client.post(f"{chat.path}{path}", json=body))[:2] == (409, "compacting")
    rests(chat)
    assert chat.client.post(f"{chat.path}/rewind", json={"turns": 1}).status_code == 200
    begun(chat)
    assert problem(chat.client.post(f"{chat.path}/redo", json={}))[:2] == (409, "compacting")
    fork = chat.client.post(f"{chat.path}/fork", json={})
    assert fork.status_code == 201
    rests(chat)


@ON_ONE_DATABASE
def test_a_rewind_that_may_interrupt_stops_it(chat: Chat) -> None:
    talked(chat)
    begun(chat)

    rewound = chat.client.post(f"{chat.path}/rewind", json={"turns": 1, "interrupt": True})

    assert (rewound.status_code, rewound.json()["turns_rewound"]) == (200, 1)
    rests(chat)
    assert chat.said("Hello")["status"] == "completed"
    assert untouched(chat)


def test_a_producer_begins_no_turn_meanwhile(chat: Chat) -> None:
    talked(chat)
    begun(chat)

    for body in (
        batch(1, started("t1")),
        batch(1, *turn("t1"), lease_s=60),
        batch(1, *turn("t1"), rewind={"turns": 1}),
    ):
        answer = append(chat.client, chat.session_id, body)
        assert problem(answer)[:2] == (409, "compacting"), body
    rests(chat)
    assert append(chat.client, chat.session_id, batch(1, *turn("t1"))).status_code == 201


@ON_ONE_DATABASE
def test_a_runner_that_dispatches_is_told(chat: Chat) -> None:
    talked(chat)
    begun(chat)
    body = {
        "owner": "runner-1",
        "messages": [user("Hello")],
        "begin": {
            "turn_id": "t1",
            "producer": {"id": "p1", "epoch": 1, "sequence": 1},
            "lease_s": 60,
        },
    }

    assert problem(chat.client.post(f"{chat.path}/dispatch", json=body))[:2] == (409, "compacting")
    rests(chat)
    assert chat.client.post(f"{chat.path}/dispatch", json=body).status_code in {200, 201}


@ON_ONE_DATABASE
def test_an_archived_session_is_not_summed_up(chat: Chat) -> None:
    talked(chat)
    assert problem(chat.client.post("/sessions/none/compact", json={}))[:2] == (
        404,
        "no-such-session",
    )
    chat.client.patch(chat.path, json={"archived": True})
    assert problem(ask(chat))[:2] == (409, "session-archived")


@ON_ONE_DATABASE
def test_a_suspended_session_is_not_summed_up(server: Served, chat: Chat, project: str) -> None:
    talked(chat)
    target = Target(project_id=project, session_id=chat.session_id)
    suspended = Note(event=cast("Own", SessionSuspended(reason="restart-loop", count=3)))
    server.log.runner.run(
        lambda attempt: server.log.handler.carry_out(
            attempt, target, [suspended], keys([suspended.event]), caller=Caller()
        )
    )

    assert problem(ask(chat))[:2] == (409, "session-suspended")


@ON_ONE_DATABASE
def test_one_whose_workspace_is_gone_is_not_summed_up(chat: Chat) -> None:
    other = Chat(chat.client, f"{chat.session_id}-other", chat.harnesses)
    opened(other, config={"workspace": "/nowhere/at/all"})
    append(other.client, other.session_id, batch(1, *turn("t1"), *turn("t2")))

    assert problem(ask(other))[:2] == (409, "workspace-missing")


def test_what_a_killed_server_summed_up_is_free_again(own_server: Served) -> None:
    with own_server.client("p") as client:
        chat = opened(chat_at(own_server, client))
        talked(chat, 2)
        begun(chat)
        own_server.log.runner.run(_let_it_end)

        assert chat.said("Hello")["status"] == "completed"
        assert untouched(chat)


@ON_ONE_DATABASE
def test_a_server_that_stops_gives_it_up(own_server: Served) -> None:
    with own_server.client("p") as client:
        chat = opened(chat_at(own_server, client))
        talked(chat, 2)
        answers: list[httpx.Response] = []
        waiting = Thread(target=lambda: answers.append(ask(chat, instructions=SLOW)))
        waiting.start()
        eventually(lambda: own_server.log.read_now(_is_summed_up), bool)
        own_server.ask_to_stop()
        waiting.join()

    (answer,) = answers
    assert problem(answer)[:2] == (503, "shutting-down")


def _let_it_end(attempt: Attempt) -> None:
    """Do as if nobody had renewed the lease for long."""
    attempt.connection.exec_driver_sql("UPDATE runs SET lease_until = 1")


def _is_summed_up(connection: Connection) -> bool:
    found = connection.exec_driver_sql("SELECT 1 FROM runs WHERE kind = 'compaction'")
    return found.first() is not None
