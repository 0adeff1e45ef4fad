"""Up to which message can a summary be made of what the model sees?

At the end of a turn, so that a call is never parted from its result; the newest turns are kept
word for word, and a summary is made of at least one message that no summary stands for yet.
"""

from collections.abc import Sequence
from typing import NamedTuple

from domain.refusals import NothingToCompact


class Seen(NamedTuple):
    """A message that the model sees; a summary is of no turn."""

    message_id: str
    turn_id: str | None


def covered(seen: Sequence[Seen], keep_turns: int) -> int:
    """Return how many of these messages, from the first, a summary is to stand for.

    A turn of which nothing was said is none; `keep_turns` are kept at least.

    >>> covered([Seen("a", "t1"), Seen("b", "t1"), Seen("c", "t2")], 1)
    2

    Raises:
        NothingToCompact: nothing would be gained.
    """
    end, left = len(seen), keep_turns
    while end and seen[end - 1].turn_id is not None and left:
        end, left = _begin_of(seen, end), left - 1
    if not end or seen[end - 1].turn_id is None:
        raise NothingToCompact("already-compacted" if end else "empty")
    return end


def _begin_of(seen: Sequence[Seen], end: int) -> int:
    """Return where the turn begins whose last message stands before `end`."""
    turn_id = seen[end - 1].turn_id
    while end and seen[end - 1].turn_id == turn_id:
        end -= 1
    return end
