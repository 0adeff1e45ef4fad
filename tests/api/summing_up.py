"""A conversation whose history is summed up by a harness, said in few words."""

import httpx

from tests.api.batches import Json
from tests.api.chats import ASYNC, Chat, eventually

SLOW = "delay: 600000"
"""Has the demo agent think for longer than any test lasts."""


def ask(chat: Chat, headers: dict[str, str] | None = None, /, **body: object) -> httpx.Response:
    """Ask for a summary."""
    return chat.client.post(f"{chat.path}/compact", json=body, headers=headers)


def summed_up(chat: Chat, **body: object) -> Json:
    """Have a summary made; return what is answered."""
    answer = ask(chat, **body)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def begun(chat: Chat, **headers: str) -> str:
    """Have a summary made that takes long; return the compaction's id."""
    answer = ask(chat, ASYNC | headers, instructions=SLOW)
    assert answer.status_code == 202, answer.text
    found: str = answer.json()["compaction_id"]
    return found


def talked(chat: Chat, turns: int = 3) -> None:
    """Have a few turns."""
    for number in range(turns):
        chat.said(f"remember key{number}=value{number}")


def rests(chat: Chat) -> None:
    """Wait until nothing runs in the session: there is nothing to interrupt."""
    eventually(
        lambda: chat.client.post(f"{chat.path}/interrupt", json={}).status_code,
        lambda status: status == 204,
    )


def untouched(chat: Chat) -> bool:
    """Tell whether nothing was summed up."""
    return chat.events("history-compacted") == []
