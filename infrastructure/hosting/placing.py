"""Where in a request stands what a refusal is about?

What is decided are facts, in an order of their own; whoever asked knows messages and answers.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

from domain import commands as c
from infrastructure.hosting.asking import Ask

Place: TypeAlias = tuple[str | int, ...]
_NAMES: Final = frozenset({"gate_id", "permission_id", "tool_call_id"})
_OF_FACT: Final = 3
"""So much of a place names the fact: `events`, its number, `data`."""


def place_in_request(ask: Ask, steps: Sequence[c.SessionCommand], at: Place) -> Place:
    """Return the place in the request of a place in one of the facts that it was to become."""
    match at:
        case ("events", int(number), "data", *_):
            rest = at[_OF_FACT:]
        case _:
            return at
    records = [step for step in steps if isinstance(step, c.Record)]
    proposal = records[number].proposal if number < len(records) else None
    if proposal is not None and proposal is ask.start:
        return _in_message(ask, rest)
    for index, answer in enumerate(ask.answers):
        if proposal is answer:
            return _in_answer(ask, index, rest)
    return ("messages",)


def place_of_new(ask: Ask) -> Place:
    """Return where the new message stands."""
    return () if ask.shape.fresh is None else ("messages", ask.shape.fresh.index)


def _in_message(ask: Ask, rest: Place) -> Place:
    """Return the place of the new message; a fact has it as the only one."""
    return (*place_of_new(ask), *rest[2:]) if rest[:1] == ("messages",) else ()


def _in_answer(ask: Ask, index: int, rest: Place) -> Place:
    if ask.shape.in_band is not None:
        return ("messages", ask.shape.in_band.index)
    return ("answers", index, *("gate" if name in _NAMES else name for name in rest))
