"""What was cut off in lanes goes on when its platform is there, and a model is told of it once."""

from collections.abc import Iterator

import httpx
import pytest

from domain import commands as c
from domain.lanes.decide import MarkResume, decide
from infrastructure.command_handler import Caller, Target
from infrastructure.hosting.cut_off import CUT_OFF
from infrastructure.lanes.lookup import the_lane
from infrastructure.proposing import proposal_of
from infrastructure.runner import Attempt
from tests.api.batches import Json, events_of
from tests.api.chats import Chat, eventually
from tests.api.serving import Served, served
from tests.databases import DatabaseKind, Databases

NOBODY = Caller()


@pytest.fixture
def resuming(databases: Databases, database_kind: DatabaseKind) -> Iterator[Served]:
    """A server that goes on with what was cut off."""
    url = databases.ready()
    with served(database_kind, url, auto_resume="on") as running:
        yield running
    databases.drop(url)


def lane(client: httpx.Client, chat_id: str, platform: str = "telegram") -> Json:
    """Return the lane of a chat."""
    source = {"platform": platform, "chat_id": chat_id}
    found: Json = client.post("/lanes/resolve", json={"source": source}).json()
    return found


def cut_off(
    server: Served, found: Json, project: str = "default", reason: str = "server-restarted"
) -> None:
    """Have a turn of a lane's session be cut off."""
    target = Target(project_id=project, session_id=found["session_id"])
    body = (
        f'{{"turn_id":"t1","lane_id":"{found["lane_id"]}","reply_to":"m1",'
        '"messages":[{"role":"user","content":"Restart yourself."}]}'
    )
    steps: list[c.SessionCommand] = [
        c.Record(proposal=proposal_of("turn-started", body.encode())),
        c.InterruptTurn(turn_id="t1", reason=reason),
    ]

    def write(attempt: Attempt) -> None:
        for step in steps:
            server.log.handler.carry_out(attempt, target, [step], caller=NOBODY)

    server.log.runner.submit(write).result()


def mark(server: Served, found: Json, project: str = "default") -> None:
    """Have the gateway of a lane say that something was cut off."""

    def write(attempt: Attempt) -> None:
        there = the_lane(attempt.connection, project, found["lane_id"])
        facts = decide(there.lane, there.standing, MarkResume(reason="shutdown-timeout"))
        server.log.lanes.append(attempt, (project, found["lane_id"]), there, facts, NOBODY)

    server.log.runner.submit(write).result()


def connect(client: httpx.Client, platform: str, *, connected: bool = True) -> Json:
    """Say that a platform is there, or not any more."""
    answer = client.put(f"/lanes/platforms/{platform}", json={"connected": connected})
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def begun(client: httpx.Client, found: Json) -> list[Json]:
    """Return what is recorded of the beginnings of a lane's turns."""
    events = events_of(client, found["session_id"])
    return [each["data"] for each in events if each["type"] == "turn-started"]


def aside(client: httpx.Client, found: Json, platform: str = "telegram") -> None:
    """Have people say something to each other."""
    source = {"platform": platform, "chat_id": found["lane_key"][-1]}
    body = {"source": source, "text": "Lunch?", "run": False}
    assert client.post("/lanes/messages", json=body).status_code == 200


def resumable(client: httpx.Client, found: Json) -> bool:
    """Tell whether there is something to go on with in a lane."""
    return bool(client.get(f"/lanes/{found['lane_id']}").json()["resume_pending"])


def test_a_platform_that_connects_has_what_was_cut_off_there_go_on_and_nothing_else(
    resuming: Served,
) -> None:
    with resuming.client("default") as client:
        first, slack = lane(client, "1"), lane(client, "2", "slack")
        web = lane(client, "3", "web")
        resuming.harnesses.stubborn.add(first["session_id"])
        for each in (first, slack):
            cut_off(resuming, each)
        cut_off(resuming, web, reason="asked")
        mark(resuming, web)

        connect(client, "telegram")
        connect(client, "web")  # it needs no gateway, and is looked at now
        eventually(
            lambda: resuming.harnesses.waiting, lambda waiting: first["session_id"] in waiting
        )
        chat = Chat(client, first["session_id"], resuming.harnesses)
        for text in ("one", "two"):
            answer = chat.say(text, {"Prefer": "respond-async"}, on_busy="queue")
            assert answer.status_code == 202, answer.text
        assert not any(text in chat.texts() for text in ("one", "two"))
        chat.harnesses.stubborn.clear()
        chat.harnesses.release(first["session_id"])

        eventually(lambda: len(begun(client, first)), lambda count: count == 4)
        went_on = begun(client, first)[1]
        assert (went_on["lane_id"], went_on["reply_to"]) == (first["lane_id"], "m1")
        said = went_on["messages"][-1]
        assert (said["message_id"], said["author"]["subject_id"]) == ("resume-t1", "turnlog")
        assert said["content"].startswith("[turnlog] Nobody wrote this.")
        assert [each["messages"][-1]["content"] for each in begun(client, first)[2:]] == [
            "one",
            "two",
        ]
        for each in (first, web):
            eventually(lambda: resumable(client, each), lambda pending: not pending)  # noqa: B023
        (_, unasked) = begun(client, web)
        assert unasked["messages"][-1]["message_id"].startswith(f"resume-{web['lane_id']}-")
        assert len(begun(client, slack)) == 1
        assert resumable(client, slack)

        aside(client, slack, "slack")
        undone = lane(client, "4", "slack")
        cut_off(resuming, undone)
        assert client.post(f"/lanes/{undone['lane_id']}/undo", json={}).is_success
        aside(client, undone, "slack")
        connect(client, "slack")
        eventually(lambda: len(begun(client, slack)), lambda count: count == 3)
        assert client.get(f"/lanes/{undone['lane_id']}").json()["held_back"] == "went-on"


def test_a_model_is_told_once_of_what_was_cut_off_and_nobody_said_so(
    server: Served, client: httpx.Client, project: str
) -> None:
    marked, own = lane(client, "1"), lane(client, "2")
    cut_off(server, marked, project)
    cut_off(server, own, project, "asked")
    mark(server, own, project)
    for found in (marked, own):
        aside(client, found)
        chat = Chat(client, found["session_id"], server.harnesses)

        def say(text: str) -> str | None:
            """Say something by the lane, to a harness that starts for it."""
            source = {"platform": "telegram", "chat_id": found["lane_key"][-1]}  # noqa: B023
            body = {"source": source, "text": text}
            assert client.post("/lanes/messages", json=body).status_code == 200
            told = [
                words
                for session_id, words in chat.harnesses.told  # noqa: B023
                if session_id == found["session_id"]  # noqa: B023
            ]
            chat.kill()  # noqa: B023
            return told[-1]

        first, second = say("Hello"), say("More")
        assert first is not None
        assert second is not None
        assert first.endswith(CUT_OFF)
        assert "before this one was cut off" not in second
        assert not any("cut off" in text for text in chat.texts())
        assert "cut off" not in str(chat.known())
        assert not resumable(client, found)


def test_a_gateway_says_which_platforms_are_there_and_models_hear_it(
    client: httpx.Client,
) -> None:
    found = lane(client, "1")
    first = connect(client, "x-intercom")
    assert connect(client, "x-intercom") == first
    gone = connect(client, "telegram", connected=False)
    assert client.get("/lanes/platforms").json() == {"items": [gone, first]}
    facts = client.get(f"/lanes/{found['lane_id']}/context").json()["facts"]
    assert facts["connected_platforms"] == ["x-intercom"]
    wrong = client.put("/lanes/platforms/Telegram", json={"connected": True})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid-value")
    assert client.put("/lanes/platforms/slack", json={"connected": 1}).status_code == 422
