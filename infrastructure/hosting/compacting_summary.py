"""What summary does a harness make of the conversation that it was told?

It is asked in words; what it says last is the summary. It makes no calls for it: whatever it asks
permission for is denied, whatever else it asks is declined.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from infrastructure.harness.port import (
    Answer,
    Asked,
    CallAnnounced,
    Ended,
    Harness,
    HarnessFailed,
    Prompt,
    Said,
    Update,
    Used,
)
from infrastructure.hosting.deltas import Delta
from infrastructure.hosting.talking import talk
from infrastructure.hosting.writable import text_of

ASKED: Final = """\
Summarise this conversation so far, so that it can go on from your summary alone: whoever goes on \
will not see what was said.

Keep what matters for what comes next: what the user wants, and in which words where they matter; \
what was found out and decided, and why; what was done, with the names of files, commands and \
values; what failed; what is open, and what was to be done next. Leave out pleasantries and what \
was superseded. Make no tool calls. Answer with the summary and nothing else."""
"""What a harness is asked, unless the settings have other words for it."""
LONGEST: Final = 256 * 1024
DENIED: Final = "no tools are used while the history is summed up"


class Unsaid(HarnessFailed):
    """The harness ended well, and there is no summary."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(code, detail, received=True)


class Stopped(Exception):
    """Somebody stopped it."""


async def summary_of(
    harness: Harness, words: str, stop: asyncio.Event, tell: Callable[[Delta], None]
) -> tuple[str, Used | None]:
    """Return the summary that a harness makes of what it knows, and what it used for it.

    Args:
        harness: It knows the conversation, and was said nothing yet.
        words: What it is asked.
        stop: Has it stop.
        tell: Hears each piece as it comes.

    Raises:
        HarnessFailed: it made none.
        Stopped: it was stopped.
    """
    hearing = _Hearing(harness, tell)
    prompt = Prompt(parts=[{"type": "text", "text": words}])
    how = await talk(
        harness.prompt(prompt, hearing),
        harness,
        watch=hearing.too_long(),
        stop=stop,
        sleep=asyncio.sleep,
    )
    if stop.is_set() or how is None:
        raise Stopped
    if isinstance(how, BaseException):
        raise how
    return _summary(how, hearing.text), how.used


def _summary(how: Ended, text: str) -> str:
    if how.stop_reason != "completed":
        code = "agent-cancelled" if how.stop_reason == "cancelled" else how.stop_reason
        raise Unsaid(code, "the summary is not whole")
    if not text.strip():
        raise Unsaid("empty-summary", "the harness said nothing")
    return text


class _Hearing:
    """The harness's listener: it keeps what is said after the last call."""

    def __init__(self, harness: Harness, tell: Callable[[Delta], None]) -> None:
        self._harness: Final = harness
        self._tell: Final = tell
        self._said: list[str] = []
        self._size = 0
        self._message: str | None = None
        self._full: Final = asyncio.Event()

    @property
    def text(self) -> str:
        """Return what was said last."""
        return text_of("".join(self._said)).strip()

    async def too_long(self) -> None:
        """Fail once more was said than a summary may be long."""
        await self._full.wait()
        raise HarnessFailed("output-too-long", "the summary is too long", received=True)

    async def updated(self, update: Update) -> None:
        """Take what the harness did."""
        match update:
            case Said(voice="text", text=text, message_id=message_id):
                if self._said and message_id != self._message:
                    self._said.append("\n\n")
                self._message = message_id
                self._said.append(text)
                self._size += len(text)
                if self._size > LONGEST:
                    self._full.set()
                self._tell({"kind": "compaction", "type": "text", "text": text_of(text)})
            case Said(voice=voice, text=text):
                self._tell({"kind": "compaction", "type": voice, "text": text_of(text)})
            case CallAnnounced():
                self._said.clear()
                self._size = 0
            case _:
                pass

    async def asked(self, asked: Asked) -> None:
        """Deny what it asks: nothing is done while the history is summed up."""
        await self._harness.answer(asked.permission_id, Answer(verdict="denied", message=DENIED))
