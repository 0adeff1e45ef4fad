"""When is a head kept from which the fold can go on without what is before?

Every so many facts, once nothing is under way that a head does not hold: no gate and no call is
open, and nothing can join the last message.
"""

from typing import Final

from domain.draft import Draft
from domain.state import Checkpoint, Head, Turn

EVERY: Final = 100
"""At least so many facts lie between two checkpoints, but for those that are asked for at once."""
FOLD_VERSION: Final = 1
"""Raised when the fold makes other heads of the same facts: older checkpoints count no more."""


def checked(draft: Draft) -> None:
    """Make a checkpoint, if it is time for one and nothing is under way.

    A summary asks for one at once: to fold it again, all that it left live would be read. So does
    a fork, since what is before it is another session's.
    """
    head = draft.head
    at_once = draft.move is not None and draft.move.kind in {"compacted", "forked"}
    if not at_once and draft.version - head.checkpoint < EVERY:
        return
    turn = None if head.turn_id is None else _open_turn(draft, head.turn_id)
    if at_rest(head, turn):
        draft.head = head = head._replace(checkpoint=draft.version)
        draft.checkpoint = Checkpoint(version=draft.version, head=head, turn=turn)


def at_rest(head: Head, turn: Turn | None) -> bool:
    """Tell whether nothing is under way; `turn` is the one that has not ended."""
    busy = head.turn_id is not None and (turn is None or turn.open_calls > 0)
    return not (busy or head.tail_open or head.open_gates)


def _open_turn(draft: Draft, turn_id: str) -> Turn | None:
    turn = draft.turn
    return turn if turn and turn.turn_id == turn_id else draft.known.turns.get(turn_id)
