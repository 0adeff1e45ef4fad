"""What is a session after part of its history went out of sight, came back, or became its own?"""

from domain import events as e
from domain.draft import Draft
from domain.positions import before_turn, position_of, standing_at
from domain.records import InState
from domain.state import Head, Move, MoveKind, open_calls


def rewound(draft: Draft, event: e.HistoryRewound) -> None:
    """Stand where the session stood before a turn; remember where it was."""
    turn = draft.known.turns.get(event.turn_id)
    if turn is None:
        _unreadable(draft)
        return
    position = before_turn(InState(draft.known), turn)
    draft.head = standing_at(draft.head, position._replace(redo=draft.version))
    moved(draft, "rewound")


def reverted(draft: Draft, event: e.RewindReverted) -> None:
    """Stand where the session stood before a rewind."""
    move = draft.known.moves.get(event.rewind_version)
    if move is None:
        _unreadable(draft)
        return
    draft.head = standing_at(_unsettled(draft, event.rewind_version), move.before)
    moved(draft, "reverted")


def settled(draft: Draft) -> None:
    """Count the record as complete from here on, whatever was missing before."""
    head = draft.head
    draft.head = head._replace(
        complete_from=draft.version,
        known_position=draft.fact.position,
        open_losses=0,
        unreadable=0,
        unverified_turns=0,
        miscounted_turns=0,
        settled_losses=head.settled_losses + head.open_losses,
        settled_unreadable=head.settled_unreadable + head.unreadable,
    )


def _unsettled(draft: Draft, rewind_version: int) -> Head:
    """Return the head; what was missing counts again if what stood before it was settled is back.

    A client's history took the place of ours by a rewind just before it was asserted.
    """
    head = draft.head
    if rewind_version > head.complete_from:
        return head
    return head._replace(
        complete_from=0,
        open_losses=head.open_losses + head.settled_losses,
        unreadable=head.unreadable + head.settled_unreadable,
        settled_losses=0,
        settled_unreadable=0,
    )


def forked(draft: Draft, event: e.SessionForked) -> None:
    """Begin with a history that another session has: see `domain.forking.beginning`.

    What can still change over there becomes this session's own as it is now.
    """
    known = draft.known
    if known.head.status != "absent":
        return
    tail = known.messages.get(known.head.tip) if known.head.tail_open else None
    if tail is not None:
        draft.messages.append(tail)
    draft.calls.extend(open_calls(known))
    draft.head = draft.head._replace(
        status="open",
        base_version=draft.version - 1,
        forked_from=event.parent.session_id,
        tail_open=False,
        title=event.title,
        title_by=event.title_by if event.title else None,
        created_at=draft.fact.envelope.recorded_at,
    )
    moved(draft, "forked")


def moved(draft: Draft, kind: MoveKind) -> None:
    """Note what was in sight before the fact, and what is now."""
    draft.move = Move(
        version=draft.version,
        kind=kind,
        before=position_of(draft.known.head),
        after=position_of(draft.head),
    )


def _unreadable(draft: Draft) -> None:
    draft.head = draft.head._replace(unreadable=draft.head.unreadable + 1, tail_open=False)
