"""What is a session after part of its history went out of sight, came back, or became its own?"""

from domain import events as e
from domain.draft import Draft
from domain.positions import before_turn, position_of, standing_at
from domain.records import InState
from domain.state import Move, MoveKind, open_calls


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
    draft.head = standing_at(draft.head, move.before)
    moved(draft, "reverted")


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
