"""Did a session end on purpose?

One that an agent closed, or that nobody held any more, ended by an accident: who comes back to it
finds it again. Whatever else put it away meant it.
"""

from typing import Final

ACCIDENTAL: Final = frozenset({"agent-close", "orphan-reaped"})
"""Why sessions are archived that go on once somebody comes back to them."""


def ended_by_accident(reason: str | None) -> bool:
    """Tell whether an archived session goes on if somebody comes back to it."""
    return reason in ACCIDENTAL


def outweighs(reason: str | None, known: str | None) -> bool:
    """Tell whether a session that was archived for what is `known` ends anew for this reason."""
    return ended_by_accident(known) and not ended_by_accident(reason)
