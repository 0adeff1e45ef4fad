"""Which sessions does this process still hold in memory that nobody has written to for long?

What is remembered of a session is a copy of what the log says, so that letting it go costs the next
request a look-up and nothing else. A session stays that has a turn, an open gate or an input that
waits: it is about to be written to. One whose sub-agents work has a turn that waits for them; where
a runner's work on after it, letting it go costs that one look-up.
"""

from typing import Final, TypeAlias

from infrastructure.remembered import Memory, Remembered

IDLE_S: Final = 30 * 60
Name: TypeAlias = tuple[str, str]


class Idle:
    """Sessions as they were seen last, and since when they are so. Times are in seconds.

    Attributes:
        reclaimed: How many were forgotten so far.
    """

    def __init__(self, memory: Memory) -> None:
        """Look after this memory."""
        self._memory: Final = memory
        self._seen: dict[Name, tuple[Remembered, float]] = {}
        self.reclaimed = 0

    def look(self, now: float, idle_s: float = IDLE_S) -> int:
        """Forget what nobody wrote to for so long; return how many sessions that were."""
        before, self._seen = self._seen, {}
        gone = 0
        for name, remembered in self._memory.sessions():
            known, since = before.get(name, (None, now))
            if known is not remembered or _is_pinned(remembered):
                since = now
            if now - since < idle_s:
                self._seen[name] = (remembered, since)
            else:
                gone += self._memory.forget_if(name, remembered)
        self.reclaimed += gone
        return gone


def _is_pinned(remembered: Remembered) -> bool:
    head = remembered.head
    return head.turn_id is not None or bool(head.open_gates) or bool(head.queued)
