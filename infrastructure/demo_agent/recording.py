"""What did tools give when a conversation was recorded?

Each result once, in order, for a call of the same name with equal arguments.
"""

from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Final

from domain.canonical import canonical
from domain.json_text import JsonValue
from infrastructure.demo_agent.tools import Outcome, failed


class Recording:
    """The results that are still to be given."""

    def __init__(self, calls: Iterable[tuple[str, JsonValue, Outcome]]) -> None:
        """Take each call's name, arguments and outcome."""
        self._outcomes: Final = defaultdict[tuple[str, bytes], deque[Outcome]](deque)
        for name, arguments, outcome in calls:
            self._outcomes[name, canonical(arguments)].append(outcome)

    def take(self, name: str, arguments: JsonValue) -> Outcome:
        """Return what such a call gave; an error if it was not made, or not so often."""
        left = self._outcomes.get((name, canonical(arguments)))
        return left.popleft() if left else failed("this call was not recorded")
