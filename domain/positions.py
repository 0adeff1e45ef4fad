"""What was in sight when a turn began, and how does a head come to stand there again?"""

from domain.fingerprints import EMPTY
from domain.paths import Spot
from domain.records import Records
from domain.state import Head, Position, Turn


def position_of(head: Head) -> Position:
    """Return what is in sight."""
    return Position(
        tip=head.tip,
        messages=head.messages,
        turn_tip=head.turn_tip,
        turns=head.turns,
        branch=head.branch,
        archived=head.archived,
        summary_version=head.summary_version,
        unverified_turns=head.unverified_turns,
        miscounted_turns=head.miscounted_turns,
        fingerprint=head.fingerprint,
        model_fingerprint=head.model_fingerprint,
        redo=head.redo,
    )


def standing_at(head: Head, position: Position) -> Head:
    """Return the head with this in sight; nothing can join the last message any more."""
    return head._replace(
        **position._asdict(),
        tail_open=False,
        base_fingerprint=position.fingerprint,
        base_model_fingerprint=position.model_fingerprint,
    )


def before_turn(records: Records, turn: Turn) -> Position:
    """Return what was in sight when a turn began.

    Summaries that were recorded since do not stand in it; what they stood for is back.
    """
    spot, turns, messages = _before(records, turn)
    move = records.last_move(turn.started_version - 1)
    last = None if spot.message < 0 else records.message(spot.message)
    settled = Position() if move is None else move.after
    if last is not None and (move is None or last.versions[-1] > move.version):
        fingerprint, model = last.fingerprint, last.model_fingerprint
    elif settled.tip == spot.message:
        fingerprint, model = settled.fingerprint, settled.model_fingerprint
    else:
        fingerprint = model = EMPTY  # what it was is lost
    return Position(
        tip=spot.message,
        messages=messages,
        turn_tip=spot.turn,
        turns=turns,
        branch=spot.branch,
        archived=settled.archived,
        summary_version=settled.summary_version,
        unverified_turns=turn.unverified_before,
        miscounted_turns=turn.miscounted_before,
        fingerprint=fingerprint,
        model_fingerprint=model,
    )


def _before(records: Records, turn: Turn) -> tuple[Spot, int, int]:
    """Return where the way to a turn stands before it, and how much is in sight there."""
    branch = records.branch(turn.branch)
    turns = branch.turn_depth + turn.number - branch.first_turn
    messages = branch.depth + turn.first_message - branch.first_index
    if turn.branch and turn.number == branch.first_turn:
        return Spot(branch.parent, branch.parent_turn, branch.parent_index), turns, messages
    begins = turn.branch and turn.first_message == branch.first_index
    last = branch.parent_index if begins else turn.first_message - 1
    return Spot(turn.branch, turn.number - 1, last), turns, messages
