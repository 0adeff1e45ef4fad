"""How far has the turn come that is told now, and which calls still wait for a result?

Messages are counted as the log counts them, since a compaction names the last message
before it, and a message without an id of its own is named `<turn_id>:<n>` there.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Literal, TypeAlias

Last: TypeAlias = Literal["input", "text", "reasoning", "call", "result"]


@dataclass(slots=True, kw_only=True)
class Counts:
    """What of a session was told so far."""

    turns: int = 0
    messages: int = 0
    tool_calls: int = 0
    tool_results: int = 0
    kept_as_data: int = 0
    repeats_dropped: int = 0


@dataclass(slots=True, kw_only=True)
class Turn:
    """The turn that has no terminal event yet.

    Attributes:
        messages: Messages of it so far.
        speaking: The assistant message that the next assistant record may join.
    """

    turn_id: str
    messages: int = 0
    speaking: str | None = None
    open_calls: int = 0
    last: Last = "input"
    stop_reason: str | None = None

    def place(self, name: str | None) -> str:
        """Count a message of a user or a result, and return its id."""
        self.messages += 1
        self.speaking = None
        return name or f"{self.turn_id}:{self.messages}"

    def speak(self, name: str | None) -> str:
        """Return the id of the message that an assistant record belongs to."""
        if self.speaking is None or name not in {None, self.speaking}:
            self.speaking = self.place(name)
        return self.speaking


class CallLedger:
    """The calls without a result, by the turn that asked; ids may come again."""

    def __init__(self) -> None:
        self._open: defaultdict[str, list[str]] = defaultdict(list)
        self._known: set[tuple[str, str]] = set()

    def ask(self, call: str, turn_id: str) -> None:
        """Note that `turn_id` asked for `call`."""
        self._open[call].append(turn_id)
        self._known.add((call, turn_id))

    def answer(self, call: str) -> str | None:
        """Return the newest turn in which `call` waits for this result."""
        return self._open[call].pop() if self._open[call] else None

    def answer_unasked(self, call: str, turn_id: str) -> bool:
        """Say whether a result that no call waits for is the first of its id in the turn."""
        is_first = (call, turn_id) not in self._known
        self._known.add((call, turn_id))
        return is_first
