"""What people do about the turns of a lane's session, typed in the chat."""

from base64 import b64encode
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import httpx

from tests.api.batches import Json, append, batch, problem, turn
from tests.api.chats import ASYNC, Chat, last_text
from tests.api.places import Place, place

WAITS = "tool: wait {}"
MEMBERS = ("lane_id", "session_id")


def spoken(here: Place) -> list[Json]:
    """Return what people said, as it stands in the transcript."""
    return [message for message in here.now.transcript() if message["role"] == "user"]


def busy(here: Place) -> str:
    """Have a turn run in the lane's session; return its id."""
    return here.now.begun(WAITS)


def test_turns_are_taken_back_and_brought_back_once(chat: Chat) -> None:
    here = place(chat)
    assert problem(here.ask("undo"))[:2] == (409, "nothing-to-rewind")
    for text in ("one", "two", "three"):
        here.now.said(text)

    first, again = (here.do("undo", turns=2, message_id=each) for each in (1001, 1001))

    assert first == again
    assert [first[name] for name in MEMBERS] == [here.lane_id, here.now.session_id]
    assert (first["turns_rewound"], first["target"]["text"]) == (2, "two")
    assert here.do("redo")["turns_restored"] == 2
    assert here.do("undo", turns=-5)["target"]["text"] == "three"
    assert here.do("undo", turns=10**30)["turns_rewound"] == 2
    assert here.do("redo")["turns_restored"] == 2
    assert [message["parts"][0]["text"] for message in spoken(here)] == ["one", "two"]
    assert problem(here.ask("redo", rewind_version=1))[:2] == (404, "no-such-rewind")


def test_what_was_said_last_is_said_again_as_it_was(chat: Chat) -> None:
    here = place(chat, chat_type="group", chat_id="-1", thread_id="7")
    data = b64encode(b"a,b\n1,2\n").decode()
    file = {"type": "attachment", "attachment_id": "a", "media_type": "text/csv", "data": data}
    words = [{"type": "text", "text": "[Alice]  two\n\n words "}, file]
    said = {"role": "user", "content": words, "author": {"subject_id": "42"}, "message_id": "u1"}
    here.now.said("Hello")
    assert here.now.post({"messages": [said]}).status_code == 200
    (_, before) = spoken(here)

    first = here.ask("retry", message_id="m1")
    again = here.ask("retry", message_id="m1")

    retried = first.json()
    assert (first.status_code, again.status_code) == (200, 200)
    assert retried["turn_id"] == again.json()["turn_id"]
    assert again.headers["Idempotent-Replayed"] == "true"
    assert [retried[name] for name in MEMBERS] == [here.lane_id, here.now.session_id]
    assert retried["reply_to"] == "m1"
    (_, after) = spoken(here)
    assert after["turn_id"] == retried["turn_id"] != before["turn_id"]
    assert after["parts"] == before["parts"]
    assert after["author"] == before["author"]
    rewound, started = here.now.events("history-rewound", "turn-started")[-2:]
    assert (rewound["type"], started["data"]["lane_id"]) == ("history-rewound", here.lane_id)
    chat.client.delete(f"/sessions/{here.now.session_id}")
    gone = here.ask("retry", message_id="m1")
    assert (gone.status_code, gone.json()["status"]) == (200, "gone")


def test_a_turn_that_runs_is_said_again_only_if_it_is_to_be_interrupted(chat: Chat) -> None:
    here = place(chat)
    assert problem(here.ask("retry"))[:2] == (409, "nothing-to-retry")
    turn_id = busy(here)
    assert problem(here.ask("retry"))[:2] == (409, "turn-in-progress")
    assert problem(here.ask("undo"))[:2] == (409, "turn-in-progress")

    answer = here.ask("retry", ASYNC, interrupt=True)

    assert answer.status_code == 202, answer.text
    assert here.now.ended(turn_id)["status"] == "interrupted"
    assert [message["turn_id"] for message in spoken(here)] == [answer.json()["turn_id"]]
    assert here.do("stop")["stopped"]


def test_what_is_said_again_by_several_at_once_is_the_last_that_is_in_sight(chat: Chat) -> None:
    here = place(chat)
    here.now.said("one")

    def at_once(number: int) -> Sequence[httpx.Response]:
        here.now.said(f"two {number}")
        with ThreadPoolExecutor(4) as threads:
            asked = [threads.submit(here.ask, "retry") for _ in range(3)]
            undone = threads.submit(here.ask, "undo")
            assert undone.result().status_code in {200, 409}
            return [each.result() for each in asked]

    answers = [answer for number in range(8) for answer in at_once(number)]

    found = {(each.status_code, each.json().get("code")) for each in answers}
    assert found <= {(200, None), (409, "turn-in-progress")}


def test_what_is_said_again_while_the_lane_gets_another_session_is_of_one_of_them(
    chat: Chat,
) -> None:
    here = place(chat)

    def at_once(number: int) -> Sequence[httpx.Response]:
        here.ask("messages", text=f"one {number}")
        with ThreadPoolExecutor(4) as threads:
            asked = [threads.submit(here.ask, "retry") for _ in range(3)]
            threads.submit(here.do, "reset").result()
            return [each.result() for each in asked]

    answers = [answer for number in range(8) for answer in at_once(number)]

    found = {(each.status_code, each.json().get("code")) for each in answers}
    assert found <= {(200, None), (409, "turn-in-progress"), (409, "nothing-to-retry")}
    chat.client.patch(here.now.path, json={"archived": True})
    assert problem(here.ask("retry"))[:2] == (409, "nothing-to-retry")
    here.ask("messages", text="two")
    chat.client.patch(here.now.path, json={"archived": True})
    assert problem(here.ask("retry"))[:2] == (409, "session-archived")


def test_what_is_taken_back_while_the_lane_gets_another_session_is_of_one_of_them(
    chat: Chat,
) -> None:
    here = place(chat)

    def at_once(number: int) -> Sequence[httpx.Response]:
        for words in ("one", "two"):
            here.ask("messages", text=f"{words} {number}", run=False)
            here.now.said(f"{words} {number}")
        with ThreadPoolExecutor(4) as threads:
            asked = [threads.submit(here.ask, "undo") for _ in range(3)]
            threads.submit(here.do, "reset").result()
            return [each.result() for each in asked]

    answers = [answer for number in range(12) for answer in at_once(number)]

    found = {(each.status_code, each.json().get("code")) for each in answers}
    assert found <= {(200, None), (409, "nothing-to-rewind")}


def test_what_waits_for_an_answer_is_withdrawn_when_it_is_said_again(chat: Chat) -> None:
    here = place(chat)
    (gate,) = here.now.asked()

    assert here.do("retry")["status"] == "paused"

    assert chat.client.get(f"/approvals/{gate}").json()["status"] == "withdrawn"
    assert len(spoken(here)) == 1
    here.do("suspend", reason="stuck")
    assert problem(here.ask("retry"))[:2] == (409, "lane-suspended")


def test_what_is_not_for_the_agent_is_not_said_again(chat: Chat) -> None:
    here = place(chat)
    here.now.said("for you")
    assert here.ask("messages", text="for others", run=False).is_success

    retried = here.do("retry")

    assert last_text(retried) == 'Message 1: you said "for you".'
    assert len(spoken(here)) == 1


def test_what_runs_is_stopped_once(chat: Chat) -> None:
    here = place(chat)
    assert here.do("stop")["stopped"] is False
    turn_id = busy(here)

    stopped = here.do("stop", message_id="m1")

    assert (stopped["stopped"], stopped["delivered"]) == (True, True)
    assert here.now.ended(turn_id)["status"] == "interrupted"
    later = busy(here)
    assert here.do("stop", message_id="m1") == stopped
    assert here.now.turn(later)["status"] == "running"
    here.do("stop")


def test_inputs_wait_in_a_lane_and_are_taken_back(chat: Chat) -> None:
    here = place(chat, chat_type="group", chat_id="-1", thread_id="7")
    idle = here.ask("queue", text="at once")
    assert (idle.status_code, idle.json()["status"]) == (200, "completed")
    turn_id = busy(here)
    sender = {**chat_source(here), "user_name": "Alice"}

    answers = [here.ask("queue", text=f"n{n}", message_id=f"m{n}", source=sender) for n in range(3)]

    ids = [answer.json()["queue_id"] for answer in answers]
    assert [answer.status_code for answer in answers] == [202, 202, 202]
    assert here.ask("queue", text="n0", message_id="m0", source=sender).json()["queue_id"] == ids[0]
    page = here.read("/queue")
    assert [item["queue_id"] for item in page["items"]] == ids
    assert [page[name] for name in MEMBERS] == [here.lane_id, here.now.session_id]
    assert here.now.turn(turn_id)["status"] == "running"
    taken = chat.client.delete(f"{here.path}/queue/{ids[1]}")
    assert (taken.status_code, taken.json()["status"]) == (200, "recalled")
    assert here.ask("queue", text="now", on_busy="interrupt").status_code == 422

    emptied = chat.client.delete(f"{here.path}/queue").json()

    assert [each["queue_id"] for each in emptied["recalled"]] == [ids[0], ids[2]]
    assert here.read("/queue")["items"] == []
    here.do("stop")


def test_what_waits_is_taken_back_once_for_one_key(chat: Chat) -> None:
    here = place(chat, chat_type="group", chat_id="-1", thread_id="7")
    busy(here)

    def taken(key: str, queue_id: str | None = None) -> httpx.Response:
        at = f"{here.path}/queue" if queue_id is None else f"{here.path}/queue/{queue_id}"
        return chat.client.delete(at, headers={"Idempotency-Key": key})

    here.ask("queue", text="one")
    first = taken("all")
    queue_id = here.ask("queue", text="two").json()["queue_id"]
    again = taken("all")
    assert len(first.json()["recalled"]) == 1
    assert (again.json(), again.headers.get("Idempotent-Replayed")) == (first.json(), "true")
    assert [item["queue_id"] for item in here.read("/queue")["items"]] == [queue_id]

    first, again = (taken("one", queue_id) for _ in range(2))

    assert first.json() == again.json()
    assert [each.headers.get("Idempotent-Replayed") for each in (first, again)] == [None, "true"]
    assert problem(taken("two", queue_id))[:2] == (409, "input-started")
    here.do("stop")


def test_only_what_came_by_a_lane_is_taken_back_where_another_has_the_session(chat: Chat) -> None:
    here, other = place(chat, chat_id="1"), place(chat, chat_id="2")
    here.do("switch", session_id=other.now.session_id)
    busy(other)
    mine, theirs = (each.ask("queue", text="wait").json()["queue_id"] for each in (here, other))

    made = here.do("reset")

    assert [each["queue_id"] for each in made["recalled"]] == [mine]
    assert [each["queue_id"] for each in other.read("/queue")["items"]] == [theirs]
    assert chat.client.delete(f"{here.path}/queue").json()["recalled"] == []
    chat.client.delete(f"{other.path}/queue")
    other.do("stop")


def test_what_another_lane_said_is_said_again_but_replies_to_nothing_there(chat: Chat) -> None:
    here, other = place(chat, chat_id="1"), place(chat, chat_id="2")
    here.do("switch", session_id=other.now.session_id)
    assert other.ask("messages", text="Hello", message_id="m1").is_success
    assert other.do("retry")["reply_to"] == "m1"

    retried = here.do("retry")

    assert (retried["lane_id"], retried.get("reply_to")) == (here.lane_id, None)


def test_a_runners_turn_is_cut_off_by_a_reset(chat: Chat) -> None:
    here = place(chat)
    old = here.now.session_id
    started, *rest = turn("t1")
    assert append(chat.client, old, batch(1, started)).status_code == 201

    assert here.do("reset")["interrupted"] == "t1"

    told = [each["type"] for each in here.of(old).events("interrupt-requested", "turn-interrupted")]
    assert told == ["interrupt-requested", "turn-interrupted"]
    assert problem(append(chat.client, old, batch(2, *rest)))[0] == 409


def chat_source(here: Place) -> Json:
    """Return where a lane is."""
    found: Json = here.read()["source"]
    return found
