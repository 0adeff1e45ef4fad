"""A session is deleted whatever it is doing: what runs is stopped, and nothing begins any more."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from tests.api.batches import append, batch, problem, said, started, turn
from tests.api.chats import Chat, chat_at, eventually, opened, user
from tests.api.runners import Runner
from tests.api.serving import served
from tests.api.test_hosted_queue import queued
from tests.databases import DatabaseKind, Databases

WAITS = "tool: wait {}"
SETTLING = {
    "gate-withdrawn",
    "turn-interrupted",
    "harness-evicted",
    "session-deleted",
    "session-restored",
}
GONE = (404, "no-such-session")


def delete(chat: Chat) -> httpx.Response:
    return chat.client.delete(chat.path)


def restored(chat: Chat) -> list[str]:
    """Bring the session back; return the types of its events."""
    assert chat.client.post(f"{chat.path}/restore").status_code == 200
    return [event["type"] for event in chat.events()]


def assert_gone(chat: Chat) -> None:
    """See that nothing that comes late brings it back."""
    assert problem(delete(chat))[:2] == GONE
    assert problem(chat.client.get(chat.path))[:2] == GONE
    assert problem(chat.say("Hello"))[:2] == GONE
    late = append(chat.client, chat.session_id, batch(1, started("late"), open={}))
    assert problem(late)[:2] == GONE
    assert problem(chat.client.post(f"{chat.path}/interrupt", json={}))[:2] == GONE
    listed = chat.client.get("/sessions").json()["items"]
    assert chat.session_id not in [each["session_id"] for each in listed]
    assert chat.seat() is None


def test_a_running_turn_is_stopped_first(chat: Chat) -> None:
    turn_id = chat.begun("First this.\n" + WAITS)
    eventually(lambda: chat.events("tool-call-requested"), lambda found: len(found) == 1)

    assert delete(chat).status_code == 204

    assert_gone(chat)
    types = restored(chat)
    ended = types.index("turn-interrupted")
    assert types[ended:] == [
        "turn-interrupted",
        "harness-evicted",
        "session-deleted",
        "session-restored",
    ]
    turn = chat.turn(turn_id)
    assert (turn["status"], turn["reason"], turn["open_calls"]) == (
        "interrupted",
        "session-deleted",
        0,
    )
    assert "First this." in "".join(chat.texts())
    assert chat.said("Hello")["path"] == "cold"


def test_a_harness_that_is_being_started_is_discarded(chat: Chat) -> None:
    chat.harnesses.never.add(chat.session_id)
    chat.begun("Hello")
    eventually(lambda: chat.harnesses.waiting, lambda found: chat.session_id in found)

    assert delete(chat).status_code == 204

    assert chat.harnesses.given_up[-1] == chat.session_id
    assert_gone(chat)
    assert restored(chat)[-4:] == [
        "turn-interrupted",
        "harness-evicted",
        "session-deleted",
        "session-restored",
    ]


def test_nothing_begins_while_a_session_is_deleted_and_what_starts_late_is_closed(
    chat: Chat,
) -> None:
    chat.harnesses.stubborn.add(chat.session_id)
    chat.begun("Hello")
    eventually(lambda: chat.harnesses.waiting, lambda found: chat.session_id in found)
    with ThreadPoolExecutor(1) as pool:
        deleted = pool.submit(delete, chat)
        eventually(lambda: problem(chat.say("Me too"))[1], lambda code: code == "session-deleting")
        asked = chat.client.post(f"{chat.path}/turns", json={"messages": [user("And me")]})
        assert (asked.status_code, asked.json()["action"]) == (409, "retry")
        for on_busy in ("queue", "interrupt", "steer"):
            refused = chat.say("Me too", on_busy=on_busy)
            assert problem(refused)[:2] == (409, "session-deleting")
        summed_up = chat.client.post(f"{chat.path}/compact", json={})
        assert problem(summed_up)[:2] == (409, "session-deleting")
        chat.harnesses.release(chat.session_id)
        assert deleted.result().status_code == 204

    assert_gone(chat)
    assert not chat.harnesses.lives(chat.session_id)
    restored(chat)
    assert len(chat.events("turn-started")) == 1


def test_open_gates_are_withdrawn_before_the_end_and_late_answers_find_nothing(
    chat: Chat,
) -> None:
    (gate,) = chat.asked()

    assert delete(chat).status_code == 204

    assert problem(chat.decide(gate))[0] == 404
    assert problem(chat.client.post(f"/approvals/{gate}", json={"verdict": "approved"}))[0] == 404
    assert chat.client.get("/approvals").json()["items"] == []
    assert_gone(chat)
    types = restored(chat)
    order = [each for each in types if each in SETTLING]
    assert order == [
        "gate-withdrawn",
        "turn-interrupted",
        "harness-evicted",
        "session-deleted",
        "session-restored",
    ]
    assert problem(chat.decide(gate))[:2] == (410, "gate-gone")
    assert chat.made() == []


def test_a_parked_harness_is_let_go_on_record(chat: Chat) -> None:
    chat.said("Hello")

    assert delete(chat).status_code == 204

    assert_gone(chat)
    types = restored(chat)
    assert types[-3:] == ["harness-evicted", "session-deleted", "session-restored"]
    assert chat.events("harness-evicted")[-1]["data"]["reason"] == "session-deleted"


def test_the_queue_is_recalled_and_becomes_no_turn(chat: Chat) -> None:
    chat.begun(WAITS)
    ids = [queued(chat, f"number {n}") for n in range(2)]

    assert delete(chat).status_code == 204

    assert_gone(chat)
    restored(chat)
    recalled = [each["data"] for each in chat.events("input-recalled")]
    assert recalled == [{"queue_id": each, "reason": "session-deleted"} for each in ids]
    assert chat.read("/queue")["items"] == []
    assert [text for text in chat.texts() if text.startswith("number")] == []


def test_a_session_is_deleted_once_by_however_many(chat: Chat) -> None:
    chat.begun(WAITS)

    with ThreadPoolExecutor(4) as pool:
        answers = sorted(answer.status_code for answer in pool.map(delete, [chat] * 4))

    assert answers == [204, 404, 404, 404]
    assert restored(chat).count("session-deleted") == 1


def test_what_is_not_where_it_was_seen_is_not_touched(chat: Chat) -> None:
    turn_id = chat.begun(WAITS)

    refused = chat.client.delete(chat.path, headers={"If-Match": '"1"'})

    assert problem(refused)[:2] == (412, "version-mismatch")
    assert chat.turn(turn_id)["status"] == "running"
    queued(chat, "later")  # the mark is gone as well
    assert delete(chat).status_code == 204


def test_a_runners_turn_is_interrupted_at_once(chat: Chat) -> None:
    begun = append(chat.client, chat.session_id, batch(1, started("t1"), lease_s=60))
    assert delete(chat).status_code == 204
    path = f"{chat.path}/turns/t1/heartbeat"
    beat = chat.client.post(path, json={"fence": begun.json()["fence"]})
    assert problem(beat)[:2] == GONE
    assert restored(chat)[-3:] == ["turn-interrupted", "session-deleted", "session-restored"]
    late = batch(2, started("t2"), fence=begun.json()["fence"])
    assert problem(append(chat.client, chat.session_id, late))[:2] == (409, "fenced")


def test_what_a_runner_begins_while_a_session_is_deleted_is_cut_off_with_it(
    databases: Databases, database_kind: DatabaseKind
) -> None:
    url = databases.ready()
    with (
        served(database_kind, url, delete_wait_s="60") as running,
        running.client("default") as client,
    ):
        chat = opened(chat_at(running, client))
        chat.harnesses.lingering.add(chat.session_id)
        chat.said("Hello")
        runner = Runner(client, session=chat.session_id, sequence=1)
        with ThreadPoolExecutor(1) as pool:
            deleted = pool.submit(delete, chat)
            try:
                eventually(lambda: chat.harnesses.waiting, lambda found: len(found) == 1)
                assert problem(chat.say("Me too"))[:2] == (409, "session-deleting")
                whole = batch(1, *turn("t1"), producer=runner.name, open=None)
                assert append(client, chat.session_id, whole).status_code == 201
                began = runner.take(user("And I?"))["turn"]["turn_id"]
                assert runner.write(said(began, "Half of")).status_code == 201
            finally:
                chat.harnesses.release(chat.session_id)
            assert deleted.result().status_code == 204

        late = runner.write(said(began, "it."))
        assert problem(late)[:2] == GONE
        assert problem(runner.ask(user("Still there?")))[:2] == GONE
        assert restored(chat)[-3:] == ["turn-interrupted", "session-deleted", "session-restored"]
        assert chat.turn("t1")["status"] == "completed"
        cut = chat.turn(began)
        assert (cut["status"], cut["reason"]) == ("interrupted", "session-deleted")
    databases.drop(url)


def test_the_folder_that_an_agent_worked_in_stays(chat: Chat, tmp_path: Path) -> None:
    (tmp_path / "work.txt").write_text("done")
    chat.client.patch(chat.path, json={"config": {"workspace": str(tmp_path)}})
    chat.said("Hello")
    delete(chat)
    assert chat.client.post(f"{chat.path}/purge", json={}).status_code == 200
    assert (tmp_path / "work.txt").read_text() == "done"


def test_a_project_is_deleted_so_many_sessions_at_a_time(chat: Chat) -> None:
    chat.begun(WAITS)
    for number in range(3):
        other = Chat(
            client=chat.client, session_id=f"{chat.session_id}-{number}", harnesses=chat.harnesses
        )
        opened(other)
    project = str(chat.client.base_url).rstrip("/").rpartition("/")[2]

    def deleted(**query: str) -> httpx.Response:
        where = str(chat.client.base_url).rstrip("/")
        return chat.client.delete(where, params={"limit": 3, **query})

    assert problem(deleted())[:2] == (422, "invalid-value")
    assert problem(deleted(confirm="other"))[:2] == (422, "invalid-value")
    assert deleted(confirm=project).json() == {"deleted": 3, "remaining": 1}
    assert deleted(confirm=project).json() == {"deleted": 1, "remaining": 0}
    assert deleted(confirm=project).json() == {"deleted": 0, "remaining": 0}
    assert chat.client.get("/sessions").json()["items"] == []
    assert len(chat.client.get("/sessions", params={"status": "deleted"}).json()["items"]) == 4


def test_the_sessions_of_one_agent_are_deleted(chat: Chat) -> None:
    for name, config in (("a", {"harness": "agent-1"}), ("b", {"harness": "agent-2"}), ("c", {})):
        body = {"session_id": f"{chat.session_id}-{name}", "config": config}
        assert chat.client.post("/sessions", json=body).status_code == 201

    def deleted(harness: str) -> object:
        return chat.client.delete("/sessions", params={"harness": harness}).json()

    assert deleted("agent-1") == {"deleted": 1, "remaining": 0}
    assert deleted("agent-1") == {"deleted": 0, "remaining": 0}
    assert deleted("demo") == {"deleted": 2, "remaining": 0}
    left = [each["session_id"] for each in chat.client.get("/sessions").json()["items"]]
    assert left == [f"{chat.session_id}-b"]
    assert problem(chat.client.delete("/sessions"))[:2] == (422, "invalid-value")


def test_what_has_forks_is_not_purged_before_them(chat: Chat) -> None:
    chat.said("Hello")
    child = f"{chat.session_id}-fork"
    fork = chat.client.post(f"{chat.path}/fork", json={"session_id": child})
    assert fork.status_code == 201
    delete(chat)

    for body in ({}, {"dry_run": True}):
        refused = chat.client.post(f"{chat.path}/purge", json=body)
        assert problem(refused)[:2] == (409, "has-forks")
    said = chat.client.get(f"/sessions/{child}/transcript").json()["items"]
    assert [message["role"] for message in said] == ["user", "assistant"]

    for path in (f"/sessions/{child}", chat.path):
        chat.client.delete(path)
        assert chat.client.post(f"{path}/purge", json={}).status_code == 200


VIEWS = (
    "",
    "/events",
    "/transcript",
    "/audit",
    "/export",
    "/turns",
    "/queue",
    "/lineage",
    "/state",
)


def test_a_purged_session_is_nowhere(chat: Chat) -> None:
    chat.said("Hello")
    purge = f"{chat.path}/purge"
    assert problem(chat.client.post(purge))[:2] == (409, "session-not-deleted")
    delete(chat)
    would = chat.client.post(purge, json={"dry_run": True}).json()
    assert would["dry_run"]
    key = {"Idempotency-Key": f"purge-{chat.session_id}"}

    done = chat.client.post(purge, json={}, headers=key)

    assert done.json() == {name: would[name] for name in ("session_id", "events", "removed")}
    again = chat.client.post(purge, json={}, headers=key)
    assert (again.json(), again.headers["Idempotent-Replayed"]) == (done.json(), "true")
    assert [problem(chat.client.get(f"{chat.path}{view}"))[:2] for view in VIEWS] == [GONE] * 9
    assert problem(chat.client.post(purge))[:2] == GONE
    assert problem(chat.client.post(f"{chat.path}/restore"))[:2] == GONE
    assert_gone(chat)
    for status in ("all", "deleted"):
        listed = chat.client.get("/sessions", params={"status": status}).json()["items"]
        assert listed == []
    body = {"session_id": chat.session_id}
    assert problem(chat.client.post("/sessions", json=body))[:2] == (409, "session-exists")
