"""Which parked harnesses have to go when memory gets short, and how much may be used?

Never one that a turn has or that waits for a decision, never one that may know more than the log,
and not the few that were used last: a seat kept too long costs memory, a wrong one costs what was
said. What is measured, and when, is the caller's.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

MIB: Final = 2**20
AUTO: Final = "auto"
AUTO_PERCENT: Final = 65
LEAST_AUTO: Final = 512 * MIB
"""A smaller budget than this one is none: a server alone would be above it."""
PROTECT_RECENT: Final = 8
BATCH: Final = 16
MOST_MIB: Final = 2**24
MOST_COUNT: Final = 10_000
_OFF: Final = frozenset({"", "0", "false", "no", "none", "off"})

Budget: TypeAlias = int | Literal["auto"] | None
"""So many MiB, a share of what this process may have, or none."""


class Garbage(ValueError):
    """A setting of memory pressure says nothing that is known; its default holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A seat, as memory pressure sees it.

    Attributes:
        last_used: When it was used last; only the order matters.
        busy: Whether a turn has it, or is about to, or it waits for a decision.
        durable: Whether all that its harness knows is on record; None if that is not known.
    """

    seat_id: str
    last_used: int
    busy: bool = False
    durable: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one pass comes to.

    Attributes:
        chosen: The seats that go, the one that was not used for longest first.
        busy: How many stay since a turn has them, or since they wait for a decision.
        undurable: How many stay since not all they know is known to be on record.
        unevictable: Whether there are seats, memory is short, and none of them can go.
    """

    chosen: tuple[str, ...] = ()
    busy: int = 0
    undurable: int = 0
    unevictable: bool = False


def plan(
    candidates: Sequence[Candidate],
    *,
    used: int,
    budget: int | None,
    protect_recent: int = PROTECT_RECENT,
    batch: int = BATCH,
) -> Plan:
    """Return which seats go: none without a budget, or while no more than that is used.

    The `protect_recent` seats used last stay, but at most half of those that wait for a turn, so
    that a few large ones can still go. One that is passed over takes no place in the batch.
    """
    if budget is None or used <= budget or not candidates:
        return Plan()
    waiting = sorted(
        (each for each in candidates if not each.busy), key=lambda each: each.last_used
    )
    cold = waiting[: len(waiting) - min(protect_recent, len(waiting) // 2)]
    chosen = tuple(each.seat_id for each in cold if each.durable is True)[:batch]
    return Plan(
        chosen=chosen,
        busy=len(candidates) - len(waiting),
        undurable=sum(each.durable is not True for each in waiting),
        unevictable=not chosen,
    )


def auto_budget(
    *, high: int | None, maximum: int | None, v1: int | None, total: int | None
) -> int | None:
    """Return the bytes that may be used where nobody said: 65 % of the first limit there is.

    Args:
        high: What the process's own cgroup is slowed down at; None if it is not.
        maximum: What its own cgroup may have at most.
        v1: The same of the older kind of cgroup.
        total: The machine's memory; no limit is above it.
    """
    given = [limit for limit in (high, maximum, v1, total) if limit is not None]
    if not given:
        return None
    limit = given[0] if total is None else min(given[0], total)
    budget = limit * AUTO_PERCENT // 100
    return budget if budget >= LEAST_AUTO else None


def read_budget(text: str | None) -> Budget:
    """Return the budget that a setting says; None given is `auto`.

    >>> read_budget("2048"), read_budget("1536.5"), read_budget("off"), read_budget(None)
    (2048, 1536, None, 'auto')

    Raises:
        Garbage: it says none.
    """
    word = AUTO if text is None else text.strip().lower()
    if word == AUTO:
        return AUTO
    if word in _OFF:
        return None
    number = _number(word)
    if number is None or not 0 <= number <= MOST_MIB:
        raise Garbage
    return max(1, int(number)) if number else None


def read_protected(text: str | None) -> int:
    """Return how many of the seats used last stay: 0 for none, 8 for nothing said or `false`.

    Raises:
        Garbage: it says no number.
    """
    word = "" if text is None else text.strip().lower()
    if word in _OFF - {"0"}:
        return PROTECT_RECENT
    return _count(word, least=0)


def read_batch(text: str | None) -> int:
    """Return how many seats a pass lets go at most: 16 where nothing is said.

    Raises:
        Garbage: it says no number above 0.
    """
    word = "" if text is None else text.strip()
    return _count(word, least=1) if word else BATCH


def _count(word: str, *, least: int) -> int:
    number = _number(word)
    if number is None or number != int(number) or not least <= number <= MOST_COUNT:
        raise Garbage
    return int(number)


def _number(word: str) -> float | None:
    """Return a finite number that is written with ASCII digits alone."""
    if not word.isascii() or "_" in word:
        return None
    try:
        number = float(word)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
