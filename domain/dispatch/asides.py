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
"""The most messages, said aside, that a harness is told before a turn."""
FACTS: Final = 2 * MOST
"""The most stored facts that are read for these messages.

As many turns as messages at the most, and of each its start and its end.
"""
MOST_BYTES: Final = 256 * 1024
"""The most bytes that the bodies of these facts have together.

As they are stored, with long texts that are kept beside them, and without files.
"""
MOST_FILE_BYTES: Final = 8 * 2**20
"""The most bytes that the files of these messages have together, each as often as it is sent.

As many as one request can bring.
"""
REACH: Final = 2_000
"""The most facts, of any kind, by which the log may have passed what a harness knows."""


def is_little(sizes: Sequence[int]) -> bool:
    """Tell whether facts are few and small enough, by the bytes that the body of each has."""
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
