"""Places where people have a lane do things, said in few words."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import httpx

from tests.api.batches import Json
from tests.api.chats import Chat

TELEGRAM: Mapping[str, object] = {"platform": "telegram", "chat_id": "99", "user_id": "42"}


@dataclass(frozen=True, slots=True)
class Place:
    """A lane, and who talks in it; `chat` says to which server."""

    chat: Chat
    lane_id: str

    @property
    def path(self) -> str:
        """Return where the lane is."""
        return f"/lanes/{self.lane_id}"

    @property
    def now(self) -> Chat:
        """Return the conversation that it has now."""
        return self.of(self.read()["session_id"])

    def of(self, session_id: str) -> Chat:
        """Return a conversation that it has, or had."""
        return replace(self.chat, session_id=session_id)

    def read(self, view: str = "", **query: str | int) -> Json:
        """Return the lane, or a view of it."""
        answer = self.chat.client.get(f"{self.path}{view}", params=query)
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        return found

    def ask(
        self, command: str, headers: Mapping[str, str] | None = None, /, **body: object
    ) -> httpx.Response:
        """Have the lane do something, whatever comes of it."""
        return self.chat.client.post(f"{self.path}/{command}", json=body, headers=headers)

    def do(self, command: str, /, **body: object) -> Json:
        """Have the lane do something; return what it did."""
        answer = self.ask(command, **body)
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        return found


def resolved(chat: Chat, **source: object) -> Json:
    """Return the session that somebody's message belongs to."""
    given = {**TELEGRAM, **source}
    answer = chat.client.post("/lanes/resolve", json={"source": given})
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def place(chat: Chat, **source: object) -> Place:
    """Return the lane of a source, with its session."""
    return Place(chat, resolved(chat, **source)["lane_id"])
