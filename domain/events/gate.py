"""Facts about gates: questions that wait for a person or a client."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

GateKind: TypeAlias = Literal["permission", "input"]
Verdict: TypeAlias = Literal["approved", "denied", "answered"]
DecidedBy: TypeAlias = Literal["person", "policy", "timeout", "cancelled"]
Via: TypeAlias = Literal["in-band", "out-of-band"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOpened:
    """A turn waits for an answer. `gate_id` is minted by the log."""

    gate_id: str
    turn_id: str
    kind: GateKind
    permission_id: str | None = None
    tool_call_id: str | None = None
    tool: str | None = None
    arguments: object = None
    options: object = None
    answer_schema: object = None
    expires_at: str | None = None
    subagent_session_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GateDecided:
    """A gate was answered: by a person or a policy, once.

    A producer may name the gate by an alias; it is stored with the `gate_id` found.
    """

    gate_id: str | None = None
    verdict: Verdict
    decided_by: DecidedBy
    via: Via
    permission_id: str | None = None
    tool_call_id: str | None = None
    option_id: str | None = None
    arguments: object = None
    answer: object = None
    message: str | None = None
    on_behalf_of: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GateExpired:
    """A gate's time ran out before an answer came."""

    gate_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GateWithdrawn:
    """A gate's question fell away: its turn ended, or the asker took it back."""

    gate_id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GateConsumed:
    """A harness was given a gate's decision: nothing will be done by it again."""

    gate_id: str
    turn_id: str
    seat_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GateAnswerRefused:
    """An answer came that answers nothing; everything stays as it was.

    Attributes:
        named: Which kind of name the answer used: `gate_id`, `permission_id`, `tool_call_id`.
        code: The problem's code.
        gate_id: The gate that it named, if there is one.
    """

    named: str
    code: str
    gate_id: str | None = None
