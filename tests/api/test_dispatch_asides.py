"""A runner that can tell its harness what was said to others goes on with the one that it keeps."""

from base64 import b64encode
from hashlib import sha256

import httpx
import pytest

from domain.dispatch.asides import MOST
from domain.restarts import NOT_ADDRESSED
from tests.api.batches import (
    Json,
    append,
    batch,
    completed,
    event,
    events_of,
    said,
    started,
    turn,
    types_of,
)
from tests.api.lane_chats import TOPIC, Gateway
from tests.api.runners import Runner, user
from tests.api.serving import ON_ONE_DATABASE, Served

TELLS = {"tells_asides": True}
FILE = b"\x00picture"


@pytest.fixture
def runner(client: httpx.Client) -> Runner:
    """A runner with a harness that is parked after a first turn."""
    runner = Runner(client).open()
    runner.take(user("Hello"))
    runner.finish()
    return runner


def aside(runner: Runner, *contents: object) -> None:
    """Record messages that were said to others, each as a turn in which nothing ran."""
    before = len(types_of(runner.http, "s"))
    events = [
        each
        for number, content in enumerate(contents, before)
        for each in (
            started(f"aside-{number}", content=content),
            completed(f"aside-{number}", stop_reason=NOT_ADDRESSED, record_count=1),
        )
    ]
    body = batch(1, *events, producer=f"group-{before}")
    assert append(runner.http, "s", body).status_code == 201


def texts(told: Json) -> list[str]:
    """Return what was said aside, as an answer tells of it."""
    messages = told["asides"]["messages"]
    return [part["text"] for message in messages for part in message["parts"]]


def asides_of(runner: Runner) -> list[int | None]:
    """Return how many messages each harness that went on was told first, as the log has it."""
    events = events_of(runner.http, runner.session)
    return [each["data"].get("asides") for each in events if each["type"] == "harness-resumed"]


def cold(told: Json) -> bool:
    """Tell whether a new harness has to be told everything, since its history was another."""
    assert ("asides" in told) is (told["decision"] == "resume")
    return (told["decision"], told["reason"], told["evict"]) == ("cold", "history", "history")


def test_its_harness_goes_on_and_is_told_exactly_what_was_said_aside(
    server: Served, client: httpx.Client
) -> None:
    group = Gateway(client, server.harnesses, TOPIC)
    group.said("Anyone here?", "1", run=False)
    chat = group.chat()
    runner = Runner(client, session=chat.session_id)
    runner.take(user("Hello"), **TELLS)
    runner.finish()
    group.said("Lunch?", "2", run=False)
    group.said("At one", "3", run=False)

    told = runner.take(user("And?"), **TELLS)

    assert (told["decision"], told["path"], told["reason"]) == ("resume", "warm", None)
    assert (told["history_from"], "history" in told) == ("harness", False)
    assert told["explain"].startswith("Warm: the parked harness has this history but for 2 mes")
    runner.finish()
    shown = chat.read("/transcript", limit=200)["items"]
    expected = [
        {name: each[name] for name in ("message_id", "turn_id", "role", "parts")}
        for each in shown[3:5]
    ]
    assert told["asides"] == {"format": "turnlog", "messages": expected, "losses": []}
    assert texts(told) == ["[Alice] Lunch?", "[Alice] At one"]
    why = chat.read(f"/turns/{told['turn']['turn_id']}/explain")
    assert (why["path"], why["asides"]) == ("warm", 2)
    lines = [line["what"] for line in chat.read("/audit", limit=200)["items"]]
    assert len([line for line in lines if "told 2 messages said aside first" in line]) == 1

    assert "asides" not in runner.take(user("More"), **TELLS)
    runner.finish()
    assert asides_of(runner) == [2, None]
    assert types_of(client, runner.session).count("harness-started") == 1


@ON_ONE_DATABASE
def test_one_that_does_not_say_that_it_can_starts_a_new_one(runner: Runner) -> None:
    aside(runner, "Lunch?")

    for more in ({}, {"tells_asides": False}):
        assert cold(runner.ask(user("And?"), begin=False, **more).json())

    assert cold(runner.take(user("And?")))
    runner.finish()


def test_a_lost_answer_comes_again_with_the_same_asides(runner: Runner) -> None:
    file = {"type": "attachment", "attachment_id": "a", "data": b64encode(FILE).decode()}
    aside(runner, "Lunch?", [{"type": "text", "text": "There"}, file])
    aside(runner, "y" * 100_000)
    both = [user("Both"), user("at once")]
    begun = event("turn-started", turn_id="two", messages=both)
    over = completed("two", stop_reason=NOT_ADDRESSED, record_count=1)
    assert append(runner.http, "s", batch(1, begun, over)).status_code == 201
    body = runner.body(user("And?"), **TELLS)
    first = runner.send(body)
    assert first.status_code == 201

    again = runner.send({**body, "tells_asides": False, "include": None})

    assert (again.status_code, again.headers["Idempotent-Replayed"]) == (201, "true")
    assert again.json()["asides"] == first.json()["asides"]
    sent = first.json()["asides"]["messages"][1]["parts"][1]
    assert (sent["data"], sent["sha256"]) == (file["data"], sha256(FILE).hexdigest())
    told = [message["parts"][0]["text"] for message in again.json()["asides"]["messages"]]
    assert told == ["Lunch?", "There", "y" * 100_000, "Both", "at once"]
    runner.taken(again, "And?")
    ends = [said("runner-1-t3", "Yes."), completed("runner-1-t3")]
    assert runner.write(*ends).status_code == 201
    aside(runner, "Later")
    assert runner.http.post("/sessions/s/rewind", json={"turns": 4}).status_code == 200
    assert runner.send(body).json()["asides"] == first.json()["asides"]
    assert asides_of(runner) == [5]


def test_a_message_of_a_lane_comes_again_with_the_same_asides(
    server: Served, client: httpx.Client
) -> None:
    group = Gateway(client, server.harnesses, TOPIC)
    runner = Runner(client, session=group.resolved()["session_id"])
    runner.take(user("Hello"))
    runner.finish()
    group.said("Lunch?", "1", run=False)
    body = runner.body(**TELLS) | {"text": "And?", "message_id": "2"}

    first = group.post(body, to="/lanes/dispatch")
    again = group.post(body, to="/lanes/dispatch")

    assert (first.status_code, texts(first.json())) == (201, ["[Alice] Lunch?"])
    assert (again.status_code, again.headers["Idempotent-Replayed"]) == (201, "true")
    assert again.json()["asides"] == first.json()["asides"]
    runner.taken(again, "[Alice] And?")
    runner.finish()
    group.said("Dinner?", "3", run=False)
    lane = f"/lanes/{first.json()['lane_id']}/dispatch"
    told = client.post(lane, json=runner.body(**TELLS) | {"text": "Well?", "message_id": "4"})
    assert texts(told.json()) == ["[Alice] Dinner?"]


@ON_ONE_DATABASE
@pytest.mark.parametrize(("many", "decision"), [(MOST, "resume"), (MOST + 1, "cold")])
def test_only_so_much_is_told_so(runner: Runner, many: int, decision: str) -> None:
    aside(runner, *["Hm."] * many)

    told = runner.take(user("And?"), **TELLS)

    assert (told["decision"], cold(told)) == (decision, decision == "cold")
    known = 0 if decision == "resume" else 2
    messages = (told["asides"] if decision == "resume" else told["history"])["messages"]
    assert len(messages) == known + many


@ON_ONE_DATABASE
def test_whatever_else_happened_has_one_started_that_is_told_everything(runner: Runner) -> None:
    aside(runner, "Lunch?")
    assert append(runner.http, "s", batch(1, *turn("t", "And you?"))).status_code == 201
    assert cold(runner.take(user("And?"), **TELLS))
    runner.finish()
    aside(runner, "Dinner?", "Late")
    assert runner.http.post("/sessions/s/rewind", json={"turns": 1}).status_code == 200
    assert cold(runner.take(user("And?"), **TELLS))
    runner.finish()
    aside(runner, "Well?")
    assert cold(runner.take(user("And?"), rewind={"turns": 1}, **TELLS))
    runner.finish()
    assert asides_of(runner) == []


@ON_ONE_DATABASE
def test_a_harness_that_cannot_be_told_anything_is_told_nothing(runner: Runner) -> None:
    aside(runner, "Lunch?")
    seat: Json = {"seat_id": next(iter(runner.pool)), "state": "idle"}

    for held, reason in [
        (None, "seat-lost"),
        ({**seat, "alive": False}, "process-died"),
        ({**seat, "state": "busy"}, "not-parked"),
    ]:
        told = runner.ask(user("And?"), begin=False, seat=held, **TELLS).json()
        assert (told["reason"], "asides" in told) == (reason, False)
    other = Runner(runner.http, "runner-2").ask(user("And?"), begin=False, seat=seat, **TELLS)
    assert (other.json()["reason"], "asides" in other.json()) == ("other-owner", False)


@ON_ONE_DATABASE
def test_what_is_only_asked_is_told_and_not_recorded(runner: Runner) -> None:
    aside(runner, "Lunch?")
    before = types_of(runner.http, "s")

    for more in ({"begin": False}, {"dry_run": True, "include": None}):
        answer = runner.ask(user("And?"), **more, **TELLS)
        assert (answer.status_code, texts(answer.json())) == (200, ["Lunch?"])

    assert types_of(runner.http, "s") == before


@ON_ONE_DATABASE
@pytest.mark.parametrize("form", ["openai", "anthropic", "ui"])
def test_it_comes_in_the_form_that_is_asked_for(runner: Runner, form: str) -> None:
    last = runner.http.get("/sessions/s/transcript").json()["items"][-1]["message_id"]
    summary = {"summary": "They said hello.", "through_message_id": last}
    assert runner.http.post("/sessions/s/compact", json=summary).status_code == 200
    assert cold(runner.take(user("Again"), **TELLS))
    parked = [said("runner-1-t3", "Yes."), completed("runner-1-t3"), runner.parked()]
    assert runner.write(*parked).status_code == 201
    aside(runner, "Lunch?", "At one")

    told = runner.ask(user("And?"), begin=False, history_format=form, **TELLS).json()

    shown = runner.http.get("/sessions/s/transcript", params={"format": form}).json()["messages"]
    assert told["asides"]["format"] == form
    assert told["asides"]["messages"] == shown[-len(told["asides"]["messages"]) :]
    assert {"openai": 2, "anthropic": 1, "ui": 2}[form] == len(told["asides"]["messages"])


@ON_ONE_DATABASE
def test_what_waited_is_taken_up_with_what_was_said_aside_meanwhile(runner: Runner) -> None:
    runner.take(user("And?"))
    body = {**runner.body(user("Well?"), on_busy="queue"), "owner": "runner-1"}
    queued = runner.send(body).json()
    runner.sequence += 1
    runner.finish()
    aside(runner, "Lunch?")

    told = runner.take(queue_id=queued["queue_id"], **TELLS)

    assert (told["decision"], texts(told)) == ("resume", ["Lunch?"])
    runner.harness.memory.append(("user", "Well?"))
    runner.finish()
