"""What is recorded of a question that nobody has to answer, and what is its asker told?

The session's approval mode is looked at in the very commit that records the question: what was set
before holds, whoever set it, and a later one holds for the next question.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from domain import events as e
from domain.approval_modes import DEFAULT_MODE, MODES, ModeVerdict, ToolKind, by_mode
from domain.events import SessionEvent
from domain.events.gate import GateKind
from domain.events.session import ApprovalMode
from domain.state import Gate, Head
from infrastructure.harness.port import Answer

_MODES: Final[Mapping[str, ApprovalMode]] = {mode: mode for mode in MODES}
TOLD: Final = "by the session's approval mode"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A gate that opens, and how the turn waits for it.

    Attributes:
        tool_kind: What the agent claims that the tool does.
        waits: What is recorded besides if the turn waits; nothing if it goes on.
        pauses: Whether the turn has nothing else to do, so that its lease is let go.
    """

    gate_id: str
    turn_id: str
    kind: GateKind
    tool_kind: ToolKind
    waits: Sequence[SessionEvent] = ()
    pauses: bool = False

    def verdict(self, mode: ApprovalMode) -> ModeVerdict:
        """Return what a mode makes of it."""
        return by_mode(mode, self.kind, self.tool_kind)

    def facts(self, mode: ApprovalMode, *, waiting: bool) -> tuple[SessionEvent, ...]:
        """Return what follows the question in the log: its answer by a mode, or its wait.

        Args:
            mode: The session's, as of the commit that these are part of.
            waiting: Whether the turn waits already, for something else.
        """
        verdict = self.verdict(mode)
        if verdict == "ask":
            return tuple(self.waits)
        decided = e.GateDecided(
            gate_id=self.gate_id,
            verdict="approved" if verdict == "allow" else "denied",
            decided_by="policy",
            via="in-band",
            message=f"by approval mode {mode}",
        )
        consumed = e.GateConsumed(gate_id=self.gate_id, turn_id=self.turn_id)
        return (decided, consumed, *(self.waits if waiting else ()))


def mode_of(head: Head, otherwise: ApprovalMode) -> ApprovalMode:
    """Return the approval mode that holds in a session; one that is not known asks a person."""
    if head.approval_mode is None:
        return otherwise
    return _MODES.get(head.approval_mode, DEFAULT_MODE)


def recorded_verdict(gate: Gate) -> ModeVerdict:
    """Return what a mode made of a gate, as the log has it."""
    if gate.decided_by != "policy":
        return "ask"
    return "allow" if gate.status == "allowed" else "deny"


def answer_by(verdict: ModeVerdict) -> Answer | None:
    """Return what a harness is told that a mode decided; None if a person is asked."""
    match verdict:
        case "allow":
            return Answer(verdict="approved")
        case "deny":
            return Answer(verdict="denied", message=TOLD)
        case "ask":
            return None
