"""What does an agent tell of the agents that it runs itself, in updates of its own session?

The protocol has no word for them yet. turnlog's own is `turnlog.dev/subagent` in the `_meta` of the
notification or request, with `id` and perhaps `name`, `tool_call_id` and `above`; the adapter of
Claude Code says `claudeCode.parentToolUseId` in that of the update.
"""

from collections.abc import Iterator
from typing import Final

from infrastructure.harness.acp.calls import Calls
from infrastructure.harness.acp.fields import Object, as_name, extension, member, text
from infrastructure.harness.acp.updates import Telling
from infrastructure.harness.acp.usage import told
from infrastructure.harness.port import OfSubagent, OwnUpdate, Subagent, Update

SUBAGENT: Final = "subagent"


class Tellings:
    """What one conversation tells of itself and of those below it, prompt after prompt.

    Attributes:
        own: What it tells of itself.
    """

    def __init__(self, *, eager: bool, model: str) -> None:
        """Begin; `eager` as in `Calls`, `model` is what sub-agents are taken to use."""
        self.own = Telling(eager=eager)
        self._eager: Final = eager
        self._model: Final = model
        self._below: Final[dict[str, tuple[Subagent, Telling]]] = {}

    def updates(self, params: Object) -> Iterator[Update]:
        """Yield what a notification says that was not told."""
        update = member(params, "update")
        subagent = subagent_of(params)
        if subagent is None:
            yield from self.own.updates(update)
            return
        telling = self._telling(subagent)
        used = told(member(update, "_meta"), self._model)
        news = telling.updates(update) if used is None else iter([used])
        yield from of(subagent, news)

    def asking(self, params: Object) -> tuple[Subagent | None, Calls]:
        """Return who asks for permission, and the calls that it makes."""
        subagent = subagent_of(params)
        if subagent is not None:
            return subagent, self._telling(subagent).calls
        call_id = text(member(params, "toolCall"), "toolCallId") or text(params, "toolCallId")
        for below, telling in self._below.values():
            if telling.calls.known(call_id) is not None:
                return below, telling.calls
        return None, self.own.calls

    def over(self, *, cancelled: bool) -> Iterator[Update]:
        """Yield what is left to tell when a prompt ends; what comes of it later is dropped."""
        for subagent, telling in self._below.values():
            yield from of(subagent, telling.over(cancelled=cancelled))
        yield from self.own.over(cancelled=cancelled)

    def _telling(self, subagent: Subagent) -> Telling:
        found = self._below.get(subagent.subagent_id)
        if found is None:
            found = self._below[subagent.subagent_id] = (subagent, Telling(eager=self._eager))
        return found[1]


def of(subagent: Subagent | None, news: Iterator[OwnUpdate]) -> Iterator[Update]:
    """Yield what was told, as a sub-agent's if it is one's."""
    for each in news:
        yield each if subagent is None else OfSubagent(subagent=subagent, update=each)


def subagent_of(params: Object) -> Subagent | None:
    """Return which sub-agent a notification or request is about; None if it is the agent itself."""
    given = extension(params, SUBAGENT)
    said = given if isinstance(given, dict) else {}
    known = text(said, "id")
    if known is not None:
        return Subagent(
            subagent_id=as_name(known),
            name=text(said, "name"),
            tool_call_id=text(said, "tool_call_id"),
            above=text(said, "above"),
        )
    for holder in ("update", "toolCall"):
        meta = member(member(member(params, holder), "_meta"), "claudeCode")
        call_id = text(meta, "parentToolUseId")
        if call_id is not None:
            return Subagent(subagent_id=as_name(call_id), tool_call_id=call_id)
    return None
