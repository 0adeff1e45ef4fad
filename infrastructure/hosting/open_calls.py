"""Which calls of a turn have no result yet, and what became of them if it is never seen?"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from domain import events as e
from domain.unfinished import NOT_RUN, UNKNOWN, unseen
from infrastructure.harness.port import Answer

DENIED: Final = "denied"


@dataclass(slots=True, kw_only=True)
class OpenCall:
    """A call without a result.

    Attributes:
        announced: Whether the log has it from an announcement; else a gate told of it.
        gates: The gates that are open about it.
        held: Whether it was never let go on: nobody decided, or its decision did not arrive.
        denied: Whether it was decided that it is not made.
    """

    call_id: str
    announced: bool = True
    gates: set[str] = field(default_factory=set[str])
    held: bool = False
    denied: bool = False

    @property
    def runs(self) -> bool:
        """Tell whether the harness does something about it, for all that is known."""
        return not self.gates


class OpenCalls:
    """The open calls of one turn, by the ids that the log knows them by."""

    def __init__(self) -> None:
        self._open: Final[dict[str, OpenCall]] = {}

    def __contains__(self, call_id: object) -> bool:
        """Tell whether this call is open."""
        return call_id in self._open

    def __len__(self) -> int:
        """Return how many are open."""
        return len(self._open)

    @property
    def running(self) -> int:
        """Return how many wait for no gate."""
        return sum(call.runs for call in self._open.values())

    def find(self, call_id: str | None) -> OpenCall | None:
        """Return an open call."""
        return None if call_id is None else self._open.get(call_id)

    def begin(self, call_id: str, *, announced: bool = True) -> OpenCall:
        """Add a call."""
        call = self._open[call_id] = OpenCall(call_id=call_id, announced=announced)
        return call

    def hold(self, call_id: str | None, gate_id: str) -> None:
        """Let a call wait for a gate."""
        call = self.find(call_id)
        if call is not None:
            call.gates.add(gate_id)
            call.held = True

    def free(self, call_id: str | None, gate_id: str, kind: str, answer: Answer) -> None:
        """Let a call wait for a gate no more; to be made or not, as was decided."""
        call = self.find(call_id)
        if call is not None:
            call.gates.discard(gate_id)
            call.held = bool(call.gates) or answer.verdict == "cancelled"
            call.denied = kind == "permission" and answer.verdict == "denied"

    def take(self, call_id: str) -> OpenCall | None:
        """Return a call that has its result, and forget it."""
        return self._open.pop(call_id, None)

    def settle(self, turn_id: str) -> Iterator[e.ToolCallCompleted]:
        """Yield what is recorded of each call whose result will not be seen, and forget it.

        The output says so in turnlog's own words, and no such call is ever made again.
        """
        for call in list(self._open.values()):
            became = DENIED if call.denied else NOT_RUN if call.held else UNKNOWN
            yield e.ToolCallCompleted(
                turn_id=turn_id,
                tool_call_id=call.call_id,
                output=unseen(became),
                is_error=True,
                denied=call.denied,
            )
        self._open.clear()
