"""What do the sub-agents of a turn do, and when is it recorded?

What is told of them never gets into the session of the agent that runs them, and nothing that goes
wrong with them ends its turn: what of theirs is not recorded is counted, and told of in their own.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from domain import events as e
from domain.events.turn import TurnError
from domain.json_text import JsonValue
from infrastructure.harness.port import (
    Asked,
    CallAnnounced,
    CallEnd,
    CallEnded,
    OfSubagent,
    OwnUpdate,
    Subagent,
    Used,
)
from infrastructure.hosting.account import Account
from infrastructure.hosting.below_port import Beginning, BelowLog, NotTaken, session_below
from infrastructure.hosting.binding import Carried
from infrastructure.hosting.deltas import Delta
from infrastructure.hosting.ending import End
from infrastructure.hosting.writable import name_of, text_of

PARENT_ENDED: Final = "parent-ended"
LOST: Final = "not-recorded"
_PROMPTS: Final = ("prompt", "task", "instructions", "message", "description")
_log: Final = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Node:
    """An agent of the turn: the one that runs it, or one below.

    Attributes:
        account: What is told of it; None for the one that runs the turn, of which others keep it.
        prompts: What its open calls say.
        ended: Its calls that have ended.
        above: Who runs it.
        call_id: The call by which; None if it is not known.
        lost: How many facts of it were not recorded, and are not told of yet.
    """

    session_id: str
    turn_id: str
    account: Account | None = None
    prompts: dict[str, str] = field(default_factory=dict[str, str])
    ended: set[str] = field(default_factory=set[str])
    above: "Node | None" = None
    call_id: str | None = None
    lost: int = 0


class Below:
    """The sub-agents of one turn of a session.

    Attributes:
        lost: How many facts of them were not recorded.
        stopped: Why somebody stopped the turn, and who; None if nobody did.
    """

    def __init__(
        self,
        log: BelowLog,
        place: tuple[str, str],
        mint: Callable[[], str],
        clock: Callable[[], float],
    ) -> None:
        """Take the session and the turn that runs them."""
        self.lost = 0
        self.stopped: tuple[str, str | None] | None = None
        self._log: Final = log
        self._mint: Final = mint
        self._clock: Final = clock
        self._root: Final = Node(session_id=place[0], turn_id=place[1])
        self._nodes: Final[dict[str, Node | None]] = {}
        self._asked: Final[dict[str, tuple[Node, str]]] = {}

    def is_new(self, subagent: Subagent) -> bool:
        """Tell whether it was not heard of in this turn: its call has to be in the log first."""
        return subagent.subagent_id not in self._nodes

    @property
    def due(self) -> float | None:
        """Return when something is to be recorded at the latest; None if there is nothing."""
        dues = (
            node.account.unrecorded.due for node in self._nodes.values() if node and node.account
        )
        return min((due for due in dues if due is not None), default=None)

    async def note(self, update: OwnUpdate) -> None:
        """Take what the agent that runs the turn does: its calls begin and end sub-agents."""
        await self._note(self._root, update)

    async def hear(self, told: OfSubagent) -> Delta | None:
        """Take what a sub-agent did; return what watchers are told of it."""
        node = await self._node(told.subagent)
        if node is None or node.account is None:
            return None
        if isinstance(told.update, Used):  # told when its prompt is over
            node.account.unrecorded.end_message()
        delta = node.account.hear(told.update)
        await self._note(node, told.update)
        if node.account.unrecorded.is_full:
            await self._flush(node)
        if delta is None:
            return None
        return {"type": "subagent", "session_id": node.session_id, "delta": dict(delta)}

    async def asked(self, asked: Asked) -> tuple[Asked, str | None]:
        """Return a question as the agent that runs the turn asks it, and for which session.

        It is about the call that began the sub-agent, however far below that is: so the turn waits
        for it as for one of its own.
        """
        if asked.subagent is None:
            return asked, None
        node = await self._node(asked.subagent)
        if node is None or node.account is None:
            return replace(asked, tool_call_id=None), None
        node.account.unrecorded.end_message()
        if asked.tool_call_id is not None:
            self._asked[asked.permission_id] = (node, name_of(asked.tool_call_id, "call"))
        await self._flush(node)
        top = node
        while top.above is not None and top.above.account is not None:
            top = top.above
        return replace(asked, tool_call_id=top.call_id), node.session_id

    def answered(self, permission_id: str, *, denied: bool) -> None:
        """Note what was decided about a call of a sub-agent."""
        node, call_id = self._asked.pop(permission_id, (None, ""))
        call = None if node is None or node.account is None else node.account.calls.find(call_id)
        if call is not None:
            call.denied = denied

    async def flush(self) -> None:
        """Record what there is."""
        for node in [*self._nodes.values()]:
            if node is not None:
                await self._flush(node)

    async def end(self, end: End, *, went_on: bool) -> None:
        """End what runs, as the turn ends; `went_on`: it may have begun some before it waited."""
        completed = end.status == "completed"
        reason = end.reason or (end.error.code if end.error is not None else PARENT_ENDED)
        for node in reversed([*self._nodes.values()]):
            if node is None:
                continue
            if completed and node.call_id is None:
                await self._finish(node, e.TurnCompleted(turn_id=node.turn_id))
            else:
                stopped = e.TurnInterrupted(turn_id=node.turn_id, reason=reason, by=end.by)
                await self._finish(node, stopped)
        self._nodes.clear()
        if went_on:
            try:
                await self._log.stop_rest(reason, end.by)
            except NotTaken as error:
                _log.warning("sub-agents of a turn were not stopped: %s", error.reason)

    async def _node(self, subagent: Subagent) -> Node | None:
        """Return a sub-agent, which is in a turn; None if nothing of it can be recorded."""
        known = subagent.subagent_id
        if known in self._nodes:
            return self._nodes[known]
        above: Node | None = self._root
        if subagent.above is not None and subagent.above != known:
            above = await self._node(Subagent(subagent_id=subagent.above))
        call_id = subagent.tool_call_id
        if above is None or call_id in above.ended:
            return None
        await self._flush(above)
        beginning = Beginning(
            parent_id=above.session_id,
            session_id=session_below(above.session_id, known),
            agent_id=name_of(subagent.name or known, "agent"),
            call_id=None if call_id is None else name_of(call_id, "call"),
            turn_id=self._mint(),
            prompts=above.prompts,
        )
        try:
            begun = await self._log.begin(beginning)
        except NotTaken as error:
            self._count(1, error)
            if error.for_good:
                self._nodes[known] = None
            return None
        node = Node(
            session_id=beginning.session_id,
            turn_id=begun.turn_id,
            account=Account(begun.turn_id, Carried(begun.turn_id, ()), self._mint, self._clock),
            above=above,
            call_id=begun.call_id,
        )
        self._nodes[known] = node
        return node

    async def _note(self, node: Node, update: OwnUpdate) -> None:
        match update:
            case CallAnnounced(tool_call_id=call_id, arguments=arguments):
                call_id = name_of(call_id, "call")
                node.ended.discard(call_id)
                prompt = _prompt(arguments)
                if prompt is not None:
                    node.prompts[call_id] = prompt
            case CallEnded(tool_call_id=call_id, end=end):
                call_id = name_of(call_id, "call")
                node.prompts.pop(call_id, None)
                node.ended.add(call_id)
                await self._call_ended(node, call_id, end)
            case _:
                pass

    async def _call_ended(self, above: Node, call_id: str, end: CallEnd) -> None:
        for known, node in [*self._nodes.items()]:
            if node is None or node.above is not above or node.call_id != call_id:
                continue
            await self._finish(node, self._last(node.turn_id, end))
            del self._nodes[known]

    def _last(self, turn_id: str, end: CallEnd) -> e.TurnEvent:
        """Return how a sub-agent's turn ended whose call ended so."""
        if end == "completed":
            return e.TurnCompleted(turn_id=turn_id)
        if self.stopped is not None:
            reason, by = self.stopped
            return e.TurnInterrupted(turn_id=turn_id, reason=reason, by=by)
        error = TurnError(code="subagent-failed", message="The call that ran it failed.")
        return e.TurnFailed(turn_id=turn_id, error=error)

    async def _finish(self, node: Node, last: e.TurnEvent) -> None:
        for known, below in [*self._nodes.items()]:
            if below is not None and below.above is node:
                reason = last.reason if isinstance(last, e.TurnInterrupted) else PARENT_ENDED
                await self._finish(below, e.TurnInterrupted(turn_id=below.turn_id, reason=reason))
                del self._nodes[known]
        if node.account is not None:
            node.account.settle()
            node.account.unrecorded.add(last)
            await self._flush(node)
            node.account = None

    async def _flush(self, node: Node) -> None:
        if node.account is None:
            return
        events: tuple[e.SessionEvent, ...] = node.account.unrecorded.drain()
        if not events:
            return
        if node.lost:
            lost = e.RecordsLost(count=node.lost, reason=LOST, turn_id=node.turn_id)
            events = (lost, *events)
        try:
            await self._log.record(node.session_id, events)
        except NotTaken as error:
            missing = len(events) - bool(node.lost)
            node.lost += missing
            self._count(missing, error)
            if error.for_good:
                self._give_up(node)
        else:
            node.lost = 0

    def _give_up(self, node: Node) -> None:
        node.account = None
        for known, each in self._nodes.items():
            if each is node:
                self._nodes[known] = None

    def _count(self, number: int, error: NotTaken) -> None:
        self.lost += number
        _log.warning("%d facts of a sub-agent were not recorded: %s", number, error.reason)


def _prompt(arguments: JsonValue) -> str | None:
    """Return what a call says to whom it calls, if it says it in one of the usual ways."""
    given: Mapping[str, JsonValue] = arguments if isinstance(arguments, dict) else {}
    said = (given.get(name) for name in _PROMPTS)
    return next((text_of(each) for each in said if isinstance(each, str) and each.strip()), None)
