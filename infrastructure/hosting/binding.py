"""Which decision that was taken before answers what a harness asks now?

A harness that was started anew asks again for what was decided while none ran, under ids of its
own. What it asks is the same if the tool and its arguments are; the oldest decision is used first,
and each one once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from domain.events.gate import GateKind
from domain.json_text import JsonValue
from infrastructure.harness.port import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedDecision:
    """A gate that was decided while no harness ran for it.

    Attributes:
        turn_id: The turn that asked: answers to questions hold only in it.
        tool_call_id: The call that waits for it in the log, if it still does.
        message: The question, if it was one without a tool.
        consumed: Whether it is recorded already that a harness was given it.
    """

    gate_id: str
    turn_id: str
    kind: GateKind
    answer: Answer
    tool: str | None = None
    arguments: JsonValue = None
    tool_call_id: str | None = None
    message: str | None = None
    consumed: bool = False


class Carried:
    """The decisions that are left."""

    def __init__(self, turn_id: str, decisions: Sequence[CarriedDecision]) -> None:
        """Take those that hold in this turn, oldest first."""
        self._turn_id: Final = turn_id
        self._left: Final = list(decisions)
