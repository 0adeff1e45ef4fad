"""What people have a lane do with its conversation: once, and never with another's."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from domain.commands import InterruptTurn
from domain.keys import keys_of
from infrastructure.command_handler import Caller, Target
from infrastructure.runner import Attempt
from tests.api.batches import Json, problem
from tests.api.chats import Chat, eventually
from tests.api.places import Place, place, resolved
from tests.api.serving import ON_ONE_DATABASE, Served

WAITS = "tool: wait {}"
GROUP = {"chat_type": "group", "chat_id": "-1001"}


def status(here: Place, session_id: str) -> tuple[str, str | None]:
    """Return how a session stands, and why it ended."""
    found = here.of(session_id).read()
    return found["status"], found.get("archived_reason")


def resumable(here: Place, **query: str | int) -> list[str]:
    """Return which sessions may be gone on with."""
    return [each["session_id"] for each in here.read("/resumable", **query)["items"]]


def renamed(here: Place, title: str) -> str:
    """Give the current session a title; return its id."""
    now = here.now
    answer = here.chat.client.patch(now.path, json={"title": title})
    assert answer.status_code == 200, answer.text
    return now.session_id


def waits(here: Place, text: str) -> str:
    """Have an input wait in the current session; return its id."""
    answer = here.now.say(text, on_busy="queue")
    assert answer.status_code == 202, answer.text
    queue_id: str = answer.json()["queue_id"]
    return queue_id


def stop(chat: Chat) -> None:
    """Leave nothing behind that runs."""
    assert chat.client.post(f"{chat.path}/interrupt", json={}).is_success


def test_a_reset_ends_what_is_under_way_and_begins_anew_once(chat: Chat) -> None:
    here = place(chat)
    old = here.now
    turn_id = old.begun(WAITS)
    queue_id = waits(here, "later")

    assert problem(here.ask("reset", interrupt=False))[:2] == (409, "turn-in-progress")
    first = here.ask("new", message_id="m1")
    again = here.ask("reset", message_id="m1")

    made = first.json()
    assert (first.status_code, made) == (200, again.json())
    assert [each.headers.get("Idempotent-Replayed") for each in (first, again)] == [None, "true"]
    assert (made["reason"], made["created"], made["had_activity"]) == ("forced", True, True)
    assert made["previous_session_id"] == old.session_id
    assert made["interrupted"] == turn_id
    assert [each["queue_id"] for each in made["recalled"]] == [queue_id]
    assert here.read()["session_id"] == made["session_id"] == resolved(chat)["session_id"]
    assert here.read()["reset"]["reason"] == "requested"
    assert status(here, old.session_id) == ("archived", "lane-reset")
    assert old.ended(turn_id)["status"] == "interrupted"
    assert old.read("/queue")["items"] == []
    assert eventually(old.seat, lambda seat: seat is None) is None
    assert here.now.said("Hello")["status"] == "completed"


def test_a_reset_leaves_a_lane_that_is_not_as_it_was_seen(chat: Chat) -> None:
    here = place(chat)
    old = here.now
    turn_id = old.begun(WAITS)
    seen = chat.client.get(here.path).headers["ETag"]
    assert chat.client.patch(here.path, json={"pinned": True}).status_code == 200

    stale = chat.client.post(f"{here.path}/reset", json={}, headers={"If-Match": seen})
    assert problem(stale)[:2] == (412, "version-mismatch")
    assert here.read()["session_id"] == old.session_id
    assert old.read()["turn_id"] == turn_id, "nothing was stopped"

    now = chat.client.get(here.path).headers["ETag"]
    given = {"If-Match": now, "Idempotency-Key": f"anew-{old.session_id}"}
    made = chat.client.post(f"{here.path}/reset", json={}, headers=given)
    assert (made.status_code, made.json()["interrupted"]) == (200, turn_id)
    again = chat.client.post(f"{here.path}/reset", json={}, headers=given)
    assert (again.json(), again.headers["Idempotent-Replayed"]) == (made.json(), "true")


@ON_ONE_DATABASE
def test_a_lane_that_moved_is_not_as_it_was_seen_wherever_it_moved(chat: Chat) -> None:
    here = place(chat)
    old = here.now.session_id
    seen = chat.client.get(here.path).headers["ETag"]
    moved = here.do("move", source={"platform": "telegram", "chat_id": f"-{old}"})
    there = f"/lanes/{moved['lane_id']}"
    assert chat.client.get(there).headers["ETag"] == seen

    given = {"If-Match": seen}
    for stale in (
        chat.client.post(f"{here.path}/reset", json={}, headers=given),
        chat.client.patch(here.path, json={"pinned": True}, headers=given),
    ):
        assert problem(stale)[:2] == (412, "version-mismatch")
    assert chat.client.get(there).json()["session_id"] == old

    now = chat.client.get(here.path).headers["ETag"]
    made = chat.client.post(f"{here.path}/reset", json={}, headers={"If-Match": now})
    assert (made.status_code, made.json()["lane_id"]) == (200, moved["lane_id"])


def test_a_reset_begins_with_what_it_says_and_else_as_before(chat: Chat) -> None:
    here = place(chat)
    chat.client.patch(here.now.path, json={"approval_mode": "read-only"})

    here.do("reset", open={"title": "New"})

    found = here.now.read()
    assert (found["title"], found["approval_mode"]) == ("New", "read-only")


def test_what_waits_for_an_answer_is_withdrawn_by_a_reset(chat: Chat) -> None:
    here = place(chat)
    old = here.now
    (gate,) = old.asked()

    made = here.do("reset", interrupt=False)

    found = chat.client.get(f"/approvals/{gate}").json()
    assert found["status"] == "withdrawn"
    assert made["interrupted"] is not None
    assert status(here, old.session_id) == ("archived", "lane-reset")


def test_what_another_lane_has_goes_on_there(chat: Chat) -> None:
    here, other = place(chat, chat_id="1"), place(chat, chat_id="2")
    shared = other.now.session_id
    assert here.do("switch", session_id=shared)["changed"]
    turn_id = here.of(shared).begun(WAITS)

    made = here.do("reset")

    assert (made["interrupted"], made["recalled"]) == (None, [])
    assert status(here, shared)[0] == "open"
    assert here.of(shared).turn(turn_id)["status"] == "running"
    assert other.read()["session_id"] == shared != here.read()["session_id"]
    stop(here.of(shared))


def test_commands_at_the_same_time_leave_one_current_session(chat: Chat) -> None:
    here = place(chat)
    first = here.now.session_id
    here.now.begun(WAITS)

    def one(number: int) -> Json:
        if number % 4 == 3:
            return here.do("switch", session_id=first)
        return here.do("reset")

    with ThreadPoolExecutor(4) as people:
        found = list(people.map(one, range(8)))

    made = [each["session_id"] for each in found if each.get("created")]
    assert len(set(made)) == 6
    ids = [first, *made]
    is_open = [each for each in ids if status(here, each)[0] == "open"]
    assert is_open == [here.read()["session_id"]]


def test_a_lane_is_suspended_marked_and_pinned_once(chat: Chat) -> None:
    here = place(chat)
    old = here.now.session_id

    assert here.do("resume-mark", reason="restart-timeout")["marked"]
    again = here.do("resume-mark", reason="other")
    assert (again["marked"], again["resume_reason"]) == (False, "restart-timeout")
    assert resolved(chat)["reason"] == "resume-pending"
    cleared = [chat.client.delete(f"{here.path}/resume-mark").json() for _ in range(2)]
    assert [each["cleared"] for each in cleared] == [True, False]
    assert not cleared[0]["resume_pending"]

    pinned = chat.client.patch(here.path, json={"pinned": True})
    assert (pinned.json()["pinned"], pinned.json()["changed"]) == (True, True)
    stale = chat.client.patch(here.path, json={"pinned": False}, headers={"If-Match": '"1"'})
    assert problem(stale)[:2] == (412, "version-mismatch")

    assert [here.do("suspend", reason="stuck")["changed"] for _ in range(2)] == [True, False]
    assert problem(here.ask("resume-mark", reason="x"))[:2] == (409, "lane-suspended")
    found = resolved(chat)
    assert (found["reason"], found["previous_session_id"]) == ("suspended", old)
    assert not here.read()["suspended"]


def test_a_mark_that_the_session_got_is_kept_and_cleared_with_the_lanes(
    server: Served, chat: Chat, project: str
) -> None:
    here = place(chat)
    turn_id = here.now.begun(WAITS)
    target = Target(project_id=project, session_id=here.now.session_id)
    cut_off = InterruptTurn(turn_id=turn_id, reason="server-restarted")

    def write(attempt: Attempt) -> None:
        steps = [cut_off]
        server.log.handler.carry_out(attempt, target, steps, keys_of(steps), caller=Caller())

    server.log.runner.submit(write).result()

    marked = here.do("resume-mark", reason="restart-timeout")
    assert (marked["marked"], marked["resume_reason"]) == (False, "server-restarted")
    cleared = chat.client.delete(f"{here.path}/resume-mark").json()
    assert (cleared["cleared"], cleared["resume_pending"]) == (True, False)
    assert here.now.read()["resume_pending"] is None
    stop(here.now)


def test_the_same_command_at_the_same_time_is_done_once(chat: Chat) -> None:
    here = place(chat)
    first = here.now.session_id

    with ThreadPoolExecutor(4) as people:
        asked = [people.submit(here.do, "reset", message_id="m1") for _ in range(8)]
        found = [each.result() for each in asked]

    assert len({each["session_id"] for each in found}) == 1
    assert found[0]["previous_session_id"] == first


def test_a_conversation_moves_to_a_place_that_has_none(chat: Chat) -> None:
    here, other = place(chat, chat_id="1"), place(chat, chat_id="3")
    there = {"platform": "telegram", "chat_id": "2"}

    assert problem(here.ask("move", source={**there, "chat_id": "3"}))[:2] == (409, "lane-exists")
    moved = here.do("move", source=there, message_id="m1")
    assert (moved["changed"], moved["moved_from"]) == (True, here.lane_id)
    assert here.do("move", source=there)["changed"] is False
    assert here.do("suspend", reason="stuck")["lane_id"] == moved["lane_id"]
    assert other.read()["status"] == "open"
    assert here.read()["status"] == "moved"


def test_an_earlier_session_goes_on_by_how_it_is_called(chat: Chat) -> None:
    here, mine = place(chat), place(chat, **GROUP)
    garden = renamed(here, "The Garden")
    here.do("reset")
    plans = renamed(here, "Garden plans")
    tax = renamed(mine, "Taxes")

    assert set(resumable(here)) == {garden, plans, tax}
    assert resumable(here, title="garden") == [plans]
    assert here.read("/resumable", limit=1)["more"]

    turn_id = here.now.begun(WAITS)
    switched = here.do("switch", title="THE garden")
    assert (switched["session_id"], switched["changed"]) == (garden, True)
    assert switched["interrupted"] == turn_id
    assert status(here, garden) == ("open", None)
    assert status(here, plans) == ("archived", "lane-switched")
    assert here.do("switch", session_id=garden)["changed"] is False
    assert here.do("switch", title="tax")["session_id"] == tax
    assert status(here, garden) == ("archived", "lane-switched")
    assert mine.read()["session_id"] == tax


@pytest.mark.parametrize("title", ["Garden", "gar"])
def test_several_of_one_title_are_named(chat: Chat, title: str) -> None:
    here = place(chat)
    first = renamed(here, "Garden")
    here.do("reset")
    second = renamed(here, "garden")

    answer = here.ask("switch", title=title)

    assert problem(answer)[:2] == (409, "ambiguous-session")
    assert answer.json()["candidates"] == [
        {"session_id": second, "title": "garden"},
        {"session_id": first, "title": "Garden"},
    ]


def test_nobody_goes_on_with_another_persons_session_nor_hears_of_it(chat: Chat) -> None:
    here, theirs = place(chat), place(chat, chat_id="100", user_id="43")
    shared = place(chat, chat_id="-1001", chat_type="group", thread_id="7")
    secret = renamed(theirs, "Secret")
    gone = renamed(here, "Gone")
    here.do("reset")
    assert chat.client.delete(here.of(gone).path).is_success
    turn_id = here.now.begun(WAITS)

    for asks in (here, shared):
        for named in ({"session_id": secret}, {"title": "Secret"}, {"session_id": "none"}):
            assert problem(asks.ask("switch", **named))[:2] == (404, "no-such-session")
    assert problem(here.ask("switch", session_id=gone))[:2] == (404, "no-such-session")
    assert secret not in resumable(here)
    assert here.now.turn(turn_id)["status"] == "running"
    stop(here.now)
    assert here.ask("switch").status_code == 422
    assert here.ask("switch", title="a", session_id="b").status_code == 422


def test_what_moved_away_is_not_of_who_comes_to_the_place_after(chat: Chat) -> None:
    group = {"chat_type": "group", "thread_id": "7"}
    here = place(chat, chat_id="-1", **group)
    old = renamed(here, "Before")
    here.do("reset")
    current = renamed(here, "Ours")
    source = {**here.read()["source"], "chat_id": "-2"}
    there = Place(chat, here.do("move", source=source, follow=False)["lane_id"])
    assert set(resumable(there)) == {old, current}

    assert place(chat, chat_id="-1", user_id="7", **group) == here
    theirs = renamed(here, "Theirs")
    assert here.ask("messages", text="heron").is_success
    assert there.ask("messages", text="heron").is_success

    for mine, only in ((here, theirs), (there, current)):
        asked = {"q": "heron", "lane": mine.lane_id}
        found = chat.client.get("/search", params=asked, headers={"Prefer": "wait=60"}).json()
        assert {each["session_id"] for each in found["items"]} == {only}
    assert (resumable(here), resumable(there)) == ([theirs], [current])
    for mine, title in ((here, "Ours"), (here, "Before"), (there, "Theirs")):
        assert problem(mine.ask("switch", title=title))[:2] == (404, "no-such-session")
    last = Place(chat, here.do("move", source={**source, "chat_id": "-3"})["lane_id"])
    assert (resumable(last), resumable(there)) == ([theirs], [current])


def test_a_branch_goes_on_here_or_elsewhere_and_the_session_stays(chat: Chat) -> None:
    here = place(chat)
    old = renamed(here, "Garden")
    turn_id = here.now.said("Hello")["turn_id"]
    here.now.said("More")

    made = here.do("branch", at_turn=turn_id, message_id="m1")
    again = here.do("branch", at_turn=turn_id, message_id="m1")
    assert made["branch"] == again["branch"]
    assert made["branch"]["forked_from"] == old
    assert made["session_id"] == made["branch"]["session_id"] != old
    assert made["session"]["title"] == "Garden (2)"
    assert len(here.now.texts()) == 2
    assert status(here, old) == ("open", None)
    assert here.do("switch", session_id=old)["changed"]

    thread = {"platform": "telegram", "chat_id": "99", "user_id": "42", "thread_id": "7"}
    there = here.do("branch", source=thread, title="Aside")
    assert there["lane_id"] != here.lane_id
    assert there["session"]["title"] == "Aside"
    assert here.read()["session_id"] == old
    assert problem(here.ask("branch", source=thread))[:2] == (409, "lane-exists")
    assert here.ask("branch", here=False).status_code == 422


def test_another_projects_lane_is_on_no_route_told_from_one_that_never_was(
    server: Served, chat: Chat, project: str
) -> None:
    described = chat.client.get(f"{server.url}/openapi.json").json()
    with server.client(f"{project}-of-others") as others:
        theirs = place(replace(chat, client=others)).lane_id
    asked: set[str] = set()
    for path, item in described["paths"].items():
        below = path.removeprefix("/v1/projects/{project_id}")
        for method, operation in item.items() if below.startswith("/lanes/{lane_id}") else ():
            content = operation.get("requestBody", {}).get("content", {})
            body = content.get("application/json", {}).get("example")
            for lane_id in (theirs, "0" * 32):
                url = below.format(lane_id=lane_id, queue_id="q")
                answer = chat.client.request(method, url, json=body)
                assert problem(answer)[:2] == (404, "no-such-lane"), (method, below)
            asked.add(below)
    assert len(asked) >= 18
