"""How far has the open turn of a Claude Code session come, and how would it end?"""

from dataclasses import dataclass
from typing import Final

from infrastructure.imports.claude_lines import JsonObject, Line
from infrastructure.imports.turn_state import Turn

_UNFINISHED_STOPS: Final = frozenset({"tool_use", "pause_turn"})


@dataclass(slots=True, kw_only=True)
class OpenTurn(Turn):
    """The turn that has no terminal event yet, and what its end will depend on.

    Attributes:
        line: The line that its newest event came from.
    """

    line: Line
    failure: str | None = None
    interrupt: Line | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the lines so far show that the model had nothing more to do."""
        if self.interrupt is not None or self.failure is not None:
            return True
        is_final = self.last == "text" and self.stop_reason not in _UNFINISHED_STOPS
        return is_final and self.open_calls == 0

    def ending(self) -> tuple[str, JsonObject]:
        """Return the terminal event, for a turn after which another one begins or nothing."""
        if self.interrupt is not None:
            return "turn-interrupted", {"reason": "user"}
        if self.failure is not None:
            return "turn-failed", {"error": {"code": "api-error", "message": self.failure}}
        if self.open_calls > 0:
            return "turn-interrupted", {"reason": "owner-lost"}
        if self.stop_reason is not None:
            return "turn-completed", {"stop_reason": self.stop_reason}
        return "turn-completed", {}
