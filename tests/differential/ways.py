"""By which ways is a conversation held?

What the client sends each time, and what happens to the server's harnesses in between.
"""

from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

Between: TypeAlias = Literal["nothing", "emptied", "killed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way.

    Attributes:
        history: In which form the client sends all that was said before; None if it does not.
        between: What happens before a request, but not before the first.
        first: Before so many it happens each time.
        every: Later before every so-manieth.
    """

    name: str
    history: Literal["turnlog", "openai"] | None = None
    between: Between = "nothing"
    first: int = 0
    every: int = 1

    def disturbs(self, request: int) -> bool:
        """Tell whether something happens before a request, counted from 0."""
        if self.between == "nothing" or request == 0:
            return False
        return request < self.first or request % self.every == self.every - 1


FULL: Final = Way(name="full history", history="turnlog")
NEWEST: Final = Way(name="newest message")
EMPTIED: Final = Way(name="newest, pool emptied", between="emptied")
KILLED: Final = Way(name="newest, server killed", between="killed")
WAYS: Final = (FULL, NEWEST, EMPTIED, KILLED)
OPENAI: Final = Way(name="full history as OpenAI has it", history="openai")
NOW_AND_THEN: Final = Way(name="pool emptied now and then", between="emptied", every=2)
MORE_WAYS: Final = (OPENAI, NOW_AND_THEN)


def sparing(way: Way) -> Way:
    """Return a way on which only long conversations are disturbed less often later on.

    A start costs the same however often it is tried: what it finds is another history each time.
    """
    return way if way.between == "nothing" else replace(way, first=12, every=8)
