"""A day of an agent's server, which is killed again and again: what was taken is kept, once.

Several sessions are talked to at once: turns, answers, a queue, steering, interrupts, compaction,
names, deletions. At a random moment the server is killed in the midst of it, and the next one goes
on. What was not acknowledged is asked again, as a client would, under the same id.
"""

import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Timer

import httpx
import pytest

from tests.api.batches import Json
from tests.conftest import NewDatabase
from tests.databases import DatabaseKind
from tests.faults.hosting import (
    ENDS,
    Forking,
    Served,
    Servers,
    assert_kept,
    assert_sound,
    eventually,
    quiet,
    servers_of,
)

LONGEST_S = 1.8
WAITING = 3
LANES = 3
KILLS = int(os.environ.get("TURNLOG_DAY_KILLS", "0"))
"""So many on each database; docs/recovering.md says how to have a long day."""
SCRIPT = (
    "remember a={n}",
    'tool: add {{"a":{n},"b":1}}',
    'ask: echo {{"n":{n}}}',
    "stream: 20",
    "delay: 80 Number {n}",
    'ask: echo {{"n":{n}}}; echo {{"again":{n}}}',
)
UNDECIDED = {409, 410, 503}


@dataclass
class Talk:
    """What was asked of one session, and what was acknowledged.

    Attributes:
        recalled: What was asked for to be taken back, and whether that was acknowledged.
    """

    session_id: str
    said: dict[str, str] = field(default_factory=dict[str, str])
    taken: list[str] = field(default_factory=list[str])
    recalled: dict[str, bool] = field(default_factory=dict[str, bool])
    asks_to_delete: bool = False
    deleted: bool = False

    @property
    def untaken(self) -> list[str]:
        """Return the inputs that were not acknowledged, in the order in which they were said."""
        return [message_id for message_id in self.said if message_id not in self.taken]


@dataclass
class Day:
    """Somebody who talks in several sessions, until the line is cut."""

    server: Served
    chance: Random
    talks: list[Talk] = field(default_factory=list[Talk])
    decided: set[str] = field(default_factory=set[str])

    def goes_on(self) -> None:
        """Do one thing after the other until nobody answers any more."""
        while True:
            for talk in self.open():
                self.act(talk)
            self.answer()

    def open(self) -> list[Talk]:
        """Return the sessions that are talked in; new ones come for those that were deleted."""
        found = [talk for talk in self.talks if not talk.deleted]
        for _ in range(LANES - len(found)):
            talk = Talk(f"s{len(self.talks)}")
            self.talks.append(talk)
            found.append(talk)
        return found

    def act(self, talk: Talk) -> None:
        """Do something in a session."""
        path = f"/sessions/{talk.session_id}"
        opened = self.server.http.post("/sessions", json={"session_id": talk.session_id})
        if talk.asks_to_delete or opened.status_code == 404:
            self.delete(talk)
            return
        assert opened.status_code in {200, 201, 409}, opened.text
        for message_id in talk.untaken:
            if not self.send(talk, message_id):
                return
        if self.pending(talk) < WAITING:
            number = len(talk.said)
            text = self.chance.choice(SCRIPT).format(n=number)
            talk.said[f"{talk.session_id}-m{number}"] = text
        if self.chance.random() < 0.3:
            self.otherwise(talk, path)
        if self.chance.random() < 0.03:
            talk.asks_to_delete = True

    def otherwise(self, talk: Talk, path: str) -> None:
        """Do something else in a session than talk."""
        match self.chance.randrange(5):
            case 0:
                done = self.server.http.post(f"{path}/interrupt", json={})
            case 1:
                done = self.server.http.post(f"{path}/compact", json={})
            case 2:
                done = self.recall(talk, path)
            case 3:
                done = self.server.http.patch(path, json={"title": f"{self.chance.random()}"})
            case _:
                done = self.server.http.get(f"{path}/transcript")
        assert done.status_code in {502, 503, 504} or done.status_code < 500, done.text

    def recall(self, talk: Talk, path: str) -> httpx.Response:
        """Take back the input that waits last."""
        found = self.server.http.get(f"{path}/queue")
        waiting = found.json().get("items", [])
        if not waiting:
            return found
        last = waiting[-1]
        talk.recalled[last["message_id"]] = False
        done = self.server.http.delete(f"{path}/queue/{last['queue_id']}")
        talk.recalled[last["message_id"]] = done.is_success
        return done

    def pending(self, talk: Talk) -> int:
        """Return how many inputs were not acknowledged, or have no end in sight."""
        facts = self.server.events(session_id=talk.session_id)
        return len(talk.said) - len(ended_inputs(facts)) - len(taken_back(facts))

    def send(self, talk: Talk, message_id: str) -> bool:
        """Send an input, which waits if it has to; tell whether it is taken."""
        busy = "steer" if self.chance.random() < 0.2 else "queue"
        answer = self.server.say(
            talk.said[message_id],
            talk.session_id,
            headers={"Prefer": "respond-async"},
            message_id=message_id,
            on_busy=busy,
            on_gate="queue",
        )
        if answer.status_code in {200, 202}:
            talk.taken.append(message_id)
            return True
        code = answer.json()["code"]
        if code == "session-suspended":
            path = f"/sessions/{talk.session_id}"
            self.server.http.patch(path, json={"suspended": False})
        else:
            assert code in {"queue-full", "compacting"} or answer.status_code == 503, answer.text
        return False

    def answer(self) -> None:
        """Approve, or deny, what waits."""
        listed = self.server.http.get("/approvals", params={"status": "open"}).json()
        for gate in listed.get("items", []):
            verdict = self.chance.choice(("approved", "approved", "denied"))
            answer = self.server.decide(gate["gate_id"], verdict)
            if answer.status_code == 202:
                self.decided.add(gate["gate_id"])
            else:
                assert answer.status_code in UNDECIDED | {404}, answer.text

    def delete(self, talk: Talk) -> None:
        """Delete a session; one that is gone was deleted when nobody heard the answer."""
        done = self.server.http.delete(f"/sessions/{talk.session_id}")
        assert done.status_code in {204, 404, 503}, done.text
        talk.deleted = done.status_code != 503


@pytest.mark.parametrize(("kind", "kills"), [("sqlite", KILLS or 12), ("postgresql", KILLS or 4)])
def test_nothing_that_was_taken_is_lost_or_done_twice(
    forking_process: Forking,
    new_database: NewDatabase,
    tmp_path: Path,
    kind: DatabaseKind,
    kills: int,
) -> None:
    chance = Random(os.environ.get("TURNLOG_DAY_SEED", "4711"))  # noqa: S311 - the same each time
    with servers_of(forking_process, tmp_path, new_database(kind)) as servers:
        day = Day(servers.start(), chance)
        for _ in range(kills):
            timer = Timer(0.1 + chance.random() * LONGEST_S, day.server.kill)
            timer.start()
            with pytest.raises(httpx.TransportError):
                day.goes_on()
            timer.join()
            day.server = servers.start()
        finish(day)
        check(servers, day)


def finish(day: Day) -> None:
    """Send what was not taken, and answer what waits, until nothing is left."""
    left = [talk for talk in day.open() if talk.said]

    def is_done() -> bool:
        for talk in left:
            if talk.asks_to_delete and not talk.deleted:
                day.delete(talk)
            for message_id in [] if talk.deleted else talk.untaken:
                day.send(talk, message_id)
        day.answer()
        return all(t.deleted or (not t.untaken and not day.pending(t)) for t in left)

    eventually(is_done, within=90)
    quiet(day.server, *(talk.session_id for talk in left if not talk.deleted))


def check(servers: Servers, day: Day) -> None:
    """Assert that each input is there once, in order, and that no call was made twice."""
    for talk in day.talks:
        if talk.deleted:
            gone = day.server.http.get(f"/sessions/{talk.session_id}")
            assert gone.status_code == 404, gone.text
        elif talk.said:
            check_talk(servers, day, talk)
    assert_kept(servers.database_url)
    assert day.server.process()["busy"] == 0


def check_talk(servers: Servers, day: Day, talk: Talk) -> None:
    """Assert it of one session."""
    facts = day.server.events(session_id=talk.session_id)
    inputs = inputs_of(facts)
    back = taken_back(facts)
    assert Counter(inputs) == Counter(talk.said.keys() - back), talk.session_id
    assert {each for each, done in talk.recalled.items() if done} <= back <= talk.recalled.keys()
    queued = [each["data"]["queue_id"] for each in facts if each["type"] == "input-queued"]
    begun = [each["data"]["queue_id"] for each in facts if each["type"] == "input-dequeued"]
    steered = {each["data"]["queue_id"] for each in facts if steers(each)}
    waited = [queue_id for queue_id in queued if queue_id not in steered]
    assert [q for q in begun if q not in steered] == [q for q in waited if q in begun]
    decided = Counter(each["data"]["gate_id"] for each in facts if each["type"] == "gate-decided")
    used = Counter(each["data"]["gate_id"] for each in facts if each["type"] == "gate-consumed")
    assert set(decided.values()) | set(used.values()) <= {1}
    opened = {each["data"]["gate_id"] for each in facts if each["type"] == "gate-opened"}
    assert day.decided & opened <= set(decided)
    made = servers.calls(talk.session_id)
    assert {call for call, times in made.items() if times > 1} == set()
    assert_sound(servers, day.server, talk.session_id)


def steers(fact: Json) -> bool:
    """Tell whether an input waits to be told to the turn that runs."""
    request = fact["data"].get("request", {})
    return bool(fact["type"] == "input-queued" and request.get("on_busy") == "steer")


def taken_back(facts: list[Json]) -> set[str]:
    """Return the messages that were taken back before the agent heard them."""
    said = {
        fact["data"]["queue_id"]: fact["data"]["request"]["messages"][-1]["message_id"]
        for fact in facts
        if fact["type"] == "input-queued"
    }
    back = {said[fact["data"]["queue_id"]] for fact in facts if fact["type"] == "input-recalled"}
    return back - set(inputs_of(facts))


def inputs_of(facts: list[Json]) -> list[str]:
    """Return the messages of a person, in the order in which the agent heard them."""
    found: list[str] = []
    for fact in facts:
        data = fact["data"]
        if fact["type"] == "turn-started":
            found += [message.get("message_id") for message in data["messages"]]
        elif fact["type"] == "message-recorded" and data["message"]["role"] == "user":
            found.append(data["message"]["message_id"])
    return found


def ended_inputs(facts: list[Json]) -> list[str]:
    """Return the messages of a person whose turn is over."""
    over = {fact["data"]["turn_id"] for fact in facts if fact["type"] in ENDS}
    return inputs_of([fact for fact in facts if fact["data"].get("turn_id") in over])
