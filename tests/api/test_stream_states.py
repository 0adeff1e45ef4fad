"""Who follows a session is told what it does and what waits, at once and whenever it changes."""

from collections.abc import Iterator

import httpx

from infrastructure import runs
from infrastructure.command_handler import Target
from infrastructure.reading.sessions import session_head
from infrastructure.runner import Attempt
from tests.api.batches import Json, append, batch, completed, event, problem, started, turn
from tests.api.chats import Chat
from tests.api.serving import ON_ONE_DATABASE, Served
from tests.api.streams import Frame, frames, stream

WAITS = "tool: wait {}"


def before_synced(found: Iterator[Frame]) -> list[Frame]:
    """Return every frame before the one that says that all was told."""
    told: list[Frame] = []
    for frame in found:
        if frame.name == "synced":
            return told
        told += [frame] if frame.name else []
    raise AssertionError(told)


def names(found: list[Frame]) -> list[str]:
    return [frame.name for frame in found]


def until_state(found: Iterator[Frame], status: str) -> list[Frame]:
    """Return the frames up to the state of this status."""
    told: list[Frame] = []
    for frame in found:
        told += [frame] if frame.name else []
        if frame.name == "state" and frame.json["status"] == status:
            return told
    raise AssertionError(told)


def state(status: str, turn_id: str | None = None, queued: int = 0) -> Json:
    named = {} if turn_id is None else {"turn_id": turn_id}
    return {"session_id": "s", "status": status, **named, "queued": queued}


@ON_ONE_DATABASE
def test_the_state_comes_after_what_was_missed_and_first_if_that_is_nothing(
    client: httpx.Client,
) -> None:
    append(client, "s", batch(1, *turn("t1")))

    with stream(client, "s") as found:
        told = before_synced(found)
        assert names(told) == ["event"] * 4 + ["state"]
        assert (told[-1].id, told[-1].json) == (None, state("idle"))
    with stream(client, "s", "4") as found:
        assert names(before_synced(found)) == ["state"]


@ON_ONE_DATABASE
def test_a_turn_is_told_as_it_begins_pauses_goes_on_and_ends(
    client: httpx.Client, server: Served, project: str
) -> None:
    append(client, "s", batch(1, *turn("t1")))
    with server.client(project) as writer, stream(client, "s", after=4) as found:
        assert before_synced(found)[0].json == state("idle")
        append(writer, "s", batch(2, started("t2")))
        begun = until_state(found, "running")
        gate = event("gate-opened", turn_id="t2", kind="input", permission_id="p1")
        append(writer, "s", batch(3, gate))
        paused = until_state(found, "paused")
        answer = {"verdict": "answered", "decided_by": "person", "via": "in-band"}
        append(writer, "s", batch(4, event("gate-decided", permission_id="p1", **answer)))
        until_state(found, "running")
        append(writer, "s", batch(5, completed("t2")))
        ended = until_state(found, "idle")

    assert names(begun) == ["event", "state"]
    assert begun[0].json["type"] == "turn-started"
    assert [each.json for each in (begun[-1], paused[-1], ended[-1])] == [
        state("running", "t2"),
        state("paused", "t2"),
        state("idle"),
    ]


@ON_ONE_DATABASE
def test_each_open_gate_is_told_to_everybody_who_comes_as_the_inbox_shows_it(
    client: httpx.Client, server: Served, project: str
) -> None:
    opened = [
        event("gate-opened", turn_id="t1", kind="input", permission_id=f"p{n}") for n in (1, 2)
    ]
    append(client, "s", batch(1, started("t1"), *opened))

    inbox = client.get("/sessions/s/approvals", params={"order": "asc"}).json()["items"]
    for last in ("4", "2"):
        with stream(client, "s", last) as found:
            told = [frame for frame in before_synced(found) if frame.name != "event"]
        assert names(told) == ["state", "gate", "gate"]
        assert [frame.json for frame in told[1:]] == inbox
        assert {frame.id for frame in told} == {None}
    with server.client(project) as other:
        answer = {"verdict": "answered", "decided_by": "person", "via": "in-band"}
        append(other, "s", batch(2, event("gate-decided", permission_id="p1", **answer)))
    with stream(client, "s", "4") as found:
        told = [frame for frame in before_synced(found) if frame.name == "gate"]
    assert [frame.json["permission_id"] for frame in told] == ["p2"]


def test_input_comes_first_then_that_it_runs_and_what_waits_is_counted(
    chat: Chat, server: Served, project: str
) -> None:
    with server.client(project) as other:
        path = f"{chat.path}/events/stream"
        with other.stream("GET", path, params={"after": 1}) as response:
            found = frames(response.iter_bytes())
            before_synced(found)
            turn_id = chat.begun(WAITS)
            begun = until_state(found, "running")
            assert chat.say("later", on_busy="queue").status_code == 202
            waiting = next(each for each in found if each.name == "state")
            assert chat.client.post(f"{chat.path}/interrupt", json={}).status_code == 202
            told = [*until_state(found, "running"), *until_state(found, "idle")]

    assert begun[0].json["type"] == "turn-started"
    assert begun[-1].json["turn_id"] == waiting.json["turn_id"] == turn_id
    assert (begun[-1].json["queued"], waiting.json["queued"]) == (0, 1)
    kinds = [frame.json["type"] for frame in told if frame.name == "event"]
    assert kinds.index("turn-interrupted") < kinds.index("turn-started")
    assert told[-1].json["queued"] == 0


@ON_ONE_DATABASE
def test_a_compaction_that_runs_is_told(client: httpx.Client, server: Served, project: str) -> None:
    append(client, "s", batch(1, *turn("t1")))
    target = Target(project_id=project, session_id="s")
    key, _, _ = server.log.read_now(lambda connection: session_head(connection, target))

    def begin(attempt: Attempt, lease_s: int) -> int:
        lease = (project, "c1", "me", lease_s, server.log.now())
        return runs.begin(attempt.connection, key, *lease, "compaction")

    with stream(client, "s", after=4) as found:
        before_synced(found)
        server.log.runner.run(lambda attempt: begin(attempt, 600))
        told = until_state(found, "compacting")
        server.log.runner.run(lambda attempt: begin(attempt, 0))
        told += until_state(found, "idle")

    assert [frame.json for frame in told] == [state("compacting"), state("idle")]


@ON_ONE_DATABASE
def test_a_session_that_is_deleted_ends_its_streams(
    client: httpx.Client, server: Served, project: str
) -> None:
    append(client, "s", batch(1, *turn("t1")))
    with server.client(project) as other, stream(client, "s") as found:
        before_synced(found)
        assert other.delete("/sessions/s").status_code == 204
        told = [frame for frame in found if frame.name]

    assert [frame.json["type"] for frame in told if frame.name == "event"] == ["session-deleted"]
    assert (told[-1].name, told[-1].json) == ("goaway", {"reason": "session-deleted"})
    assert [frame.json["status"] for frame in told if frame.name == "state"][-1] == "deleting"
    assert problem(client.get("/sessions/s/events/stream"))[:2] == (404, "no-such-session")


@ON_ONE_DATABASE
def test_a_session_in_which_something_runs_is_told_to_be_deleted_before_it_is(
    chat: Chat, server: Served, project: str
) -> None:
    with server.client(project) as other:
        path = f"{chat.path}/events/stream"
        with other.stream("GET", path, params={"after": 1}) as response:
            found = frames(response.iter_bytes())
            before_synced(found)
            chat.begun(WAITS)
            until_state(found, "running")
            assert chat.client.delete(chat.path).status_code == 204
            told = [frame for frame in found if frame.name]

    kinds = [frame.json["type"] for frame in told if frame.name == "event"]
    assert kinds.index("turn-interrupted") < kinds.index("session-deleted")
    assert [frame.json["status"] for frame in told if frame.name == "state"][-1] == "deleting"
    assert (told[-1].name, told[-1].json) == ("goaway", {"reason": "session-deleted"})
