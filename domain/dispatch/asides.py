"""Can a parked harness be told what it did not hear, or has it to be told everything anew?

It can if all that came since are turns in which nothing ran: what was said in them was said to
others. Everything else (another turn, a rewind, a summary) it could not take for what it is.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from domain import events as e
from domain.messages import Message, parts_of
from domain.restarts import NOT_ADDRESSED

MOST: Final = 200
"""So many messages are told so, at most; and so many turns are looked at for them."""
MOST_BYTES: Final = 256 * 1024
"""So much is told so, at most, as it is stored."""
FACTS: Final = 2 * MOST
"""So many facts make up so many turns: each is the start and the end of one."""
MOST_FILE_BYTES: Final = 8 * 2**20
"""So much of files is told so, at most: what one request can bring."""
REACH: Final = 2_000
"""So many facts of any kind are gone through for it, at most."""


def is_little(sizes: Sequence[int]) -> bool:
    """Tell whether facts of these sizes, in bytes, are few and small enough to be looked at."""
    return len(sizes) <= FACTS and sum(sizes) <= MOST_BYTES


def said_aside(facts: Iterable[e.Fact]) -> tuple[Message, ...] | None:
    """Return what was said aside, oldest first; None if that is not all that happened.

    Args:
        facts: All since the harness was parked that changed the history or completed a turn.
    """
    said: list[Message] = []
    running: str | None = None
    for fact in facts:
        match fact:
            case e.TurnStarted(messages=messages) if running is None and _is_heard(messages):
                running = fact.turn_id
                said += messages
            case e.TurnCompleted(turn_id=turn_id) if running == turn_id and _is_aside(fact):
                running = None
            case _:
                return None
    return tuple(said) if running is None and len(said) <= MOST else None


def files_of(messages: Iterable[Message]) -> list[str]:
    """Return the digests of the files in messages, each as often as it is sent with them."""
    parts = (part for message in messages for part in parts_of(message))
    return [str(part.get("sha256")) for part in parts if part.get("type") == "attachment"]


def _is_heard(messages: Iterable[Message]) -> bool:
    """Tell whether these are whole messages of people."""
    return all(each.role == "user" and each.status == "complete" for each in messages)


def _is_aside(ended: e.TurnCompleted) -> bool:
    return ended.stop_reason == NOT_ADDRESSED
