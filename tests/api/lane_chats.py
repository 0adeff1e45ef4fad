"""A chat on a platform, whose gateway passes its messages on, said in few words."""

from dataclasses import dataclass

import httpx

from tests.api.batches import Json
from tests.api.chats import Chat
from tests.api.mortal import MortalHarnesses

TOPIC: Json = {
    "platform": "telegram",
    "chat_type": "group",
    "chat_id": "-100",
    "thread_id": "7",
    "user_id": "42",
    "user_name": "Alice",
}
"""A topic of a group, where whoever writes shares the conversation."""
DIRECT: Json = {"platform": "telegram", "chat_id": "42", "user_id": "42", "user_name": "Alice"}


@dataclass(frozen=True, slots=True)
class Gateway:
    """What passes messages of one chat on."""

    client: httpx.Client
    harnesses: MortalHarnesses
    source: Json

    def post(
        self,
        body: Json,
        headers: dict[str, str] | None = None,
        *,
        to: str = "/lanes/messages",
        **source: object,
    ) -> httpx.Response:
        """Pass something on; `source` tells what is other than usual of where it comes from."""
        sent = {"source": {**self.source, **source}, **body}
        return self.client.post(to, json=sent, headers=headers)

    def say(self, text: str, message_id: str | None = None, **more: object) -> httpx.Response:
        """Pass on what somebody says."""
        named = {} if message_id is None else {"message_id": message_id}
        return self.post({"text": text, **named, **more})

    def said(self, text: str, message_id: str | None = None, **more: object) -> Json:
        """Pass on what somebody says; return its turn."""
        answer = self.say(text, message_id, **more)
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        return found

    def waits(self, text: str, message_id: str | None = None, **more: object) -> str:
        """Pass on what has to wait; return the id under which it does."""
        answer = self.say(text, message_id, **more)
        assert (answer.status_code, answer.json()["status"]) == (202, "queued"), answer.text
        queue_id: str = answer.json()["queue_id"]
        return queue_id

    def resolved(self, **more: object) -> Json:
        """Return which session the chat has."""
        answer = self.client.post("/lanes/resolve", json={"source": self.source, **more})
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        return found

    def chat(self, session_id: str | None = None) -> Chat:
        """Return a session of it: the current one, if none is named."""
        found = session_id or str(self.resolved(touch=False)["session_id"])
        return Chat(client=self.client, session_id=found, harnesses=self.harnesses)
