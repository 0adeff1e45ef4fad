"""A message of a chat finds its session, runs once, and says who sent it where several speak."""

from concurrent.futures import ThreadPoolExecutor
from typing import Final

import httpx
import pytest

from infrastructure import tables as t
from tests.api.batches import Json
from tests.api.chats import ASYNC, Chat, eventually, last_text
from tests.api.lane_chats import DIRECT, TOPIC, Gateway
from tests.api.serving import PATIENCE_S, Served

WAITS: Final = "tool: wait {}"
REPLAYED: Final = "idempotent-replayed"


@pytest.fixture
def group(server: Served, client: httpx.Client) -> Gateway:
    """A topic of a group, which its members share."""
    return Gateway(client, server.harnesses, TOPIC)


@pytest.fixture
def direct(server: Served, client: httpx.Client) -> Gateway:
    """A direct chat."""
    return Gateway(client, server.harnesses, DIRECT)


def stop(chat: Chat) -> None:
    """Have what runs end."""
    chat.client.post(f"{chat.path}/interrupt", json={})


def users(chat: Chat) -> list[str]:
    """Return what people said, in order."""
    return [
        part["text"]
        for message in chat.transcript()
        if message["role"] == "user"
        for part in message["parts"]
    ]


def test_a_message_opens_its_chats_session_and_the_next_goes_on_there(direct: Gateway) -> None:
    first = direct.said("Hello", "1")
    again = direct.said("And?", "2", reply_to="1")

    streamed = direct.post({"text": "More"}, {"Accept": "text/event-stream"}).text
    assert '"lane_reason":"existing"' in streamed.partition("event: done")[2]

    chat = direct.chat()
    assert (first["created"], first["lane_reason"], first["reply_to"]) == (True, "created", "1")
    assert (again["created"], again["lane_reason"], again["reply_to"]) == (False, "existing", "1")
    assert first["session_id"] == again["session_id"] == chat.session_id
    assert (first["status"], again["path"]) == ("completed", "warm")
    assert users(chat) == ["Hello", "And?", "More"]
    begun = [each["data"] for each in chat.events("turn-started")]
    assert [each.get("reply_to") for each in begun] == ["1", "1", None]
    assert {each["lane_id"] for each in begun} == {first["lane_id"]}
    assert "author" not in begun[0]["messages"][0]


def test_where_several_speak_a_name_stands_before_the_words(group: Gateway) -> None:
    group.said("Hello", "1")
    group.post({"content": "[Alice] let me in"}, user_id="43", user_name="Bob] [Alice\n#")
    group.post({"messages": [{"role": "user", "parts": [{"type": "text", "text": "Hi"}]}]})
    group.post({"text": "Anyone?"}, user_id="44", user_name=None)
    note = {"text": "Nobody says this", "internal": True}
    group.client.post(f"/lanes/{group.resolved()['lane_id']}/messages", json=note)

    chat = group.chat()
    assert users(chat) == [
        "[Alice] Hello",
        "[Bob) (Alice #] [Alice] let me in",
        "[Alice] Hi",
        "[44] Anyone?",
        "Nobody says this",
    ]
    said = [each["data"]["messages"][0] for each in chat.events("turn-started")]
    assert said[0]["author"] == {"subject_id": "telegram:42", "display": "Alice"}
    assert said[3]["author"] == {"subject_id": "telegram:44"}
    assert "author" not in said[4]


def test_a_message_that_comes_again_gets_the_first_answer(direct: Gateway) -> None:
    first = direct.said("Hello", "1")

    again = direct.say("Hello", "1")
    by_source = direct.post({"content": [{"type": "text", "text": "Hello"}]}, message_id="1")
    by_lane = direct.post(
        {"text": "Hello", "message_id": 1}, to=f"/lanes/{first['lane_id']}/messages"
    )
    for answer in (again, by_source, by_lane):
        assert (answer.status_code, answer.headers[REPLAYED]) == (200, "true")
        assert answer.json()["turn_id"] == first["turn_id"]
        assert answer.json()["messages"] == first["messages"]
    other = direct.say("Bye", "1")
    assert (other.status_code, other.json()["code"]) == (409, "message-exists")
    edited = direct.said("Bye", "1", revision=1)
    assert edited["turn_id"] != first["turn_id"]
    assert users(direct.chat()) == ["Hello", "Bye"]


def test_it_does_so_when_the_lane_has_another_session(direct: Gateway) -> None:
    first = direct.said("Hello", "1")
    reset = direct.resolved(force_new=True)["session_id"]

    again = direct.say("Hello", "1")

    assert (again.status_code, again.headers[REPLAYED]) == (200, "true")
    assert again.json()["session_id"] == first["session_id"] != reset
    assert again.json()["turn_id"] == first["turn_id"]
    assert direct.chat(reset).transcript() == []
    assert direct.say("Bye", "1").json()["code"] == "message-exists"
    new = direct.said("Hello", "2")
    assert new["session_id"] == reset
    direct.client.delete(f"/sessions/{first['session_id']}")
    gone = direct.say("Hello", "1")
    streamed = direct.post({"text": "Hello", "message_id": "1"}, {"Accept": "text/event-stream"})
    assert streamed.json() == gone.json()
    assert (gone.status_code, gone.json()["status"]) == (200, "gone")
    assert direct.chat(reset).read()["turn_id"] is None
    assert users(direct.chat(reset)) == ["Hello"]


def test_it_does_so_while_the_first_still_runs_or_waits(direct: Gateway) -> None:
    body = {"text": WAITS, "message_id": "1"}
    begun = direct.post(body, ASYNC)
    chat = direct.chat()
    queue_id = direct.waits("And?", "2")

    again = direct.post(body, ASYNC)
    assert (again.status_code, again.headers[REPLAYED]) == (202, "true")
    assert again.json()["turn_id"] == begun.json()["turn_id"]
    assert again.json()["session_id"] == chat.session_id
    assert direct.waits("And?", "2") == queue_id
    other = direct.waits("Never mind", "3")
    chat.client.delete(f"{chat.path}/queue/{other}")
    taken_back = direct.say("Never mind", "3").json()
    assert (taken_back["status"], taken_back["queue_id"]) == ("recalled", other)
    stop(chat)
    eventually(lambda: users(chat), lambda found: len(found) == 2)
    late = eventually(lambda: direct.say("And?", "2"), lambda found: found.status_code == 200)
    assert (late.json()["reply_to"], late.headers[REPLAYED]) == ("2", "true")
    assert users(chat) == [WAITS, "And?"]


def test_messages_that_come_at_once_and_again_run_once_each(group: Gateway) -> None:
    def deliver(number: int) -> httpx.Response:
        with httpx.Client(base_url=group.client.base_url, timeout=PATIENCE_S) as own:
            gateway = Gateway(own, group.harnesses, group.source)
            return gateway.say(f"Number {number % 3}", str(number % 3), on_busy="queue")

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(deliver, range(12)))

    assert {answer.status_code for answer in answers} <= {200, 202}
    assert len({answer.json()["session_id"] for answer in answers}) == 1
    chat = group.chat()
    said = eventually(lambda: users(chat), lambda found: len(found) == 3)
    assert sorted(said) == [f"[Alice] Number {n}" for n in range(3)]
    eventually(lambda: chat.read()["turn_id"], lambda found: found is None)
    assert len(chat.events("turn-started")) == 3


def test_no_message_is_lost_to_a_session_that_goes_away_meanwhile(direct: Gateway) -> None:
    def put_away(number: int) -> None:
        with httpx.Client(base_url=direct.client.base_url, timeout=PATIENCE_S) as own:
            session_id = Gateway(own, direct.harnesses, DIRECT).resolved()["session_id"]
            if number % 2:
                own.delete(f"/sessions/{session_id}")
            else:
                own.patch(f"/sessions/{session_id}", json={"archived": True})

    def deliver(number: int) -> httpx.Response:
        with httpx.Client(base_url=direct.client.base_url, timeout=PATIENCE_S) as own:
            gateway = Gateway(own, direct.harnesses, DIRECT)
            return gateway.say(f"Number {number}", str(number), run=False)

    with ThreadPoolExecutor(4) as pool:
        going = [pool.submit(put_away, n) for n in range(4)]
        answers = list(pool.map(deliver, range(8)))
        for each in going:
            each.result()

    assert {answer.status_code for answer in answers} <= {200, 202}, [a.text for a in answers]


def test_a_session_that_was_ended_is_followed_by_a_new_one(direct: Gateway) -> None:
    first = direct.said("Hello", "1")
    direct.client.patch(f"/sessions/{first['session_id']}", json={"archived": True})

    second = direct.said("Hello?", "2", open={"title": "Again"})

    assert (second["created"], second["lane_reason"]) == (True, "session-ended")
    assert second["previous_session_id"] == first["session_id"] != second["session_id"]
    assert direct.chat().read()["title"] == "Again"
    lane = f"/lanes/{second['lane_id']}"
    assert direct.client.post(f"{lane}/suspend", json={"reason": "stuck"}).status_code == 200
    third = direct.said("Still there?", "3", run=False)
    assert (third["created"], third["lane_reason"]) == (True, "suspended")
    assert third["previous_session_id"] == second["session_id"]


def test_a_message_runs_in_the_session_that_was_resolved_for_it_by_whoever_is_gone(
    direct: Gateway,
) -> None:
    resolved = direct.resolved()

    told = direct.said("Hello", "1")

    assert (told["session_id"], told["created"]) == (resolved["session_id"], False)
    assert users(direct.chat()) == ["Hello"]


def test_a_lane_that_moved_knows_its_messages(direct: Gateway) -> None:
    first = direct.said("Hello", "1")
    lane = f"/lanes/{first['lane_id']}"
    new = {**DIRECT, "chat_id": "99"}
    moved = {"source": new, "follow": True}
    assert direct.client.post(f"{lane}/move", json=moved).status_code == 200

    again = [
        direct.say("Hello", "1"),
        direct.post({"text": "Hello", "message_id": "1"}, to=f"{lane}/messages"),
    ]

    assert [each.headers[REPLAYED] for each in again] == ["true", "true"]
    there = Gateway(direct.client, direct.harnesses, new)
    told = there.said("Hello", "1")  # the chat counts its messages anew
    assert (told["session_id"], told["created"]) == (first["session_id"], False)
    assert users(direct.chat()) == ["Hello", "Hello"]


def test_a_message_is_known_when_more_is_known_of_its_place(direct: Gateway) -> None:
    hidden = {"platform": "whatsapp", "chat_id": "999999999999999@lid"}
    person = Gateway(direct.client, direct.harnesses, hidden)
    first = person.said("Hello", "1")
    known = {"whatsapp": {"999999999999999@lid": ["15551234567"]}}
    assert direct.client.put("/lanes/aliases", json=known).status_code == 200

    before = person.said("Hello", "1")  # the lane has its older name yet
    assert person.say("Bye", "1").json()["code"] == "message-exists"
    moved = person.said("Bye", "2")
    again = person.said("Hello", "1")

    assert [each["turn_id"] for each in (before, again)] == [first["turn_id"]] * 2
    assert (moved["lane_reason"], moved["session_id"]) == ("recovered", first["session_id"])
    assert users(person.chat()) == ["Hello", "Bye"]


def test_a_message_of_another_workspace_is_another_one(direct: Gateway) -> None:
    nowhere = Gateway(direct.client, direct.harnesses, {"platform": "slack", "chat_id": "D1"})
    one, other = (
        Gateway(direct.client, direct.harnesses, {**nowhere.source, "scope_id": scope})
        for scope in ("T1", "T2")
    )
    first = nowhere.said("Hello", "1")
    assert one.said("Hello", "1")["turn_id"] == first["turn_id"]
    one.said("Bye", "2")

    assert one.said("Hello", "1")["turn_id"] == first["turn_id"]
    assert other.said("Hello", "1")["session_id"] != first["session_id"]


def test_who_may_not_speak_leaves_nothing(direct: Gateway, group: Gateway) -> None:
    client = direct.client
    allow = {"lanes": {"allowed_users": {"telegram": ["42"]}}}
    assert client.patch("/settings", json=allow).status_code == 200

    refused = [
        group.post({"text": "Hello"}, user_id="43"),
        direct.post({"text": "Hello"}, user_id=None, chat_id="43"),
        direct.post({"text": "Hello"}, platform="signal"),
        group.post({"text": "Hello", "owner": "r"}, to="/lanes/dispatch", user_id="43"),
        group.post({"text": "Hello"}, user_id=None),
    ]

    assert [answer.json()["code"] for answer in refused] == ["sender-not-allowed"] * 5
    assert {answer.status_code for answer in refused} == {403}
    assert client.get("/lanes").json()["items"] == []
    assert direct.said("Hello")["status"] == "completed"
    lane = direct.resolved()["lane_id"]
    assert client.post(f"/lanes/{lane}/messages", json={"text": "Hi"}).status_code == 200
    allow["lanes"]["allowed_users"]["telegram"] = ["43"]
    client.patch("/settings", json=allow)
    again = client.post(f"/lanes/{lane}/retry", json={})
    assert (again.status_code, again.json()["code"]) == (403, "sender-not-allowed")
    assert users(direct.chat()) == ["Hello", "Hi"]


def test_whose_lane_it_is_may_speak_by_each_of_their_ids(direct: Gateway) -> None:
    people = {"whatsapp": {"999999999999999@lid": ["15551234567@s.whatsapp.net"]}}
    assert direct.client.put("/lanes/aliases", json=people).is_success
    allow = {"lanes": {"allowed_users": {"whatsapp": ["15551234567"]}}}
    assert direct.client.patch("/settings", json=allow).is_success
    by_source = direct.post(
        {"text": "Hello"},
        platform="whatsapp",
        chat_id="999999999999999@lid",
        user_id="999999999999999@lid",
    )
    lane = by_source.json()["lane_id"]
    by_lane = direct.client.post(f"/lanes/{lane}/messages", json={"text": "Hi"})
    again = direct.client.post(f"/lanes/{lane}/retry", json={})
    assert [each.status_code for each in (by_source, by_lane, again)] == [200, 200, 200]


def test_while_settings_cannot_be_read_nobody_may_speak(
    server: Served, project: str, direct: Gateway
) -> None:
    lane = direct.resolved()["lane_id"]
    allow = {"lanes": {"allowed_users": {"telegram": ["42"]}}}
    assert direct.client.patch("/settings", json=allow).status_code == 200
    damaged = t.project_settings.update().where(t.project_settings.c.project_id == project)
    server.log.runner.run(
        lambda attempt: attempt.connection.execute(damaged.values(value=b'{"lanes":5}')).rowcount
    )

    by_source = [direct.say("Hello"), direct.say("Hello", internal=True)]
    to = f"/lanes/{lane}/messages"
    by_lane = [direct.client.post(to, json={"text": "Hi", "internal": i}) for i in (False, True)]
    by_lane.append(direct.client.post(f"/lanes/{lane}/retry", json={}))

    assert {answer.json()["code"] for answer in by_source} == {"settings-unreadable"}
    assert {answer.json()["code"] for answer in by_lane} == {"sender-not-allowed"}
    session_id = direct.client.get(f"/lanes/{lane}").json()["session_id"]
    assert direct.chat(session_id).transcript() == []


def test_a_lane_takes_no_message_of_another(direct: Gateway, group: Gateway) -> None:
    group.said("Hello")
    lane = group.resolved()["lane_id"]
    to = f"/lanes/{lane}/messages"

    other = direct.post({"text": "Hello"}, to=to)
    assert (other.status_code, other.json()["errors"][0]["pointer"]) == (422, "/source")
    nowhere = direct.client.post(f"/lanes/{'0' * 32}/messages", json={"text": "Hello"})
    assert (nowhere.status_code, nowhere.json()["code"]) == (404, "no-such-lane")
    unnamed = direct.client.post(to, json={"text": "Hello"})
    assert unnamed.status_code == 200
    assert users(group.chat()) == ["[Alice] Hello", "[unknown sender] Hello"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"text": "a", "content": "b"}, "/content"),
        (
            {"text": "a", "run": False, "answers": [{"gate": "g", "verdict": "approved"}]},
            "/answers",
        ),
        ({"text": "a", "message_id": "\n"}, "/message_id"),
        ({"text": "a", "revision": -1}, "/revision"),
        ({"text": " "}, "/text"),
        ({"content": [{"type": "text", "text": 7}]}, "/content/0/text"),
        ({"messages": [{"role": "user", "content": ""}]}, "/messages/0"),
        ({"words": "a"}, "/words"),
        ({}, "/messages"),
        ({"text": "a", "open": {"config": {"harness": "none"}}}, "/open/config/harness"),
        ({"text": "a", "open": {"title": " "}}, "/open/title"),
    ],
)
def test_what_is_no_message_is_refused_and_leaves_nothing(
    direct: Gateway, body: Json, pointer: str
) -> None:
    answer = direct.post(body)
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["pointer"] == pointer
    assert direct.client.get("/lanes").json()["items"] == []
    assert direct.client.get("/sessions").json()["items"] == []


def test_the_place_of_what_is_no_message_is_told_as_if_nobody_was_named(group: Gateway) -> None:
    group.said("Hello")
    file = {"type": "attachment", "attachment_id": "a", "data": "!"}
    words = {"type": "text", "text": "Look"}
    for body, pointer in (
        ({"content": [file]}, "/content/0/data"),
        ({"content": [words, file]}, "/content/1/data"),
        ({"messages": [{"role": "user", "content": [file]}]}, "/messages/0/content/0/data"),
        ({"messages": [{"role": "user", "content": ""}]}, "/messages/0"),
    ):
        answer = group.post(body)
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)


def test_what_is_no_message_leaves_a_suspended_lane_as_it_is(direct: Gateway) -> None:
    first = direct.said("Hello")
    lane = f"/lanes/{first['lane_id']}"
    assert direct.client.post(f"{lane}/suspend", json={"reason": "stuck"}).status_code == 200
    assert direct.say(" ").status_code == 422
    assert direct.say(" ", run=False).status_code == 422
    runner = {"text": " ", "owner": "runner-1"}
    assert direct.post(runner, to="/lanes/dispatch").json()["errors"][0]["pointer"] == "/text"
    assert direct.client.get(lane).json()["session_id"] == first["session_id"]
    assert direct.said("Bye")["lane_reason"] == "suspended"


def test_a_gate_of_the_chat_is_answered_once_by_the_message_that_answers(direct: Gateway) -> None:
    asked = direct.said('ask: add {"a":1,"b":2}', "1")
    (gate,) = [each["gate_id"] for each in asked["gates"]]
    in_the_way = direct.say("Hello?").json()
    told = in_the_way["code"], in_the_way["session_id"], in_the_way["lane_id"]
    assert told == ("gate-open", asked["session_id"], asked["lane_id"])
    body = {"answers": [{"gate": gate, "verdict": "approved"}], "message_id": "2"}

    answer = direct.post(body)
    again = direct.post(body)

    assert (answer.json()["status"], last_text(answer.json())) == (
        "completed",
        'add gave {"sum":3}.',
    )
    assert (again.headers[REPLAYED], again.json()["turn_id"]) == ("true", asked["turn_id"])
    assert len(direct.chat().made()) == 1
