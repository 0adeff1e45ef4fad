"""Which decision that was taken before answers what a harness asks now?

A harness that was started anew asks again for what was decided while none ran, perhaps under ids
of its own. What it asks is the same if the tool and its arguments are; the oldest decision is used
first, and each one once. Answers to questions hold only in the turn that asked.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from domain.canonical import canonical
from domain.events.gate import GateKind
from domain.json_text import JsonValue
from infrastructure.harness.port import Answer, Asked
from infrastructure.hosting.writable import arguments_of, name_of, text_of

_Key: TypeAlias = tuple[str | None, bytes, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedDecision:
    """A gate that was decided while no harness ran for it.

    Attributes:
        turn_id: The turn that asked.
        tool_call_id: The call that waits for it in the log, if it still does.
        message: What its asker said, if it was a question.
        of_subagent: Whether a sub-agent asked, which the call had begun.
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
    of_subagent: bool = False
    consumed: bool = False


class Carried:
    """The decisions that are left."""

    def __init__(self, turn_id: str, decisions: Sequence[CarriedDecision]) -> None:
        """Take those that hold in this turn, oldest first."""
        self._turn_id: Final = turn_id
        self._every: Final = tuple(decisions)
        self._left: Final = [
            each for each in decisions if each.kind == "permission" or each.turn_id == turn_id
        ]
        self._claimed: Final[dict[str, CarriedDecision]] = {}

    def of_call(self, tool_call_id: str) -> CarriedDecision | None:
        """Return the decision about a call, also of an earlier turn; it stays."""
        about = [each for each in self._every if each.tool_call_id == tool_call_id]
        mine = (each for each in about if each.turn_id == self._turn_id)
        return next(mine, about[0] if about else None)

    def claim(
        self, call_id: str, tool: str, arguments: JsonValue, is_open: Callable[[str], bool]
    ) -> str | None:
        """Return the id of the decided call that this new one is again, if it is one.

        Its decision is kept for it.

        Args:
            call_id: The new call's id.
            tool: What it calls.
            arguments: With what.
            is_open: Tells whether the log still waits for the result of a call.
        """
        wanted = _key_of_call(tool, arguments)
        for each in self._left:
            decided = each.tool_call_id
            if decided and is_open(decided) and _key_of_call_in(each) == wanted:
                self._left.remove(each)
                self._claimed[call_id] = each
                return decided
        return None

    def answering(self, asked: Asked, call_id: str | None) -> CarriedDecision | None:
        """Return the decision that answers what is asked, and use it up."""
        if call_id in self._claimed:
            return self._claimed.pop(call_id)
        if asked.tool is None and (asked.kind == "permission" or not asked.message):
            return None  # whatever that is about, nothing says that it is the same
        wanted = _key(asked.kind, asked.tool, asked.arguments, asked.message)
        found = [each for each in self._left if each.kind == asked.kind and _is(each, wanted)]
        if not found:
            return None
        same = (each for each in found if call_id and self._is_about(each, call_id))
        chosen = next(same, found[0])
        self._left.remove(chosen)
        return chosen

    def _is_about(self, decision: CarriedDecision, tool_call_id: str) -> bool:
        return decision.turn_id == self._turn_id and decision.tool_call_id == tool_call_id


def _is(decision: CarriedDecision, wanted: _Key) -> bool:
    return _key(decision.kind, decision.tool, decision.arguments, decision.message) == wanted


def _key(kind: GateKind, tool: str | None, arguments: JsonValue, message: str | None) -> _Key:
    """A permission is for a call; a question is also what is asked."""
    name, written = _key_of_call(tool, arguments)
    return name, written, text_of(message) if kind == "input" and message else None


def _key_of_call_in(decision: CarriedDecision) -> tuple[str | None, bytes]:
    return _key_of_call(decision.tool, decision.arguments)


def _key_of_call(tool: str | None, arguments: JsonValue) -> tuple[str | None, bytes]:
    name = None if tool is None else name_of(tool, "tool")
    return name, canonical(arguments_of(arguments).parsed())
