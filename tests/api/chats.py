"""A conversation with the demo agent over HTTP, said in few words."""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from time import monotonic
from typing import TypeVar

import httpx

from infrastructure.harness.in_process import Made
from tests.api.batches import Json, events_of
from tests.api.mortal import MortalHarnesses
from tests.api.serving import PATIENCE_S, Served

ADD = 'ask: add {"a":1,"b":2}'
GAVE = 'add gave {"sum":3}.'
ASYNC = {"Prefer": "respond-async"}
Value = TypeVar("Value")


def user(text: str, **more: object) -> Json:
    """Return a message of a person."""
    return {"role": "user", "content": text, **more}


def agent(text: str) -> Json:
    """Return a message of the agent."""
    return {"role": "assistant", "content": text}


@dataclass(frozen=True, slots=True)
class Chat:
    """A session, and who talks in it."""

    client: httpx.Client
    session_id: str
    harnesses: MortalHarnesses

    @property
    def path(self) -> str:
        """Return where the session is."""
        return f"/sessions/{self.session_id}"

    def post(self, body: Json, headers: dict[str, str] | None = None) -> httpx.Response:
        """Ask for a turn."""
        return self.client.post(f"{self.path}/turns", json=body, headers=headers)

    def say(
        self, text: str, headers: dict[str, str] | None = None, /, **more: object
    ) -> httpx.Response:
        """Say something, and nothing of what was said before."""
        return self.post({"messages": [user(text)], **more}, headers)

    def said(self, text: str, **more: object) -> Json:
        """Say something; return its turn."""
        return told(self.say(text, **more))

    def begun(self, text: str, **more: object) -> str:
        """Say something, and do not wait for what comes of it; return the turn's id."""
        answer = self.say(text, ASYNC, **more)
        assert answer.status_code == 202, answer.text
        turn_id: str = answer.json()["turn_id"]
        return turn_id

    def asked(self, text: str = ADD) -> list[str]:
        """Have the agent ask something; return the ids of its gates."""
        turn = self.said(text)
        assert turn["status"] == "paused", turn
        return [gate["gate_id"] for gate in turn["gates"]]

    def answer(self, gate: str, verdict: str = "approved", **more: object) -> httpx.Response:
        """Answer a gate where turns are asked for."""
        return self.post({"answers": [{"gate": gate, "verdict": verdict, **more}]})

    def decide(self, gate: str, verdict: str = "approved", **more: object) -> httpx.Response:
        """Answer a gate where approvals are."""
        return self.client.post(f"{self.path}/approvals/{gate}", json={"verdict": verdict, **more})

    def turn(self, turn_id: str) -> Json:
        """Return a turn as it stands."""
        found: Json = self.client.get(f"{self.path}/turns/{turn_id}").json()
        return found

    def ended(self, turn_id: str) -> Json:
        """Return a turn once it is over."""
        return eventually(
            lambda: self.turn(turn_id), lambda turn: turn["status"] not in {"running", "paused"}
        )

    def read(self, view: str = "", **query: str | int) -> Json:
        """Return the session, or a view of it."""
        answer = self.client.get(f"{self.path}{view}", params=query)
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        return found

    def transcript(self) -> list[Json]:
        """Return what was said."""
        items: list[Json] = self.read("/transcript", limit=200)["items"]
        return items

    def texts(self) -> list[str]:
        """Return what was said in words, in order."""
        return [
            part["text"]
            for message in self.transcript()
            for part in message["parts"]
            if part["type"] == "text"
        ]

    def events(self, *types: str) -> list[Json]:
        """Return the session's events, or those of some types."""
        found = events_of(self.client, self.session_id)
        return [each for each in found if not types or each["type"] in types]

    def seat(self) -> Json | None:
        """Return the harness that is kept for the session."""
        seats = self.client.get("/pool").json()["seats"]
        return next((seat for seat in seats if seat["session_id"] == self.session_id), None)

    def kill(self) -> None:
        """Have the session's harness be gone at once."""
        self.harnesses.kill(self.session_id)

    def made(self) -> list[Made]:
        """Return the calls that tools were given."""
        return [made for made in self.harnesses.made if made.session_id == self.session_id]

    def known(self) -> list[Json]:
        """Return what the model saw at its last call."""
        seen = [each for each in self.harnesses.received if each.session_id == self.session_id]
        found = seen[-1].parsed()
        assert isinstance(found, list)
        return [message for message in found if isinstance(message, dict)]


def opened(chat: Chat, **more: object) -> Chat:
    """Return the conversation once its session is there."""
    body = {"session_id": chat.session_id, **more}
    assert chat.client.post("/sessions", json=body).status_code == 201
    return chat


def chat_at(running: Served, client: httpx.Client, session_id: str = "s") -> Chat:
    """Return a conversation with another server."""
    return Chat(client=client, session_id=session_id, harnesses=running.harnesses)


def told(answer: httpx.Response) -> Json:
    """Return what a request was answered that had to be taken."""
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def last_text(turn: Json) -> str:
    """Return what was said last in a turn."""
    said: str = turn["messages"][-1]["parts"][-1]["text"]
    return said


def eventually(look: Callable[[], Value], is_so: Callable[[Value], bool]) -> Value:
    """Return what `look` finds once it is so."""
    deadline, pause = monotonic() + PATIENCE_S, Event()
    while not is_so(found := look()):
        assert monotonic() < deadline, found
        pause.wait(0.02)
    return found
