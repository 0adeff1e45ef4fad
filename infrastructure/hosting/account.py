"""What does it mean for a turn, what its harness tells?

Everything that is known of the turn while it runs, and nothing that waits: what is told comes in,
what follows from it for the log goes to `unrecorded`, and what watchers see comes back.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from domain import events as e
from domain.json_text import JsonValue
from domain.raw_json import RawJson
from domain.titles import one_line
from infrastructure.harness.port import (
    Answer,
    Asked,
    CallAnnounced,
    CallEnded,
    Noted,
    OwnUpdate,
    ResumedCall,
    Said,
    Shown,
    Titled,
    Used,
)
from infrastructure.hosting import deltas
from infrastructure.hosting.binding import Carried, CarriedDecision
from infrastructure.hosting.open_calls import OpenCalls
from infrastructure.hosting.outcomes import Waiting
from infrastructure.hosting.unrecorded import Unrecorded
from infrastructure.hosting.writable import arguments_of, json_of, name_of, options_of, usage_of

Delta: TypeAlias = Mapping[str, JsonValue]
NOTE_BYTES: Final = 256 * 1024
"""Of a longer note only its length is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenGate:
    """A gate that is open, the call that waits for it, and what watchers are told."""

    waiting: Waiting
    call_id: str | None
    delta: Delta


class Account:
    """One turn, as far as its harness has told.

    Attributes:
        unrecorded: What the log is to be given.
        calls: Those without a result.
        heard_at: When something came last; None if nothing did.
    """

    def __init__(
        self,
        turn_id: str,
        carried: Carried,
        mint: Callable[[], str],
        clock: Callable[[], float],
        expires: Callable[[], str | None] = lambda: None,
    ) -> None:
        """Take the decisions that were taken before, and what says when a new gate ends."""
        self.unrecorded: Final = Unrecorded(turn_id, mint, clock)
        self.calls: Final = OpenCalls()
        self.heard_at: float | None = None
        self._turn_id: Final = turn_id
        self._carried: Final = carried
        self._mint: Final = mint
        self._clock: Final = clock
        self._expires: Final = expires
        self._gates: Final[dict[str, OpenGate]] = {}
        self._aliases: Final[dict[str, str]] = {}
        self._consumed: Final[set[str]] = set()

    @property
    def gates(self) -> tuple[Waiting, ...]:
        """Return the gates that are open, in the order in which they were asked."""
        return tuple(gate.waiting for gate in self._gates.values())

    @property
    def all_wait(self) -> bool:
        """Tell whether all that the harness still does waits for gates."""
        return bool(self._gates) and not self.calls.running and not self.unrecorded.speaks

    def go_on(self, resumed: Sequence[ResumedCall]) -> None:
        """Begin with the calls that the turn has open from before, as they were decided."""
        for call in resumed:
            self.unrecorded.go_on()
            open_ = self.calls.begin(name_of(call.tool_call_id, "call"))
            decision = self._carried.of_call(open_.call_id)
            permission = decision is None or decision.kind == "permission"
            open_.denied = permission and call.answer.verdict == "denied"
            open_.held = call.answer.verdict == "cancelled"
            if decision is not None and not decision.consumed:
                self.consume(decision.gate_id)

    def hear(self, update: OwnUpdate) -> Delta | None:
        """Take what the harness did, and return what watchers are told of it."""
        self.heard_at = self._clock()
        match update:
            case Said(text=""):
                pass
            case Said() | Shown() as piece:
                self.unrecorded.say(piece)
                return deltas.piece(piece)
            case CallAnnounced() as announced:
                return self._announced(announced)
            case CallEnded() as ended:
                return self._ended(ended)
            case Used() as used:
                self.use(used)
            case Titled(title=title):
                self.unrecorded.call(one_line(title))
            case Noted(kind=kind, data=data):
                return self._note(name_of(kind, "note"), json_of(data))
        return None

    def ask(self, asked: Asked, below: str | None = None) -> CarriedDecision | OpenGate:
        """Take what the harness asks; return the decision that answers it, else a new gate.

        `below` is the session of the sub-agent that asks, if one does.
        """
        self.heard_at = self._clock()
        self.unrecorded.end_message()
        foreign = None if asked.tool_call_id is None else name_of(asked.tool_call_id, "call")
        decision = self._carried.answering(asked, foreign)
        call_id = self._known_as(foreign, decision)
        if decision is None:
            return self._open_gate(asked, call_id, below)
        if call_id is not None and asked.tool is not None and call_id not in self.calls:
            self._request(call_id, name_of(asked.tool, "tool"), arguments_of(asked.arguments))
        if not decision.consumed:
            self.consume(decision.gate_id)
        self.calls.free(call_id, decision.gate_id, decision.kind, decision.answer)
        return replace(decision, consumed=True)

    def find_gate(self, gate_id: str) -> OpenGate | None:
        """Return a gate that is open."""
        return self._gates.get(gate_id)

    def close_gate(self, gate_id: str, answer: Answer) -> None:
        """Let what waited for a gate go on."""
        gate = self._gates.pop(gate_id)
        if gate.waiting.asked.subagent is not None:  # the call goes on, whatever one below may do
            answer = replace(answer, verdict="approved")
        self.calls.free(gate.call_id, gate_id, gate.waiting.asked.kind, answer)

    def consume(self, gate_id: str) -> None:
        """Note that the harness is given a decision; the first time counts."""
        if gate_id not in self._consumed:
            self._consumed.add(gate_id)
            self.unrecorded.add(e.GateConsumed(gate_id=gate_id, turn_id=self._turn_id))

    def withdraw(self) -> bool:
        """Close every gate: nobody will decide any more. Tell whether there were any."""
        waiting = list(self._gates)
        for gate_id in waiting:
            self.close_gate(gate_id, Answer(verdict="cancelled"))
            self.unrecorded.add(e.GateWithdrawn(gate_id=gate_id, reason="cancelled"))
        return bool(waiting)

    def use(self, used: Used) -> None:
        """Note the tokens that a model used."""
        self.unrecorded.add(usage_of(self._turn_id, used))

    def settle(self) -> int:
        """Note what became of the calls that are open; return how many there were."""
        self.unrecorded.end_message()
        left = len(self.calls)
        for completed in self.calls.settle(self._turn_id):
            self.unrecorded.add(completed)
        return left

    def _announced(self, announced: CallAnnounced) -> Delta | None:
        foreign = name_of(announced.tool_call_id, "call")
        name, arguments = name_of(announced.name, "tool"), arguments_of(announced.arguments)
        call = self.calls.find(self._aliases.get(foreign, foreign))
        if call is not None and call.announced:
            return None  # the log has it, from before
        self.unrecorded.end_message()
        known = None
        if call is None:
            self._aliases.pop(foreign, None)
            known = self._carried.claim(foreign, name, announced.arguments, self.calls.__contains__)
        if known is not None:
            self._aliases[foreign] = known
            return None
        self._request(foreign, name, arguments)
        return deltas.call(foreign, name, arguments)

    def _request(self, call_id: str, name: str, arguments: RawJson) -> None:
        """Note a call; one that a gate told of keeps what is known of it."""
        call = self.calls.find(call_id) or self.calls.begin(call_id)
        call.announced = True
        self.unrecorded.add(
            e.ToolCallRequested(
                turn_id=self._turn_id, tool_call_id=call_id, name=name, arguments=arguments
            ),
            len(arguments),
        )

    def _ended(self, ended: CallEnded) -> Delta | None:
        foreign = name_of(ended.tool_call_id, "call")
        call = self.calls.take(self._aliases.pop(foreign, foreign))
        if call is None:
            return None  # it has its result, or was never told of
        self.unrecorded.end_message()
        for gate_id in call.gates:  # whoever asked did not wait
            del self._gates[gate_id]
            self.unrecorded.add(e.GateWithdrawn(gate_id=gate_id, reason="not-awaited"))
        output = json_of(ended.output)
        completed = e.ToolCallCompleted(
            turn_id=self._turn_id,
            tool_call_id=call.call_id,
            output=output,
            is_error=ended.end == "failed",
            denied=call.denied,
        )
        self.unrecorded.add(completed, len(output))
        return deltas.result(completed, output)

    def _note(self, kind: str, data: RawJson) -> Delta | None:
        if len(data) > NOTE_BYTES:
            data = json_of({"turnlog": "too-long", "bytes": len(data)})
        return deltas.note(kind, data) if self.unrecorded.note(kind, data) else None

    def _known_as(self, foreign: str | None, decision: CarriedDecision | None) -> str | None:
        """Return the id by which the log knows the call that is asked about."""
        if foreign is None or foreign in self._aliases:
            return None if foreign is None else self._aliases[foreign]
        again = None if decision is None else decision.tool_call_id
        if again is not None and again in self.calls and foreign not in self.calls:
            self._aliases[foreign] = again
            return again
        return foreign

    def _open_gate(self, asked: Asked, call_id: str | None, below: str | None) -> OpenGate:
        tool = None if asked.tool is None else name_of(asked.tool, "tool")
        gate_id = self._mint()
        opened = e.GateOpened(
            gate_id=gate_id,
            turn_id=self._turn_id,
            kind=asked.kind,
            permission_id=name_of(asked.permission_id, gate_id),
            tool_call_id=call_id,
            tool=tool,
            arguments=arguments_of(asked.arguments) if tool is not None else None,
            options=options_of(asked),
            answer_schema=None if asked.answer_schema is None else json_of(asked.answer_schema),
            expires_at=self._expires(),
            subagent_session_id=below,
        )
        if call_id is not None and tool is not None and call_id not in self.calls:
            self.calls.begin(call_id, announced=False)
        self.calls.hold(call_id, gate_id)
        self.unrecorded.add(opened)
        gate = OpenGate(
            waiting=Waiting(gate_id=gate_id, asked=asked),
            call_id=call_id,
            delta=deltas.gate(opened),
        )
        self._gates[gate_id] = gate
        return gate
