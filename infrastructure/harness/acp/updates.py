"""What has an agent done, by an update of its session, in the words of the port?"""

from collections.abc import Iterator
from typing import Final

from infrastructure.harness.acp.blocks import part_of
from infrastructure.harness.acp.calls import Calls
from infrastructure.harness.acp.fields import Object, member, text
from infrastructure.harness.port import Noted, OwnUpdate, Said, Shown, Titled, Voice

_VOICES: Final[dict[str, Voice]] = {
    "agent_message_chunk": "text",
    "agent_thought_chunk": "reasoning",
}
_CALLS: Final = frozenset({"tool_call", "tool_call_update"})
_ECHO: Final = "user_message_chunk"
_ABOUT: Final = "session_info_update"


class Telling:
    """What one conversation tells, prompt after prompt.

    Attributes:
        calls: The calls that it makes.
    """

    def __init__(self, *, eager: bool) -> None:
        """Begin; `eager` as in `Calls`."""
        self.calls = Calls(eager=eager)
        self._messages: set[str] = set()
        self._cancelled_messages: set[str] = set()

    def updates(self, update: Object) -> Iterator[OwnUpdate]:
        """Yield what an update says that was not told; some agents echo what a user said."""
        kind = text(update, "sessionUpdate")
        if kind in _VOICES:
            yield from self._said(update, _VOICES[kind])
        elif kind in _CALLS:
            yield from self.calls.told(update)
        elif kind is not None and kind != _ECHO:
            said = {key: value for key, value in update.items() if key != "sessionUpdate"}
            title = text(said, "title") if kind == _ABOUT else None
            if title is not None:
                del said["title"]
                yield Titled(title=title)
            if said or title is None:
                yield Noted(kind=kind, data=said)

    def over(self, *, cancelled: bool) -> Iterator[OwnUpdate]:
        """Yield what is left to tell when a prompt ends; what comes of it later is dropped."""
        yield from self.calls.over(cancelled=cancelled)
        if cancelled:
            self._cancelled_messages |= self._messages
        self._messages = set()

    def _said(self, update: Object, voice: Voice) -> Iterator[OwnUpdate]:
        message_id = text(update, "messageId")
        if message_id is not None:
            if message_id in self._cancelled_messages:
                return
            self._messages.add(message_id)
        content = member(update, "content")
        if content.get("type") == "text":
            words = text(content, "text")
            if words is not None:
                yield Said(voice=voice, text=words, message_id=message_id)
        elif content:
            yield Shown(part=part_of(content), message_id=message_id)
